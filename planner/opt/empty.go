package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// ruleEmpty propagates relations without rows upwards: WHERE false reads no table. An aggregation
// without groups still returns its row, and an outer join its left side.
func ruleEmpty(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		switch n := n.(type) {
		case *plan.Filter:
			for _, c := range n.Conds {
				if rewrite.IsFalse(c) || rewrite.IsNull(c) {
					return rule.EmptyOf(n)
				}
			}
		case *plan.Scan:
			for _, c := range n.Filter {
				if rewrite.IsFalse(c) || rewrite.IsNull(c) {
					return rule.EmptyOf(n)
				}
			}
		case *plan.Limit:
			if c, ok := n.Count.(*expr.Const); ok && c.Val == int64(0) {
				return rule.EmptyOf(n)
			}
		case *plan.Aggregate:
			if rule.IsEmpty(n.Input) && len(n.Groups) > 0 && len(n.Sets) == 0 {
				return rule.EmptyOf(n)
			}
		case *plan.Join:
			return emptyJoin(n)
		case *plan.SetOp:
			return emptySetOp(n)
		}
		if n.Traits().Rows.Derived() && rule.IsEmpty(n.Children()[0]) {
			return rule.EmptyOf(n)
		}
		return n
	}), nil
}

func emptyJoin(n *plan.Join) plan.Node {
	never := false
	for _, c := range n.On {
		never = never || rewrite.IsFalse(c) || rewrite.IsNull(c)
	}
	l, r := rule.IsEmpty(n.L), rule.IsEmpty(n.R) || never
	switch n.Kind {
	case plan.Inner, plan.Semi:
		if l || r {
			return rule.EmptyOf(n)
		}
	case plan.Left, plan.Single, plan.Mark:
		if l {
			return rule.EmptyOf(n)
		}
		if never && n.Kind == plan.Left && !rule.IsEmpty(n.R) {
			c := *n
			c.R, c.On = rule.EmptyOf(n.R), nil
			return &c
		}
	case plan.Anti, plan.AntiNull:
		if l {
			return rule.EmptyOf(n)
		}
		if rule.IsEmpty(n.R) || never && n.Kind == plan.Anti {
			return n.L
		}
	}
	return n
}

func emptySetOp(n *plan.SetOp) plan.Node {
	if n.Kind != plan.Union {
		if rule.IsEmpty(n.Inputs[0]) {
			return rule.EmptyOf(n)
		}
		return n
	}
	var keep []plan.Node
	for _, in := range n.Inputs {
		if !rule.IsEmpty(in) {
			keep = append(keep, in)
		}
	}
	switch {
	case len(keep) == len(n.Inputs):
		return n
	case len(keep) == 0:
		return rule.EmptyOf(n)
	case len(keep) == 1 && n.All:
		s := keep[0].Schema()
		items := make([]plan.Item, len(n.Cols))
		for i, c := range n.Cols {
			items[i] = plan.Item{Col: c, Expr: rewrite.ToPhysical(rewrite.ColOf(s[i]), c.Type)}
		}
		return &plan.Project{Input: keep[0], Items: items}
	}
	c := *n
	c.Inputs = keep
	return &c
}
