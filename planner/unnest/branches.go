package unnest

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// branches replaces the subqueries below e, of which CASE, COALESCE, AND and OR evaluate some only where
// what stands before them leaves that open.
func (u *unnester) branches(input plan.Node, e expr.Expr, reached []expr.Expr) (plan.Node, expr.Expr) {
	// A condition that comes out differently the second time would say nothing; one less is still true.
	and := func(more ...expr.Expr) []expr.Expr {
		if slices.ContainsFunc(more, rewrite.IsVolatile) {
			return reached
		}
		return append(slices.Clip(reached), more...)
	}
	if c, ok := e.(*expr.Case); ok {
		m := *c
		m.Whens = slices.Clone(c.Whens)
		for i := range m.Whens {
			w := &m.Whens[i]
			input, w.Cond = u.within(input, w.Cond, reached)
			input, w.Then = u.within(input, w.Then, and(w.Cond))
			reached = and(&expr.BoolTest{Arg: w.Cond, Kind: expr.IsTrue, Not: true})
			if len(reached) > 8 && slices.ContainsFunc(m.Whens[i+1:], func(w expr.When) bool { return rewrite.HasSubquery(w.Cond) || rewrite.HasSubquery(w.Then) }) {
				input, reached = u.column(input, reached) // else it would grow with each WHEN
			}
		}
		input, m.Else = u.within(input, c.Else, reached)
		return input, &m
	}
	kids := e.Children()
	out := make([]expr.Expr, len(kids))
	for i, k := range kids {
		input, out[i] = u.within(input, k, reached)
		switch e.(type) {
		case *expr.Coalesce:
			reached = and(&expr.IsNull{Arg: out[i]})
		case *expr.And:
			reached = and(&expr.BoolTest{Arg: out[i], Kind: expr.IsFalse, Not: true})
		case *expr.Or:
			reached = and(&expr.BoolTest{Arg: out[i], Kind: expr.IsTrue, Not: true})
		}
	}
	return input, e.With(out)
}

// column computes whether all conditions are true, once.
func (u *unnester) column(input plan.Node, conds []expr.Expr) (plan.Node, []expr.Expr) {
	if c, ok := conds[0].(*expr.Col); ok && len(conds) == 1 {
		return input, []expr.Expr{c}
	}
	c := u.r.NewCol("reached", types.Bool)
	items := append(rewrite.PassItems(input.Schema()), plan.Item{Col: c, Expr: rewrite.AndOf(conds)})
	return &plan.Project{Input: input, Items: items}, []expr.Expr{rewrite.ColOf(c)}
}

// shield keeps a subquery whose value is not wanted where it is not reached from raising errors there, of
// its expressions or for more than one row. An Apply computes it for all rows of its input. So
// it reads columns that are NULL where it is not reached.
func (u *unnester) shield(input plan.Node, s *expr.Subquery, sub plan.Node, args, reached []expr.Expr) (plan.Node, *expr.Subquery, plan.Node, []expr.Expr) {
	facts := u.r.Estimates().Facts
	free := facts.FreeColumns(sub)
	var read []plan.Column
	for _, c := range input.Schema() {
		if free[c.ID] {
			read = append(read, c)
		}
	}
	deep := len(read) > 0 && (rewrite.PlanCanFail(sub) || s.Kind == expr.SubScalar && !facts.AtMostOneRow(sub))
	if !deep && !slices.ContainsFunc(args, rewrite.CanFail) {
		return input, s, sub, args
	}
	input, reached = u.column(input, reached)
	only := func(e expr.Expr) expr.Expr {
		return &expr.Case{Typ: e.Type(), Whens: []expr.When{{Cond: reached[0], Then: e}}}
	}
	args = slices.Clone(args)
	for i, a := range args {
		if rewrite.CanFail(a) {
			args[i] = only(a)
		}
	}
	if !deep {
		return input, s, sub, args
	}
	items, ids := rewrite.PassItems(input.Schema()), map[expr.ColID]expr.ColID{}
	for _, c := range read {
		to := u.r.NewCol(c.Name, c.Type)
		ids[c.ID] = to.ID
		items = append(items, plan.Item{Col: to, Expr: only(rewrite.ColOf(c))})
	}
	m := *s
	m.Cols = slices.Clone(s.Cols)
	for i, c := range m.Cols {
		if to, ok := ids[c]; ok {
			m.Cols[i] = to
		}
	}
	return &plan.Project{Input: input, Items: items}, &m, u.r.Reread(sub, ids), args
}
