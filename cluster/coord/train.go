package coord

import (
	"context"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// checkTraining checks a TRAIN statement, and returns its parameters' types.
func (c *dispatcher) checkTraining(ctx context.Context, t training.Statement, params []types.Type) ([]types.Type, error) {
	view, err := c.s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	p, err := c.trainings.Plan(ctx, t, c.s.Caller().With(nil, params), view)
	if err != nil {
		return nil, err
	}
	return p.Query.Params, nil
}

// request returns the training request of a TRAIN statement of this session.
func (c *dispatcher) request(x *session.Execution, t training.Statement) (*training.Request, error) {
	st, err := x.View()
	if err != nil {
		return nil, err
	}
	x.Enter(st)
	return &training.Request{Statement: t, Run: x.Run, State: st, Notice: c.s.Notice}, nil
}

// trainModel handles {TRAIN|CREATE} MODEL.
func (c *dispatcher) trainModel(ctx context.Context, t training.Statement, params []types.Type) (*session.Command, error) {
	params, err := c.checkTraining(ctx, t, params)
	if err != nil {
		return nil, err
	}
	return &session.Command{Columns: training.Columns(), Params: params, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		if err := x.Txn.Writable("TRAIN MODEL"); err != nil {
			return nil, err
		}
		r, err := c.request(x, t)
		if err != nil {
			return nil, err
		}
		r.Durable = x.Caller.Encode(c.s.Settings())
		if c.s.Shared() || len(x.Txn.Changes()) > 0 {
			r.Put = func(m catalog.Change) error {
				// The open transaction, which is older than the files, protects them from being
				// swept.
				x.Txn.Wrote(catalog.Files([]catalog.Change{m})...)
				_, err := x.Txn.Add(m)
				return err
			}
		}
		sc, v, err := c.trainings.Train(ctx, r)
		if err != nil {
			return nil, err
		}
		var rows [][]types.Datum
		if v != nil {
			rows = append(rows, training.Row(sc, t.Name[len(t.Name)-1], v))
		}
		return session.Table(training.Columns(), rows, "TRAIN MODEL")
	}}, nil
}

// explainTrain handles EXPLAIN [ANALYZE] TRAIN MODEL.
func (c *dispatcher) explainTrain(ctx context.Context, st *parse.Statement, n *parse.Explain, params []types.Type) (*session.Command, error) {
	list := &ast.NodeList{}
	for _, d := range n.Options {
		list.Items = append(list.Items, d)
	}
	o, err := explainOpts(list)
	if err != nil {
		return nil, err
	}
	if o.Format != "text" {
		return nil, pgerr.Unsupported("EXPLAIN of a training has the format text only")
	}
	t := training.Statement{Text: st, TrainModel: n.Train}
	if params, err = c.checkTraining(ctx, t, params); err != nil {
		return nil, err
	}
	cols := session.TextColumns("QUERY PLAN")
	return &session.Command{Columns: cols, Params: params, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		r, err := c.request(x, t)
		if err != nil {
			return nil, err
		}
		text, err := c.trainings.Explain(ctx, r, o)
		if err != nil {
			return nil, err
		}
		var rows [][]types.Datum
		for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			rows = append(rows, []types.Datum{line})
		}
		return session.Table(cols, rows, "EXPLAIN")
	}}, nil
}

// verifyModel handles VERIFY MODEL.
func verifyModel(c *dispatcher, st *parse.Statement, n *parse.VerifyModel) *session.Command {
	cols := training.VerifyColumns()
	return &session.Command{Columns: cols, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		view, err := x.View()
		if err != nil {
			return nil, err
		}
		m, err := c.findModel(view, n.Name)
		if err == nil {
			err = mayUse(x, view, m)
		}
		if err != nil {
			return nil, err
		}
		v, err := m.Want(int(n.Version))
		if err != nil {
			return nil, err
		}
		x.Enter(view)
		past, known := c.cfg.Meta.(Historian)
		q := &training.Verifying{Model: m, Version: v, Text: st.Text, State: view, Caller: x.Caller, Notice: c.s.Notice,
			Was: func(ctx context.Context, version uint64) (*catalog.State, error) {
				if !known {
					return nil, pgerr.Unsupported("reading the past is not supported here")
				}
				return past.Seen(ctx, version, x.Txn.Hold)
			},
			Past: func(at time.Time) (*catalog.State, error) { return txn.Past(ctx, c.cfg.Meta, at, x.Txn.Hold) }}
		found, err := c.trainings.Verify(ctx, q)
		if err != nil {
			return nil, err
		}
		return session.Table(cols, [][]types.Datum{found.Row(q)}, n.Tag())
	}}
}

func (c *dispatcher) cancelTraining(n *parse.CancelTraining) (*session.Command, error) {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		return "CANCEL TRAINING", c.trainings.Cancel(ctx, x.Caller, n.Name, int(n.Trial))
	}), nil
}

func (c *dispatcher) resumeTraining(n *parse.ResumeTraining) (*session.Command, error) {
	return &session.Command{Columns: training.Columns(), Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		if err := c.s.Alone("RESUME TRAINING"); err != nil {
			return nil, err
		}
		st, err := x.View()
		if err != nil {
			return nil, err
		}
		job, v, err := c.trainings.Resume(ctx, x.Caller, st, n.Name, c.s.Notice)
		if err != nil {
			return nil, err
		}
		return session.Table(training.Columns(), [][]types.Datum{training.Row(st.Schema(job.Schema), job.Model, v)}, "RESUME TRAINING")
	}}, nil
}
