package model

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// survival binds ml.survival('model', (query)). For each row of the query, with these fields, it returns one
// row for each time, with the probability that the event has not happened by then.
func survival(sc *scope.Scope, m *model, node plan.Node, fields []scope.Column, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	b := sc.Binder
	if m.v.Task != catalog.TaskTimeToEvent {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" knows no times", m.name).WithHint("Its task is %s.", m.v.Task).At(pos.At())
	}
	pr := query.NewProjector(b, sc.Level, node)
	rl := &scope.Item{Name: "survival"}
	keepFields(pr, rl, fields, []scope.Column{{Name: "time"}, {Name: "survival"}})
	var calls []plan.SetCall
	for _, x := range []struct {
		name string
		mode expr.PredictMode
	}{{"time", expr.PredictTimes}, {"survival", expr.PredictSurvival}} {
		e, err := applyModel(sc, m, x.mode, fields, false, pos)
		if err != nil {
			return scope.FromItem{}, err
		}
		made := b.NewCol(sc.Level, x.name, types.Float8)
		calls = append(calls, plan.SetCall{Fn: fn.Lookup("unnest")[0], Args: []expr.Expr{scope.Col(pr.Emit(e, x.name))}, Cols: []plan.Column{made}})
		rl.Cols = append(rl.Cols, scope.Column{Name: x.name, Expr: scope.Col(made)})
	}
	return query.Finish(sc, &plan.ProjectSet{Input: pr.Node(), Calls: calls}, rl, n.Alias, "table")
}
