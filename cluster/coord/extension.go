package coord

import (
	"context"
	"strings"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// extension handles the statements that PostgreSQL does not have.
func (c *dispatcher) extension(ctx context.Context, st *parse.Statement, params []types.Type) (*session.Command, error) {
	switch n := st.Extension.(type) {
	case *parse.Call:
		return c.call(ctx, n, params)
	case *parse.TrainModel:
		return c.trainModel(ctx, training.Statement{Text: st, TrainModel: n}, params)
	case *parse.Retrain:
		return c.retrain(ctx, st, n)
	case *parse.VerifyModel:
		return verifyModel(c, st, n), nil
	case *parse.CancelTraining:
		return c.cancelTraining(n)
	case *parse.ResumeTraining:
		return c.resumeTraining(n)
	case *parse.Explain:
		return c.explainTrain(ctx, st, n, params)
	case *parse.ShowModels:
		return c.alias(ctx, st, "SELECT * FROM ml.models", "SHOW")
	case *parse.DescribeModel:
		return c.describeModel(n)
	case *parse.AlterNode:
		return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
			if err := c.s.Alone("ALTER NODE"); err != nil {
				return "", err
			}
			view, err := x.View()
			if err != nil {
				return "", err
			}
			return "ALTER NODE", c.cluster.AlterNode(x.Ctx, view, x.Caller.Role, n, c.s.Notice)
		}), nil
	case *parse.FinalizeUpgrade:
		return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
			if err := c.s.Alone("ALTER SYSTEM"); err != nil {
				return "", err
			}
			view, err := x.View()
			if err != nil {
				return "", err
			}
			return "ALTER SYSTEM", c.cluster.FinalizeUpgrade(x.Ctx, view, x.Caller.Role, c.s.Notice)
		}), nil
	case *parse.AlterTableRepartition, *parse.DropModel, *parse.AlterModel:
		return c.ddl(st), nil
	case *parse.Backup:
		return backups{c}.backup(n)
	case *parse.Restore:
		return backups{c}.restore(n)
	case *parse.Undrop:
		return undrop(c, n), nil
	case *parse.ShowBackups:
		return backups{c}.show(n)
	case *parse.NoEffect:
		return session.Simple(func(context.Context, *session.Execution) (string, error) { return n.Command, nil }), nil
	case *parse.ExportModel:
		return exportModel(c, n)
	case *parse.ImportModel:
		return importModel(c, st, n)
	case *parse.CreateSchedule:
		return createSchedule(c, n)
	case *parse.AlterSchedule:
		return alterSchedule(n)
	case *parse.DropSchedule:
		return dropSchedule(c, n)
	case *parse.CreateSecret:
		return createSecret(c, n)
	case *parse.DropSecret:
		return dropSecret(c, n)
	case *parse.CreateResourceGroup:
		return createResourceGroup(c, n)
	case *parse.AlterResourceGroup:
		return alterResourceGroup(n)
	case *parse.DropResourceGroup:
		return dropResourceGroup(c, n)
	case *parse.RoleResourceGroup:
		return roleResourceGroup(n)
	case *parse.ShowSchedules:
		return c.alias(ctx, st, "SELECT * FROM cluster.schedules", "SHOW")
	}
	return nil, pgerr.Unsupported("%s is not supported yet", st.Extension.Tag())
}

// retrain trains a model again by its own statement, or over another query.
func (c *dispatcher) retrain(ctx context.Context, st *parse.Statement, n *parse.Retrain) (*session.Command, error) {
	view, err := c.s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	m, err := c.findModel(view, n.Name)
	if err == nil {
		err = c.s.Caller().MustOwn(view, m)
	}
	if err != nil {
		return nil, err
	}
	text := m.Find(0).Statement
	old, err := parse.One(text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	stored, ok := old.Extension.(*parse.TrainModel)
	if !ok {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "model %q was not trained here", m.Name)
	}
	if n.Query != nil {
		// The stored statement with its query replaced is the statement that trains the new
		// version.
		head, ok := strings.CutSuffix(text, stored.QueryText)
		if !ok {
			return nil, pgerr.Internal("the statement of model %q does not end with its query", m.Name)
		}
		if old, err = parse.One(head+n.QueryText, parse.Postgres); err != nil {
			return nil, err
		}
		stored = old.Extension.(*parse.TrainModel)
	}
	train := *stored
	train.Name, train.OrReplace, train.IfNotExists = []string{view.Schema(m.Schema).Name, m.Name}, true, false
	h, err := c.trainModel(ctx, training.Statement{Text: old, TrainModel: &train, Retrain: m.Find(0).Number}, nil)
	if err == nil && len(h.Params) > 0 {
		return nil, pgerr.Unsupported("a model trained with parameters can be retrained over a new query only")
	}
	return h, err
}

// alias runs a query in place of a statement.
func (c *dispatcher) alias(ctx context.Context, st *parse.Statement, text, verb string) (*session.Command, error) {
	inner, err := parse.One(text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	h, err := c.query(ctx, inner, nil)
	if err != nil {
		return nil, err
	}
	open := h.Run
	h.Run = func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		res, err := open(ctx, x)
		if err == nil {
			tag := res.Tag
			res.Tag = func() string { return verb + strings.TrimPrefix(tag(), "SELECT") }
		}
		return res, err
	}
	return h, nil
}

// findModel finds a model as a statement names it.
func (c *dispatcher) findModel(st *catalog.State, name []string) (*catalog.Model, error) {
	return c.queries.Model(c.s.Caller(), st, name)
}
