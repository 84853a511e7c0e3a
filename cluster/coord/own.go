package coord

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
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
	case *parse.DropModel:
		return s.dropModel(n)
	case *parse.AlterModel:
		return s.alterModel(n)
	case *parse.AlterNode:
		return s.alterNode(n)
	case *parse.AlterTableRepartition:
		return s.ddl(ctx, st)
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
	view, err := s.tx.begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	m, err := s.findModel(view, n.Name)
	if err == nil {
		err = s.mayModel(view, m)
	}
	if err != nil {
		return nil, err
	}
	text := m.Find(0).Statement
	old, err := parseOne(text)
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
		if old, err = parseOne(head + n.QueryText); err != nil {
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
	inner, err := parseOne(text)
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

// newOwner finds the role that an object is given to, which the session must be
// able to become, and which must be able to make such an object in the schema.
func (s *Session) newOwner(st *catalog.State, name string, sc *catalog.Schema) (types.OID, error) {
	r := st.RoleByName(name)
	switch name {
	case "current_user", "current_role":
		r = st.Role(s.role)
	case "session_user":
		r = st.Role(s.user)
	}
	switch {
	case r == nil:
		return 0, pgerr.New(pgerr.UndefinedObject, "role %q does not exist", name)
	case !st.MemberOf(s.role, r.OID):
		return 0, pgerr.New(pgerr.InsufficientPrivilege, "must be member of role %q", r.Name)
	case sc != nil && !st.Super(s.role) && !st.May(r.OID, sc.Object(), 'C'):
		return 0, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
	}
	return r.OID, nil
}

func (s *Session) mayModel(st *catalog.State, m *catalog.Model) error {
	return s.context().MustOwn(st, m)
}

func (s *Session) dropModel(n *parse.DropModel) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		st, err := x.view()
		if err != nil {
			return "", err
		}
		for _, name := range n.Names {
			m, err := s.findModel(st, name)
			if err != nil {
				if n.IfExists {
					s.notice(pgerr.New(pgerr.SuccessfulCompletion, "model \"%s\" does not exist, skipping", dotted(name)))
					continue
				}
				return "", err
			}
			if sc := st.Schema(m.Schema); sc == nil || !st.Inherits(s.role, sc.Owner) { // whose owner may drop what is in it
				if err := s.mayModel(st, m); err != nil {
					return "", err
				}
			}
			var c catalog.Change = &catalog.DropModel{OID: m.OID, ExpectVersion: m.Version}
			if n.Versions != nil {
				if c, err = s.dropVersions(m, n); c == nil || err != nil {
					return "DROP MODEL", err
				}
			}
			if st, err = s.tx.add(c); err != nil {
				return "", err
			}
		}
		return "DROP MODEL", nil
	}), nil
}

// dropVersions gives the change that takes versions from a model, nil for none.
// The default one stays: what everybody predicts with changes by ALTER MODEL only.
func (s *Session) dropVersions(m *catalog.Model, n *parse.DropModel) (catalog.Change, error) {
	up := m.Bare()
	up.Last = m.Next() - 1
	var drop []int
	for _, number := range n.Versions {
		v := m.Find(int(number))
		there := v != nil && int64(v.Number) == number && !slices.Contains(drop, v.Number)
		switch {
		case !there && n.IfExists:
			s.notice(pgerr.New(pgerr.SuccessfulCompletion, "model %q has no version %d, skipping", m.Name, number))
			continue
		case !there:
			return nil, m.NoVersion(int(number))
		case int64(m.Default) == number:
			err := pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop version %d of model %q: it is the default version", number, m.Name)
			if len(m.Versions) == 1 {
				return nil, err.WithHint("DROP MODEL without VERSION drops the model.")
			}
			return nil, err.WithHint("Choose another one first: ALTER MODEL %s SET DEFAULT VERSION n.", lex.QuoteName(m.Name))
		}
		drop = append(drop, v.Number)
	}
	if drop == nil {
		return nil, nil
	}
	return &catalog.ChangeModel{Model: up, ExpectVersion: m.Version, Drop: drop}, nil
}

func (s *Session) alterModel(n *parse.AlterModel) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		st, err := x.view()
		if err != nil {
			return "", err
		}
		m, err := s.findModel(st, n.Name)
		if err != nil {
			if n.IfExists {
				s.notice(pgerr.New(pgerr.SuccessfulCompletion, "model \"%s\" does not exist, skipping", dotted(n.Name)))
				return "ALTER MODEL", nil
			}
			return "", err
		}
		if err := s.mayModel(st, m); err != nil {
			return "", err
		}
		up := m.Bare()
		switch {
		case n.RenameTo != "":
			if st.Model(m.Schema, n.RenameTo) != nil {
				return "", pgerr.New(pgerr.DuplicateObject, "model %q already exists", n.RenameTo)
			}
			up.Name = n.RenameTo
		case n.OwnerTo != "":
			to, err := s.newOwner(st, n.OwnerTo, st.Schema(m.Schema))
			if err != nil {
				return "", err
			}
			up.ACL, up.Owner = m.Object().Reown(to), to
		default:
			if _, err := m.Want(int(n.DefaultVersion)); err != nil {
				return "", err
			}
			up.Default = int(n.DefaultVersion)
		}
		_, err = s.tx.add(&catalog.ChangeModel{Model: up, ExpectVersion: m.Version})
		return "ALTER MODEL", err
	}), nil
}
