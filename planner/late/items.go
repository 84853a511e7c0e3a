package late

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// Items computes expressions that a sort with a limit does not read after it, for its first rows only:
//
//	Sort time limit 10                          Project upper(name), time
//	└─ Project upper(name), time      ─▶        └─ Sort time limit 10
//	   └─ events                                   └─ events
func Items(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		s, ok := n.(*plan.Sort)
		if !ok || s.Limit < 0 {
			return n
		}
		p, ok := s.Input.(*plan.Project)
		if !ok {
			return n
		}
		keys := plan.ColSet{}
		for _, k := range s.Keys {
			expr.Columns(k.Expr, keys)
		}
		low, up := &plan.Project{Input: p.Input}, &plan.Project{}
		late := map[expr.ColID]bool{} // what late expressions read
		for _, it := range p.Items {
			_, isCol := rewrite.AsColumn(it.Expr)
			if !isCol && !keys[it.Col.ID] && !rewrite.IsConstant(it.Expr) && !rewrite.IsVolatile(it.Expr) {
				expr.Columns(it.Expr, late)
				up.Items = append(up.Items, it)
				continue
			}
			low.Items, up.Items = append(low.Items, it), append(up.Items, rewrite.PassThrough(it.Col))
		}
		if len(late) == 0 {
			return n
		}
		has := plan.Emits(low)
		for _, c := range p.Input.Schema() {
			if late[c.ID] && !has[c.ID] {
				low.Items = append(low.Items, rewrite.PassThrough(c))
			}
		}
		c := *s
		c.Input, up.Input = low, &c
		return up
	}), nil
}
