package bind

import (
	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Body binds the text of an SQL function for its errors, and returns what it reads and calls. The text of a
// polymorphic one is only parsed.
func Body(s *Session, u *catalog.Function) ([]plan.TableUse, error) {
	b := newBinder(s)
	sc := &scope.Scope{Binder: b, Level: &scope.Level{Depth: 1}}
	f := fn.Of(u)
	var args []expr.Expr
	for _, a := range u.Inputs() {
		if a.Type.OID.IsPolymorphic() {
			_, err := query.FunctionText(u)
			return nil, err
		}
		args = append(args, scope.Col(b.NewCol(sc.Level, a.Name, a.Type)))
	}
	if err := query.CheckBody(sc, f, args); err != nil {
		return nil, err
	}
	return b.Stmt.Tables(), nil
}

// Called are the users' functions that a kept expression calls, as far as it can be bound.
func Called(s *Session, text string, over *catalog.Relation, kind ScalarKind) (out []types.OID) {
	n, err := typing.ParseExpr(text)
	if err != nil {
		return nil
	}
	b := newBinder(s)
	b.Plain, b.Text = true, nil
	if _, _, err := scalar(b, n, over, kind); err != nil {
		return nil
	}
	for _, u := range b.Stmt.Uses {
		if s.State.Function(u.OID) != nil {
			out = append(out, u.OID)
		}
	}
	return out
}
