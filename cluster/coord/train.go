package coord

import (
	"context"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// checkTraining checks a TRAIN statement, and gives its parameters' types.
func (s *Session) checkTraining(ctx context.Context, t training.Statement, params []types.Type) ([]types.Type, error) {
	s.ensureTxn()
	view, err := s.tx.Begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	p, err := s.engine.trainings.Plan(ctx, t, s.context().With(nil, params), view)
	if err != nil {
		return nil, err
	}
	return p.Query.Params, nil
}

// request is a TRAIN statement as the session runs it.
func (s *Session) request(x *execution, t training.Statement) (*training.Request, error) {
	st, err := x.view()
	if err != nil {
		return nil, err
	}
	x.Enter(st)
	return &training.Request{Statement: t, Execution: x.Execution.Execution, State: st, Notice: s.notice}, nil
}

// trainModel handles {TRAIN|CREATE} MODEL.
func (s *Session) trainModel(ctx context.Context, t training.Statement, params []types.Type) (*handler, error) {
	params, err := s.checkTraining(ctx, t, params)
	if err != nil {
		return nil, err
	}
	return &handler{cols: training.Columns(), params: params, open: func(ctx context.Context, x *execution) (*result, error) {
		if err := s.tx.Writable("TRAIN MODEL"); err != nil {
			return nil, err
		}
		r, err := s.request(x, t)
		if err != nil {
			return nil, err
		}
		if s.tx.Explicit || len(s.tx.Changes()) > 0 {
			r.Put = func(c catalog.Change) error {
				// The transaction, which is older than its files, holds them.
				s.tx.Wrote(catalog.Files([]catalog.Change{c})...)
				_, err := s.tx.Add(c)
				return err
			}
		} else {
			r.Durable = x.Context.Encode(s.set)
		}
		sc, v, err := s.engine.trainings.Train(ctx, r)
		if err != nil {
			return nil, err
		}
		var rows [][]types.Datum
		if v != nil {
			rows = append(rows, training.Row(sc, t.Name[len(t.Name)-1], v))
		}
		return rowsOf(training.Columns(), rows, "TRAIN MODEL")
	}}, nil
}

// explainTrain handles EXPLAIN [ANALYZE] TRAIN MODEL.
func (s *Session) explainTrain(ctx context.Context, st *parse.Statement, n *parse.Explain, params []types.Type) (*handler, error) {
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
	if params, err = s.checkTraining(ctx, t, params); err != nil {
		return nil, err
	}
	cols := textCols("QUERY PLAN")
	return &handler{cols: cols, params: params, open: func(ctx context.Context, x *execution) (*result, error) {
		r, err := s.request(x, t)
		if err != nil {
			return nil, err
		}
		text, err := s.engine.trainings.Explain(ctx, r, o)
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

func (s *Session) cancelTraining(n *parse.CancelTraining) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		return "CANCEL TRAINING", s.engine.trainings.Cancel(ctx, x.Context, n.Name)
	}), nil
}

func (s *Session) resumeTraining(n *parse.ResumeTraining) (*handler, error) {
	return &handler{cols: training.Columns(), open: func(ctx context.Context, x *execution) (*result, error) {
		if s.tx.Explicit {
			return nil, pgerr.New(pgerr.ActiveSQLTransaction, "RESUME TRAINING cannot run inside a transaction block")
		}
		st, err := x.view()
		if err != nil {
			return nil, err
		}
		job, v, err := s.engine.trainings.Resume(ctx, x.Context, st, n.Name, s.notice)
		if err != nil {
			return nil, err
		}
		return rowsOf(training.Columns(), [][]types.Datum{training.Row(st.Schema(job.Schema), job.Model, v)}, "RESUME TRAINING")
	}}, nil
}
