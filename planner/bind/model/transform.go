package model

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

var inTransform = scope.Place{Name: "TRANSFORM"}

// Derived binds an expression over columns and substitutes other expressions for these columns.
func Derived(b *scope.Binder, n ast.Node, cols []catalog.ModelFeature, from []expr.Expr, lv *scope.Level) (expr.Expr, error) {
	rl := &scope.Item{Open: true}
	for i, c := range cols {
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: from[i]})
	}
	e, err := (&scope.Scope{Binder: b, Level: lv, Items: []*scope.Item{rl}}).Expr(n, inTransform)
	if err != nil {
		return nil, err
	}
	return b.ResolveUnknown(e)
}

// inputs returns the inputs of a model's encoders, computed from its features.
func inputs(sc *scope.Scope, m *model, features []expr.Expr, pos typing.Position) ([]expr.Expr, error) {
	if m.v.Inputs == nil {
		return features, nil
	}
	b := &scope.Binder{Resolver: sc.Binder.Resolver, Session: sc.Binder.Session, Stmt: sc.Binder.Stmt, As: sc.Binder.As, Depth: sc.Binder.Depth}
	b.Text, b.View, b.Plain = nil, nil, true
	plans := map[*expr.Subquery]bool{}
	out := make([]expr.Expr, len(m.v.Inputs))
	for i, in := range m.v.Inputs {
		n, err := typing.ParseExpr(in.Expr)
		if err != nil {
			return nil, err
		}
		e, err := Derived(b, n, m.v.Features, features, sc.Level)
		if err != nil {
			return nil, sc.Binder.At(err, pos)
		}
		want := in.Type
		want.Mod = -1
		if e, err = b.Coerce(e, want, fn.AssignmentCast, typing.Position{}); err != nil {
			return nil, sc.Binder.At(err, pos)
		}
		again := false
		expr.Walk(e, func(x expr.Expr) bool {
			if q, ok := x.(*expr.Subquery); ok {
				again = again || plans[q] // a subquery's plan may stand once only
				plans[q] = true
			}
			return true
		})
		if again {
			return nil, pgerr.Unsupported("model \"%s\" computes several columns of a feature that a subquery gives", m.name).
				WithHint("Compute the feature in FROM.").At(pos.At())
		}
		out[i] = b.AsPhysical(e, want)
	}
	return out, nil
}
