package opt

import (
	"slices"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// onceBelow reports whether duplicates in n's i-th input have no effect, given whether those of n's
// own rows have none (once).
func onceBelow(n plan.Node, i int, once bool) bool {
	if slices.ContainsFunc(plan.Exprs(n), rewrite.IsVolatile) {
		return false
	}
	switch n := n.(type) {
	case *plan.Project, *plan.Filter:
		return once
	case *plan.Sort:
		return once && n.Limit < 0
	case *plan.Aggregate:
		return len(n.Aggs) == 0 && len(n.Groups) > 0
	case *plan.SetOp:
		// EXCEPT ALL and INTERSECT ALL count the copies in each input.
		return !n.All || once && n.Kind == plan.Union
	case *plan.Join:
		switch n.Kind {
		case plan.Inner, plan.Left, plan.Right, plan.Full:
			return once
		case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark:
			return once || i == 1
		case plan.RightSemi, plan.RightAnti:
			return once || i == 0
		}
	}
	return false
}

// multiplies is the least number of rows that a join returns for each row of one side for which a semi-join
// is better.
const multiplies = 2

// ruleFirstMatch makes a join that multiplies rows a semi-join where nothing above reads the
// columns of one side or depends on duplicates of the other:
//
//	SELECT DISTINCT x.k FROM t x, t y WHERE x.k = y.k AND x.v <> y.v
//	x.k IN (SELECT y.k FROM t y, u WHERE y.k = u.k)
//
// and a semi-join of a table with itself a grouping (otherValue).
func ruleFirstMatch(r *rule.Run, n plan.Node, want plan.ColSet) (plan.Node, error) {
	return firstMatch(r, n, want, false), nil
}

func firstMatch(r *rule.Run, n plan.Node, need plan.ColSet, once bool) plan.Node {
	j, ok := n.(*plan.Join)
	if ok && once && j.Kind == plan.Inner && !slices.ContainsFunc(j.On, rewrite.IsVolatile) {
		est := r.Estimates()
		rows := est.Of(j).Rows
		for _, side := range [][2]plan.Node{{j.L, j.R}, {j.R, j.L}} {
			if !rewrite.Intersects(need, plan.Emits(side[1])) && rows > multiplies*est.Of(side[0]).Rows {
				n = &plan.Join{Kind: plan.Semi, L: side[0], R: side[1], On: j.On}
				break
			}
		}
	}
	if j, ok := n.(*plan.Join); ok && once {
		if m := otherValue(r, j, need); m != nil {
			n = m
		}
	}
	kids := n.Children()
	out := slices.Clone(kids)
	for i, k := range kids {
		out[i] = firstMatch(r, k, neededBelow(n, k, need), onceBelow(n, i, once))
	}
	if slices.Equal(out, kids) {
		return n
	}
	n = n.WithChildren(out)
	if a, ok := n.(*plan.Aggregate); ok {
		if m := dropDistinct(r, a); m != nil { // as otherValue has left one of each
			return m
		}
	}
	return n
}

// neededBelow returns the columns of n's input k that may be read.
func neededBelow(n, k plan.Node, need plan.ColSet) plan.ColSet {
	switch n := n.(type) {
	case *plan.Project:
		out := plan.ColSet{}
		for _, it := range n.Items {
			if need[it.Col.ID] {
				plan.ExprColumns(it.Expr, out)
			}
		}
		return out
	case *plan.Aggregate:
		return rewrite.ColumnsOf(plan.Exprs(n)...)
	case *plan.Filter, *plan.Join:
		return rewrite.Union(need, rewrite.ColumnsOf(plan.Exprs(n)...))
	}
	return plan.Emits(k)
}
