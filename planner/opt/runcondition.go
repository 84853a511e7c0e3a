package opt

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// ruleRunCondition tells windows how many first rows of each partition are read, if others are not, as
// PostgreSQL's run conditions do:
//
//	Filter rank() <= 10 over Window        Window keeps rows that fewer than 10 stand before
//
// Ranks of rows depend on those before them alone. The filter stays.
func ruleRunCondition(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		f, ok := n.(*plan.Filter)
		if !ok {
			return n
		}
		w, ok := f.Input.(*plan.Window)
		if !ok || len(w.OrderBy) == 0 || slices.ContainsFunc(append(plan.Exprs(w), f.Conds...), rewrite.IsVolatile) {
			return n
		}
		by := map[expr.ColID]string{}
		for _, it := range w.Items {
			switch name := it.Call.Fn.Name; name {
			case "rank", "row_number", "dense_rank":
				by[it.Col.ID] = name
			default:
				return n
			}
		}
		top := int64(math.MaxInt64)
		for _, c := range rewrite.SplitAll(f.Conds) {
			if col, k, ok := upTo(c); ok && (by[col] == "rank" || by[col] == "row_number") {
				top = min(top, max(k, 1))
			}
		}
		if top > maxTop {
			return n
		}
		c := *w
		c.Top = top
		return rule.With1(f, &c)
	}), nil
}

// maxTop is the largest run condition that may pay: its rows are looked up by key.
const maxTop = 10000

// upTo recognises a condition that a column is at most k.
func upTo(e expr.Expr) (col expr.ColID, k int64, ok bool) {
	c, isCall := e.(*expr.Call)
	if !isCall || len(c.Args) != 2 {
		return 0, 0, false
	}
	op, l, r := c.Op, c.Args[0], c.Args[1]
	if rewrite.IsConstant(l) {
		op, l, r = rewrite.Mirrored[op], r, l
	}
	x, isCol := rewrite.AsColumn(l)
	v, isConst := r.(*expr.Const)
	if !isCol || !isConst {
		return 0, 0, false
	}
	k, ok = v.Val.(int64)
	switch op {
	case "<=", "=":
		return x.ID, k, ok
	case "<":
		return x.ID, k - 1, ok && k > math.MinInt64
	}
	return 0, 0, false
}
