package coord

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// explainTrain handles EXPLAIN [ANALYZE] TRAIN MODEL. ANALYZE trains, and throws
// the model away.
func (s *Session) explainTrain(ctx context.Context, st *parse.Statement, n *parse.Explain, params []types.Type) (*handler, error) {
	list := &ast.NodeList{}
	for _, d := range n.Options {
		list.Items = append(list.Items, d)
	}
	o, err := explainOpts(list)
	if err != nil {
		return nil, err
	}
	if o.format != "text" {
		return nil, pgerr.Unsupported("EXPLAIN of a training has the format text only")
	}
	s.ensureTxn()
	view, err := s.tx.begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	t := &training{s: s, st: st, n: n.Train, explain: &o}
	p, err := t.bind(ctx, view, params)
	if err != nil {
		return nil, err
	}
	cols := textCols("QUERY PLAN")
	return &handler{cols: cols, params: p.query.Params, open: func(ctx context.Context, x *execution) (*result, error) {
		text, err := t.explained(ctx, x)
		if err != nil {
			return nil, err
		}
		var rows [][]types.Datum
		for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			rows = append(rows, []types.Datum{line})
		}
		return rowsOf(cols, rows, "EXPLAIN")
	}}, nil
}

func (t *training) explained(ctx context.Context, x *execution) (string, error) {
	s := t.s
	st, err := x.view()
	if err != nil {
		return "", err
	}
	p, err := t.bind(x.ctx, st, x.ptypes)
	if err != nil {
		return "", err
	}
	if err := plan.Authorize(st, s.role, p.uses()); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Train %s\n", p.job.Family.Info().Name)
	if c := p.job.Target(); c != nil {
		fmt.Fprintf(&b, "  Target: %s\n", c.Name)
	}
	fmt.Fprintf(&b, "  Features: %d columns\n", len(p.job.Features()))
	if n := p.job.MaxIterations(); n > 0 {
		fmt.Fprintf(&b, "  Iterations: at most %d\n", n)
	}
	if !t.explain.analyze {
		r := s.newRun(x, st)
		defer r.close()
		root, err := t.dataset(r, p, "")
		if err != nil {
			return "", err
		}
		if r.staged, err = stage.Stage(root, root.Schema(), r.stageEnv(root, nil)); err != nil {
			return "", err
		}
		text, err := r.format(*t.explain)
		return b.String() + text, err
	}
	now := time.Now()
	job := &catalog.Job{Schema: catalog.PublicOID, Model: t.n.Name[len(t.n.Name)-1], Owner: s.role, Statement: t.st.Text, State: catalog.JobRunning,
		Attached: true, MaxIterations: p.job.MaxIterations(), Epoch: 1, CreatedAt: now, UpdatedAt: now, Phase: "read"}
	res, err := t.inSession(ctx, x, st, job, p)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "  Rows: %d trained on, %d held out\n  Iterated: %d times, %d evaluations, until %s\n  Loss: %.9g\n", res.Rows, res.Held, res.Iterations, res.Evals,
		res.Stopped, res.TrainLoss)
	fmt.Fprintf(&b, "  Time: %.3f ms to read and deal, %.3f ms to fit, seal and iterate\n", t.reading.Seconds()*1e3, (res.Seconds-t.reading.Seconds())*1e3)
	t.used(&b, st, res.Usage)
	fmt.Fprintf(&b, "%sExecution Time: %.3f ms\n", t.planned, time.Since(now).Seconds()*1e3)
	return b.String(), nil
}

// used says what the training has read, moved, written and held, in all and by
// node.
func (t *training) used(b *strings.Builder, st *catalog.State, list []train.Usage) {
	sum := train.Total(list)
	fmt.Fprintf(b, "  Rows moved between nodes: %d bytes\n  Source read: %d bytes\n  Encoded rows: %d bytes\n", sum.Moved, sum.Read, sum.Block)
	fmt.Fprintf(b, "  Temporary files: %d bytes before the first iteration, %d bytes in all\n  Peak memory: %d bytes\n", sum.Before, sum.Written, sum.Peak)
	for _, u := range list {
		name := ""
		if u.Worker < len(t.members) {
			if n := st.Node(t.members[u.Worker]); n != nil {
				name = n.Name
			}
		}
		fmt.Fprintf(b, "    Node %s: moved %d, read %d, encoded %d, temporary files %d and %d, peak %d bytes\n", name, u.Moved, u.Read, u.Block, u.Before, u.Written, u.Peak)
	}
}
