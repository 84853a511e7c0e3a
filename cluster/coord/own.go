package coord

import (
	"context"
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// handleOwn handles the statements that PostgreSQL does not have.
func (s *Session) handleOwn(ctx context.Context, st *parse.Statement, params []types.Type) (*handler, error) {
	switch n := st.Own.(type) {
	case *parse.TrainModel:
		return s.trainModel(ctx, training.Statement{Text: st, TrainModel: n}, params)
	case *parse.Retrain:
		return s.retrain(ctx, st, n)
	case *parse.CancelTraining:
		return s.cancelTraining(n)
	case *parse.ResumeTraining:
		return s.resumeTraining(n)
	case *parse.Explain:
		return s.explainTrain(ctx, st, n, params)
	case *parse.ShowModels:
		return s.alias(ctx, st, "SELECT * FROM ml.models", "SHOW")
	case *parse.DescribeModel:
		return s.describeModel(n)
	case *parse.AlterNode:
		return simple(func(ctx context.Context, x *execution) (string, error) {
			if s.tx.Explicit {
				return "", pgerr.New(pgerr.ActiveSQLTransaction, "ALTER NODE cannot run inside a transaction block")
			}
			view, err := x.view()
			if err != nil {
				return "", err
			}
			return "ALTER NODE", s.engine.cluster.AlterNode(x.Ctx, view, s.role, n, s.notice)
		}), nil
	case *parse.AlterTableRepartition, *parse.DropModel, *parse.AlterModel:
		return s.ddl(st)
	case *parse.NoEffect:
		return simple(func(context.Context, *execution) (string, error) { return n.Command, nil }), nil
	case *parse.ExportModel:
		return nil, pgerr.Unsupported("EXPORT MODEL is not supported yet")
	case *parse.ImportModel:
		return nil, pgerr.Unsupported("IMPORT MODEL is not supported yet")
	}
	return nil, pgerr.Unsupported("%s is not supported yet", st.Own.Tag())
}

// retrain trains a model again by its own statement, or over another query.
func (s *Session) retrain(ctx context.Context, st *parse.Statement, n *parse.Retrain) (*handler, error) {
	s.ensureTxn()
	view, err := s.tx.Begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	m, err := s.findModel(view, n.Name)
	if err == nil {
		err = s.context().MustOwn(view, m)
	}
	if err != nil {
		return nil, err
	}
	text := m.Find(0).Statement
	old, err := parse.One(text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	own, ok := old.Own.(*parse.TrainModel)
	if !ok {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "model %q was not trained here", m.Name)
	}
	if n.Query != nil {
		// The new query in the place of the old one makes the statement that would
		// have trained the new version.
		head, ok := strings.CutSuffix(text, own.QueryText)
		if !ok {
			return nil, pgerr.Internal("the statement of model %q does not end with its query", m.Name)
		}
		if old, err = parse.One(head+n.QueryText, parse.Postgres); err != nil {
			return nil, err
		}
		own = old.Own.(*parse.TrainModel)
	}
	again := *own
	again.Name, again.OrReplace, again.IfNotExists = []string{view.Schema(m.Schema).Name, m.Name}, true, false
	h, err := s.trainModel(ctx, training.Statement{Text: old, TrainModel: &again}, nil)
	if err == nil && len(h.params) > 0 {
		return nil, pgerr.Unsupported("a model trained with parameters can be retrained over a new query only")
	}
	return h, err
}

// alias runs a query in the place of a statement.
func (s *Session) alias(ctx context.Context, st *parse.Statement, text, verb string) (*handler, error) {
	inner, err := parse.One(text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	h, err := s.query(ctx, inner, nil)
	if err != nil {
		return nil, err
	}
	open := h.open
	h.open = func(ctx context.Context, x *execution) (*result, error) {
		res, err := open(ctx, x)
		if err == nil {
			tag := res.tag
			res.tag = func() string { return verb + strings.TrimPrefix(tag(), "SELECT") }
		}
		return res, err
	}
	return h, nil
}

// findModel finds a model as a statement names it.
func (s *Session) findModel(st *catalog.State, name []string) (*catalog.Model, error) {
	return s.engine.queries.Model(s.context(), st, name)
}

func (s *Session) describeModel(n *parse.DescribeModel) (*handler, error) {
	cols := textCols("property", "value")
	return &handler{cols: cols, open: func(ctx context.Context, x *execution) (*result, error) {
		st, err := x.view()
		if err != nil {
			return nil, err
		}
		m, err := s.findModel(st, n.Name)
		if err != nil {
			return nil, err
		}
		if !st.May(s.role, m.Object(), 'U') {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for model %s", m.Name)
		}
		v, err := m.Want(int(n.Version))
		if err != nil {
			return nil, err
		}
		var feats []string
		for _, f := range v.Features {
			feats = append(feats, f.Name+" "+f.Type.String())
		}
		rows := [][]types.Datum{
			{"name", st.Schema(m.Schema).Name + "." + m.Name},
			{"version", fmt.Sprintf("%d of %d", v.Number, len(m.Versions))},
			{"algorithm", v.Algorithm},
			{"task", v.Task},
			{"features", strings.Join(feats, ", ")},
			{"rows", fmt.Sprint(v.Rows)},
			{"iterations", fmt.Sprint(v.Iterations)},
			{"train_loss", fmt.Sprintf("%.6g", v.TrainLoss)},
			{"stopped", v.Stopped},
		}
		if len(v.Target) > 0 {
			rows = append(rows, []types.Datum{"target", strings.Join(v.Target, ", ") + " " + v.TargetType.String()})
		}
		if v.Classes != nil {
			rows = append(rows, []types.Datum{"classes", strings.Join(v.Classes, ", ")})
		}
		for _, in := range v.Inputs {
			rows = append(rows, []types.Datum{"transform " + in.Name, in.Expr})
		}
		for _, k := range v.Metrics {
			rows = append(rows, []types.Datum{k.Name, fmt.Sprintf("%.6g", k.Value)})
		}
		for _, o := range v.Options {
			rows = append(rows, []types.Datum{"option " + o.Name, o.Value})
		}
		for _, w := range v.Warnings {
			rows = append(rows, []types.Datum{"warning", w.Message})
		}
		if c := st.Comment(catalog.Dep{OID: m.OID}); c != "" {
			rows = append(rows, []types.Datum{"comment", c})
		}
		rows = append(rows, []types.Datum{"sha256", fmt.Sprintf("%x", v.SHA256)})
		if st.Inherits(s.role, m.Owner) {
			rows = append(rows, []types.Datum{"statement", v.Statement})
		}
		return rowsOf(cols, rows, "DESCRIBE MODEL")
	}}, nil
}
