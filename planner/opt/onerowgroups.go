package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// oneRowGroups turns aggregates over values that are the same in every row, as those of a subquery
// of one row, into groups; it returns nil where there are none:
//
//	γ customer: sum(price), max(top)  over  sales, (SELECT max(x) AS top …)
//	γ customer, top: sum(price)
//
// The remaining aggregates have arguments of one side of the join, and may begin below it.
func oneRowGroups(r *rule.Run, n *plan.Aggregate) plan.Node {
	if len(n.Groups) == 0 || len(n.Sets) > 0 || n.GroupingID != 0 {
		return nil
	}
	same := oneValue(n.Input)
	if len(same) == 0 {
		return nil
	}
	c := *n
	c.Groups, c.Aggs = append([]plan.Item(nil), n.Groups...), nil
	var items []plan.Item
	for _, g := range n.Groups {
		items = append(items, rewrite.PassThrough(g.Col))
	}
	for _, a := range n.Aggs {
		item := rewrite.PassThrough(a.Col)
		if arg := extremeOf(a.Call); arg != nil && same[arg.ID] && arg.Typ.SamePhysical(a.Call.Typ) {
			col := r.NewCol(a.Col.Name, arg.Typ)
			c.Groups = append(c.Groups, plan.Item{Col: col, Expr: arg})
			item.Expr = rewrite.ColOf(col)
		} else {
			c.Aggs = append(c.Aggs, a)
		}
		items = append(items, item)
	}
	if len(c.Aggs) == len(n.Aggs) {
		return nil
	}
	return &plan.Project{Input: &c, Items: items}
}

// extremeOf returns the column whose min or max c is; nil for another call.
func extremeOf(c expr.AggCall) *expr.Col {
	if c.Fn.Name != "min" && c.Fn.Name != "max" || len(c.Args) != 1 || c.Filter != nil {
		return nil
	}
	col, _ := c.Args[0].(*expr.Col)
	return col
}

// oneValue returns the columns of n that have one value in all its rows.
func oneValue(n plan.Node) plan.ColSet {
	if props.ExactlyOne(n) {
		return plan.Emits(n)
	}
	switch n := n.(type) {
	case *plan.Filter:
		return oneValue(n.Input)
	case *plan.Project:
		in, out := oneValue(n.Input), plan.ColSet{}
		for _, it := range n.Items {
			if c, ok := rewrite.AsColumn(it.Expr); ok && in[c.ID] {
				out[it.Col.ID] = true
			}
		}
		return out
	case *plan.Join:
		switch n.Kind {
		case plan.Inner:
			return rewrite.Union(oneValue(n.L), oneValue(n.R))
		case plan.Left, plan.Semi, plan.Anti:
			return oneValue(n.L)
		}
	}
	return nil
}
