package opt

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// residualShare is the least number of left rows for each right row for which expressions over the right side
// of a join with keys are computed beforehand.
const residualShare = 8

// ruleResidualOnce computes the expressions of a join's condition over the rows of one side once for each
// row, not for each pair: those of the right, and of the left where a join has no keys. Where many pairs have equal
// keys, the bounds of ranges are computed so on both sides: right rows are then found in their order.
//
//	⋈ price > 1.2 * average             ⋈ price > limit
//	├─ sales                            ├─ sales
//	└─ γ store: avg(price)              └─ project 1.2 * average as limit
//	                                       └─ γ store: avg(price)
//
// They are also computed for rows without a partner, so they must not be able to fail.
func ruleResidualOnce(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		if j, ok := n.(*plan.Join); ok && len(j.Residual) > 0 {
			return residualOnce(r, j)
		}
		return n
	}), nil
}

func residualOnce(r *rule.Run, j *plan.Join) plan.Node {
	c := *j
	if l, x := r.Estimates().Of(j.L).Rows, r.Estimates().Of(j.R).Rows; len(j.LKeys) == 0 {
		onceFor(r, &c, &c.L)
		onceFor(r, &c, &c.R)
	} else {
		if c.Kind != plan.Mark && pairsOf(r, &c) >= l+x {
			boundsOnce(r, &c)
		}
		if l >= residualShare*x {
			onceFor(r, &c, &c.R)
		}
	}
	if len(c.Schema()) == len(j.Schema()) {
		return &c
	}
	return &plan.Project{Input: &c, Items: rewrite.PassItems(j.Schema())}
}

// pairsOf estimates the pairs of rows with equal keys.
func pairsOf(r *rule.Run, j *plan.Join) float64 {
	c := *j
	c.Kind, c.Residual = plan.Inner, nil
	return r.Estimates().Of(&c).Rows
}

// computed returns the column of items that is e, a new one if there is none.
func computed(r *rule.Run, items *[]plan.Item, e expr.Expr) expr.Expr {
	for _, it := range *items {
		if rewrite.Same(it.Expr, e) && it.Expr.Type() == e.Type() {
			return rewrite.ColOf(it.Col)
		}
	}
	col := r.NewCol("computed", e.Type())
	*items = append(*items, plan.Item{Col: col, Expr: e})
	return rewrite.ColOf(col)
}

// boundsOnce computes the sides of ranges that are no columns.
func boundsOnce(r *rule.Run, j *plan.Join) {
	hasL, hasR := plan.Emits(j.L), plan.Emits(j.R)
	itemsL, itemsR := rewrite.PassItems(j.L.Schema()), rewrite.PassItems(j.R.Schema())
	once := func(e expr.Expr, in plan.Node, items *[]plan.Item) expr.Expr {
		if _, plain := rewrite.AsColumn(e); plain || props.Fallible(e, in, r.Statistics()) {
			return e
		}
		return computed(r, items, e)
	}
	residual := slices.Clone(j.Residual)
	for i, e := range residual {
		if op, right, left, ok := rewrite.RangeSides(e, hasL, hasR); ok {
			residual[i] = rewrite.Compare(op, once(right, j.R, &itemsR), once(left, j.L, &itemsL))
		}
	}
	j.Residual = residual
	project := func(side *plan.Node, items []plan.Item) {
		if len(items) > len((*side).Schema()) {
			*side = &plan.Project{Input: *side, Items: items}
		}
	}
	project(&j.L, itemsL)
	project(&j.R, itemsR)
}

// onceFor computes what a join's condition has of one side there.
func onceFor(r *rule.Run, j *plan.Join, side *plan.Node) {
	in, has, items := *side, plan.Emits(*side), rewrite.PassItems((*side).Schema())
	var once func(e expr.Expr) expr.Expr
	once = func(e expr.Expr) expr.Expr {
		cols := rewrite.ColumnsOf(e)
		if _, plain := rewrite.AsColumn(e); plain || len(cols) == 0 {
			return e
		}
		if rewrite.Subset(cols, has) && !props.Fallible(e, in, r.Statistics()) {
			return computed(r, &items, e)
		}
		if len(j.LKeys) == 0 {
			return expr.MapChildren(e, once)
		}
		return e
	}
	residual := slices.Clone(j.Residual)
	for i, e := range residual {
		if _, ok := e.(*expr.Call); ok || len(j.LKeys) == 0 {
			residual[i] = expr.MapChildren(e, once)
		}
	}
	if len(items) > len(in.Schema()) {
		j.Residual, *side = residual, &plan.Project{Input: in, Items: items}
	}
}
