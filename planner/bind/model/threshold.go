package model

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// thresholdArgument is the named argument of predict, ml.predict, ml.evaluate and ml.confusion_matrix
// that says from which probability on the second of two classes is predicted.
const thresholdArgument = "threshold"

// takeThreshold takes the argument out of args, unless it is a feature of the model; nil if it is not
// there.
func takeThreshold(sc *scope.Scope, m *model, args []ast.Node, p scope.Place) ([]ast.Node, expr.Expr, error) {
	b := sc.Binder
	rest, val := take(args, thresholdArgument)
	if val == nil || m.hasFeature(thresholdArgument) {
		return args, nil, nil
	}
	pos := b.PosExpr(val)
	if m.v.Task != catalog.TaskClassification || len(m.v.Classes) != 2 || m.parts() != nil {
		return nil, nil, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no threshold: it is not a classifier of two classes", m.name).At(pos)
	}
	e, err := sc.Expr(val, p)
	if err != nil {
		return nil, nil, err
	}
	if e, err = b.Coerce(e, types.Float8, fn.AssignmentCast, b.SpotExpr(val)); err != nil {
		return nil, nil, err
	}
	if c, ok := e.(*expr.Const); ok {
		if v, ok := c.Val.(float64); ok && !(v >= 0 && v <= 1) {
			return nil, nil, pgerr.New(pgerr.InvalidParameterValue, "a threshold is a probability, from 0 to 1").At(pos)
		}
	}
	return rest, e, nil
}

// byThreshold is the class, of type t, that a threshold on the second class's probability gives.
func byThreshold(sc *scope.Scope, m *model, t types.Type, proba, threshold expr.Expr) (expr.Expr, error) {
	b := sc.Binder
	out := &expr.Case{Typ: t}
	if scope.HasSubquery(proba) || scope.HasSubquery(threshold) { // they are there twice
		return nil, pgerr.Unsupported("subqueries beside a threshold, or as one, are not supported").WithHint("Name their results in a subquery in FROM.")
	}
	above, err := b.CompareRows(">=", []expr.Expr{proba}, []expr.Expr{threshold})
	if err != nil {
		return nil, err
	}
	conds := []expr.Expr{&expr.IsNull{Arg: above, Not: true}, above} // NULL, of either, is of no class
	for i := 1; i >= 0; i-- {
		class, err := b.Coerce(&expr.Const{Val: m.v.Classes[i], Typ: types.Text}, out.Typ, fn.ExplicitCast, typing.Position{})
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, expr.When{Cond: conds[i], Then: class})
	}
	return out, nil
}
