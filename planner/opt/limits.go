package opt

import (
	"math"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// ruleLimits tells sorts how many of their rows are read, so that they keep a heap of that size instead of
// the input, and lets each arm of UNION ALL stop early:
//
//	LIMIT 10 OFFSET 5 over Sort            Sort keeps 15
//	LIMIT 10 over UNION ALL                LIMIT 10 over each arm too
//
// The Limit stays on top: it skips the offset. FETCH … WITH TIES is left alone,
// as more rows than asked for may follow.
func ruleLimits(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		l, ok := n.(*plan.Limit)
		if !ok || l.Ties {
			return n
		}
		k, ok := rowsWanted(l)
		if !ok {
			return n
		}
		in := firstRows(l.Input, k)
		if in == l.Input {
			return n
		}
		c := *l
		c.Input = in
		return &c
	}), nil
}

// rowsWanted returns how many rows a Limit needs of its input at most.
func rowsWanted(l *plan.Limit) (int64, bool) {
	c, ok := l.Count.(*expr.Const)
	if !ok || c.Val == nil {
		return 0, false
	}
	n, ok := c.Val.(int64)
	if !ok || n < 0 {
		return 0, false
	}
	if l.Offset == nil || rewrite.IsNull(l.Offset) {
		return n, true
	}
	o, ok := l.Offset.(*expr.Const)
	if !ok {
		return 0, false
	}
	k, ok := o.Val.(int64)
	if !ok || k < 0 || n > math.MaxInt64-k {
		return 0, false
	}
	return n + k, true
}

// firstRows marks n to say that only its first k rows are read.
func firstRows(n plan.Node, k int64) plan.Node {
	switch n := n.(type) {
	case *plan.Sort:
		if n.Limit < 0 || n.Limit > k {
			c := *n
			c.Limit = k
			return &c
		}
	case *plan.Project:
		if !rule.AnyVolatile(n.Items) {
			return rule.With1(n, firstRows(n.Input, k))
		}
	case *plan.Join:
		// Each row of the left side is emitted once: its first k are enough.
		if n.Kind == plan.Mark || n.Kind == plan.Single {
			if l := firstRows(n.L, k); l != n.L {
				c := *n
				c.L = l
				return &c
			}
		}
	case *plan.SetOp:
		if n.Kind == plan.Union && n.All {
			c := *n
			c.Inputs = make([]plan.Node, len(n.Inputs))
			for i, in := range n.Inputs {
				m := firstRows(in, k)
				if lim, ok := m.(*plan.Limit); !ok || lim.Count == nil {
					m = &plan.Limit{Input: m, Count: rewrite.IntConst(k)}
				}
				c.Inputs[i] = m
			}
			return &c
		}
	}
	return n
}
