package late

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// GroupKeys computes grouping expressions that follow from other grouping columns for each group instead of for
// each row, and does not group by them; constants are such:
//
//	γ ip, ip - 1, 'x': count(*)      ─▶      ip, ip - 1, 'x', count   of   γ ip: count(*)
func GroupKeys(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		a, ok := n.(*plan.Aggregate)
		if !ok || a.Phase != plan.AggSingle || len(a.Groups) < 2 || a.Sets != nil || a.GroupingID != 0 || a.Regrouped != 0 {
			return n
		}
		by := map[expr.ColID]expr.Expr{} // what a projection below computes
		if p, ok := a.Input.(*plan.Project); ok {
			for _, it := range p.Items {
				by[it.Col.ID] = it.Expr
			}
		}
		keys := map[expr.ColID]expr.Expr{} // the groups that are columns, by the column
		for _, g := range a.Groups {
			if c, ok := rewrite.AsColumn(rewrite.Subst(g.Expr, by)); ok && c.Typ.EqualIsSame() && keys[c.ID] == nil {
				keys[c.ID] = rewrite.ColOf(g.Col)
			}
		}
		c := *a
		c.Groups = nil
		var items []plan.Item
		for _, g := range a.Groups {
			it := rewrite.PassThrough(g.Col)
			if e := rewrite.Subst(g.Expr, by); follows(e, keys) {
				it.Expr = rewrite.Subst(e, keys)
			} else {
				c.Groups = append(c.Groups, g)
			}
			items = append(items, it)
		}
		if len(c.Groups) == 0 { // without a group there would be a row of no rows
			c.Groups, items[0] = a.Groups[:1], rewrite.PassThrough(a.Groups[0].Col)
		}
		if len(c.Groups) == len(a.Groups) {
			return n
		}
		for _, it := range a.Aggs {
			items = append(items, rewrite.PassThrough(it.Col))
		}
		return &plan.Project{Input: &c, Items: items}
	}), nil
}

// follows reports whether an expression that is no key itself has one value for each value of the keys.
func follows(e expr.Expr, keys map[expr.ColID]expr.Expr) bool {
	if _, ok := rewrite.AsColumn(e); ok || rewrite.IsVolatile(e) || rewrite.HasSubquery(e) {
		return false
	}
	for id := range rewrite.ColumnsOf(e) {
		if keys[id] == nil {
			return false
		}
	}
	return true
}
