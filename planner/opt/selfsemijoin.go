package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/planner/subplan"
)

// otherValue turns a semi-join of rows with themselves, for a partner with the same keys and
// another value, into a grouping by these keys; it returns nil for other joins:
//
//	t x ⋉ t y on x.k = y.k and x.v <> y.v      σ min(v) <> max(v) (γ k: min(v), max(v) (t))
//
// One row is left for each key, so need may contain only the keys, and nothing above may depend on
// duplicates.
func otherValue(r *rule.Run, j *plan.Join, need plan.ColSet) plan.Node {
	if j.Kind != plan.Semi || rewrite.PlanVolatile(j.L) || len(r.Estimates().Facts.FreeColumns(j.L)) > 0 {
		return nil
	}
	agg := &plan.Aggregate{Input: j.L}
	left, right := map[expr.ColID]plan.Column{}, plan.Emits(j.R)
	for _, c := range j.L.Schema() {
		left[c.ID] = c
	}
	var value *expr.Col
	partner := map[expr.ColID]expr.ColID{} // columns of the left side and those of the right that they are compared with
	keys := plan.ColSet{}
	var solid []expr.Expr // a key that is NULL has no partner
	for _, c := range rewrite.SplitAll(j.On) {
		call, ok := c.(*expr.Call)
		if !ok || len(call.Args) != 2 {
			return nil
		}
		a, isA := rewrite.AsColumn(call.Args[0])
		b, isB := rewrite.AsColumn(call.Args[1])
		if !isA || !isB || !a.Typ.SamePhysical(b.Typ) || !a.Typ.EqualIsSame() {
			return nil
		}
		if right[a.ID] {
			a, b = b, a
		}
		col, ok := left[a.ID]
		if _, twice := partner[a.ID]; !ok || !right[b.ID] || twice {
			return nil
		}
		partner[a.ID] = b.ID
		switch _, _, equal := rewrite.Equality(c); {
		case equal:
			keys[a.ID] = true
			agg.Groups = append(agg.Groups, rewrite.PassThrough(col))
			solid = append(solid, &expr.IsNull{Arg: a, Not: true})
		case call.Op == "<>" && value == nil:
			value = a
		default:
			return nil
		}
	}
	if value == nil || len(keys) == 0 || !rewrite.Subset(both(need, plan.Emits(j.L)), keys) || !sameRows(j, partner) {
		return nil
	}
	extreme := func(name string) *expr.Col {
		call := rule.Aggregate(name, value)
		col := r.NewCol(name, call.Typ)
		agg.Aggs = append(agg.Aggs, plan.AggItem{Col: col, Call: call})
		return rewrite.ColOf(col)
	}
	differ := rewrite.Compare("<>", extreme("min"), extreme("max"))
	if differ == nil {
		return nil
	}
	agg.Input = rewrite.Filter(j.L, solid)
	return &plan.Filter{Input: agg, Conds: []expr.Expr{differ}}
}

// sameRows reports whether both sides of a join have the same rows, and columns of the left
// side are those of the right that they are mapped to.
func sameRows(j *plan.Join, to map[expr.ColID]expr.ColID) bool {
	l, byL, ok := subplan.Form(j.L)
	r, byR, same := subplan.Form(j.R)
	if !ok || !same || l != r {
		return false
	}
	for a, b := range to {
		if byL[a] != byR[b] {
			return false
		}
	}
	return true
}
