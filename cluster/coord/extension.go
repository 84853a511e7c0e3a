package coord

import (
	"context"
	"fmt"
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

func (c *dispatcher) describeModel(n *parse.DescribeModel) (*session.Command, error) {
	cols := session.TextColumns("property", "value")
	return &session.Command{Columns: cols, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		st, err := x.View()
		if err != nil {
			return nil, err
		}
		m, err := c.findModel(st, n.Name)
		if err != nil {
			return nil, err
		}
		if err := mayUse(x, st, m); err != nil {
			return nil, err
		}
		v, err := m.Want(int(n.Version))
		if err != nil {
			return nil, err
		}
		var feats []string
		for _, f := range v.Features {
			feats = append(feats, f.Name+" "+st.TypeName(f.Type))
		}
		rows := [][]types.Datum{
			{"name", st.Schema(m.Schema).Name + "." + m.Name},
			{"version", fmt.Sprintf("%d of %d", v.Number, len(m.Versions))},
			{"algorithm", v.Algorithm},
			{"task", v.Task},
			{"features", strings.Join(feats, ", ")},
			{"rows", fmt.Sprint(v.Rows)},
			{"iterations", fmt.Sprint(v.Iterations)},
			{"train_loss", measured(v.TrainLoss)},
			{"stopped", v.Stopped},
		}
		rows = append(append(rows, targets(st, v)...), ofGroups(st, v)...)
		for _, in := range v.Inputs {
			rows = append(rows, []types.Datum{"transform " + in.Name, in.Expr})
		}
		for _, k := range v.Metrics {
			rows = append(rows, []types.Datum{k.Name, measured(k.Value)})
		}
		for _, o := range v.Options {
			rows = append(rows, []types.Datum{"option " + o.Name, o.Value})
		}
		if s := v.Search; s != nil {
			rows = append(rows, []types.Datum{"search", fmt.Sprintf("%s, %d trials by %s, of which %d is the best", s.Algorithm, len(s.Trials), s.Objective, s.Best)})
			for _, a := range s.Trials[s.Best-1].Args {
				rows = append(rows, []types.Datum{"chosen " + a.Name, a.Value})
			}
		}
		for _, w := range v.Warnings {
			rows = append(rows, []types.Datum{"warning", w.Message})
		}
		if c := st.Comment(catalog.Dep{OID: m.OID}); c != "" {
			rows = append(rows, []types.Datum{"comment", c})
		}
		rows = append(rows, []types.Datum{"sha256", fmt.Sprintf("%x", v.SHA256)})
		if st.Inherits(x.Caller.Role, m.Owner) {
			rows = append(rows, []types.Datum{"statement", v.Statement})
		}
		return session.Table(cols, rows, "DESCRIBE MODEL")
	}}, nil
}

// ofGroups describe the groups of a model that has one for each value of a key.
func ofGroups(st *catalog.State, v *catalog.ModelVersion) (rows [][]types.Datum) {
	if v.Groups == nil {
		return nil
	}
	var by []string
	for _, k := range v.Groups.By {
		by = append(by, k.Name+" "+st.TypeName(k.Type))
	}
	return [][]types.Datum{{"groups by", strings.Join(by, ", ")}, {"groups", fmt.Sprint(v.Groups.Total)},
		{"groups trained", fmt.Sprint(v.Groups.Total - v.Groups.Failed)}, {"groups failed", fmt.Sprint(v.Groups.Failed)}, {"unknown groups", v.Groups.Unknown}}
}

// targets describe what a model predicts.
func targets(st *catalog.State, v *catalog.ModelVersion) (rows [][]types.Datum) {
	parts, suffix := []*catalog.ModelVersion{v}, func(int) string { return "" }
	if len(v.Target) > 1 {
		parts = nil
		for i := range v.Target {
			parts = append(parts, v.Part(i))
		}
		suffix = func(i int) string { return " of " + v.Target[i] }
	}
	var all []string
	for i, p := range parts {
		if len(p.Target) > 0 {
			all = append(all, p.Target[0]+" "+st.TypeName(p.TargetType))
		}
		if p.Classes != nil {
			rows = append(rows, []types.Datum{"classes" + suffix(i), strings.Join(p.Classes, ", ")})
		}
	}
	if all != nil {
		rows = append([][]types.Datum{{"target", strings.Join(all, ", ")}}, rows...)
	}
	return rows
}

// measured is a loss or a metric as DESCRIBE shows it: NULL where there is none.
func measured(f float64) types.Datum {
	if types.FiniteOrNull(f) == nil {
		return nil
	}
	return fmt.Sprintf("%.6g", f)
}
