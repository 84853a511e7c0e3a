package model

import (
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// overWindows computes the scores of a model of windows over node. They are window functions with the
// partitions and the order of the training. The last row of a window has the score; rows that end no window
// have NULL and are left out.
func overWindows(sc *scope.Scope, m *model, node plan.Node, fields, scores []scope.Column, pos typing.Position) (plan.Node, error) {
	b := sc.Binder
	w := &plan.Window{Input: node}
	column := func(c catalog.ModelFeature) (expr.Expr, error) {
		at, n := findField(fields, c.Name)
		switch {
		case n == 0:
			return nil, pgerr.New(pgerr.UndefinedColumn, "model \"%s\" needs the column \"%s\" of its windows, which is not among the columns", m.name, c.Name).At(pos.At())
		case n > 1:
			return nil, pgerr.New(pgerr.AmbiguousColumn, "the column \"%s\" of model \"%s\" is given more than once", c.Name, m.name).At(pos.At())
		}
		return fields[at].Expr, nil
	}
	for _, c := range m.v.Windows.PartitionBy {
		e, err := column(c)
		if err != nil {
			return nil, err
		}
		w.PartitionBy = append(w.PartitionBy, e)
	}
	for _, c := range m.v.Windows.OrderBy {
		e, err := column(c)
		if err != nil {
			return nil, err
		}
		w.OrderBy = append(w.OrderBy, expr.Order{Expr: e})
	}
	for i, s := range scores {
		inv := &typing.Invocation{Name: "ml_windows", Args: []expr.Expr{s.Expr, typing.IntLit(int64(m.v.Windows.Length)), typing.IntLit(int64(m.v.Windows.Stride))}, Names: make([]string, 3)}
		c, err := b.Resolve(inv)
		if err != nil {
			return nil, err
		}
		args, ret, err := b.BindArgs(c, inv)
		if err != nil {
			return nil, err
		}
		made := b.NewCol(sc.Level, s.Name, ret)
		w.Items = append(w.Items, plan.WindowItem{Col: made, Call: expr.AggCall{Fn: c.Func, Args: args, Typ: ret},
			Frame: plan.Frame{Mode: 'r', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.UnboundedFollowing}}})
		scores[i].Expr = scope.Col(made)
	}
	return &plan.Filter{Input: w, Conds: []expr.Expr{&expr.IsNull{Arg: scores[0].Expr, Not: true}}}, nil
}
