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
// are computed beforehand.
const residualShare = 8

// ruleResidualOnce computes the expressions of a join's condition over its right rows once for each
// row, not for each pair:
//
//	⋈ price > 1.2 * average             ⋈ price > limit
//	├─ sales                            ├─ sales
//	└─ γ store: avg(price)              └─ project 1.2 * average as limit
//	                                       └─ γ store: avg(price)
//
// They are also computed for rows without a partner, so they must not be able to fail.
func ruleResidualOnce(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		if j, ok := n.(*plan.Join); ok && len(j.LKeys) > 0 && len(j.Residual) > 0 {
			return residualOnce(r, j)
		}
		return n
	}), nil
}

func residualOnce(r *rule.Run, j *plan.Join) plan.Node {
	est := r.Estimates()
	if est.Of(j.L).Rows < residualShare*est.Of(j.R).Rows {
		return j
	}
	has := plan.Emits(j.R)
	c := *j
	c.Residual = slices.Clone(j.Residual)
	items := rewrite.PassItems(j.R.Schema())
	for i, e := range c.Residual {
		call, ok := e.(*expr.Call)
		if !ok {
			continue
		}
		m := *call
		m.Args = slices.Clone(call.Args)
		for k, a := range m.Args {
			cols := rewrite.ColumnsOf(a)
			_, plain := rewrite.AsColumn(a)
			if plain || len(cols) == 0 || !rewrite.Subset(cols, has) || props.Fallible(a, j.R, r.Env.Stats) {
				continue
			}
			col := r.NewCol("computed", a.Type())
			items = append(items, plan.Item{Col: col, Expr: a})
			m.Args[k] = rewrite.ColOf(col)
		}
		c.Residual[i] = &m
	}
	if len(items) == len(j.R.Schema()) {
		return j
	}
	c.R = &plan.Project{Input: j.R, Items: items}
	return &c
}
