package props

import (
	"math"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// fits reports whether e over columns of n fails for no row of the snapshot, by the bounds of the columns: differences of
// dates' keys, a timestamp plus a constant interval and the like. It covers the rows that joins and conditions drop, too.
func fits(e expr.Expr, n plan.Node, st Statistics) bool {
	_, _, ok := valueBounds(e, n, st)
	return ok
}

// differenceFits reports whether the difference of two timestamps is of finite ones.
func differenceFits(e *expr.Call, n plan.Node, st Statistics) bool {
	switch e.Fn.ID {
	case "timestamp_mi(timestamp,timestamp)", "timestamptz_mi(timestamptz,timestamptz)":
		return fits(e.Args[0], n, st) && fits(e.Args[1], n, st)
	}
	return false
}

// floatFits reports whether a column of floats plus, minus or times a constant is neither too large nor, for a product,
// too small for all rows.
func floatFits(e *expr.Call, n plan.Node, st Statistics) bool {
	if len(e.Args) != 2 {
		return false
	}
	col, ok := rewrite.AsColumn(e.Args[0])
	by, isConst := e.Args[1].(*expr.Const)
	if !ok || !isConst {
		return false
	}
	k, ok := by.Val.(float64)
	k = math.Abs(k)
	switch e.Fn.ID {
	case "float8pl(float8,float8)", "float8mi(float8,float8)":
		ok = ok && k <= mostFloat
	case "float8mul(float8,float8)":
		ok = ok && k > 0.5 && k <= 1e6
	default:
		return false
	}
	cs, found := scanColumn(n, col.ID, st)
	lo, lok := cs.Min.(float64)
	hi, hok := cs.Max.(float64)
	return ok && found && cs.Bounds && lok && hok && lo >= -mostFloat && hi <= mostFloat
}

// mostFloat is far from the greatest float.
const mostFloat = 1e300

// IntRange returns the least and the greatest value that integer arithmetic e over columns of n may have, NULL apart, by the bounds
// of the columns; false where it may overflow, or where the bounds are not known.
func IntRange(e expr.Expr, n plan.Node, st Statistics) (lo, hi int64, ok bool) {
	if !e.Type().IsInteger() {
		return 0, 0, false
	}
	return valueBounds(e, n, st)
}

// scanColumn returns what is known of a column that a scan within n reads, also where it is passed on as another one.
func scanColumn(n plan.Node, id expr.ColID, st Statistics) (ColStats, bool) {
	var passed []plan.Item
	switch n := n.(type) {
	case *plan.Scan:
		for _, c := range n.Cols {
			if t := st.Table(n.Table); c.ID == id && t != nil {
				return t.Col(c.Num)
			}
		}
	case *plan.Project:
		passed = n.Items
	case *plan.Aggregate:
		passed = n.Groups
	}
	for _, it := range passed {
		if c, ok := rewrite.AsColumn(it.Expr); ok && it.Col.ID == id && c.ID != id {
			return scanColumn(n.Children()[0], c.ID, st)
		}
	}
	for _, k := range n.Children() {
		if cs, ok := scanColumn(k, id, st); ok {
			return cs, true
		}
	}
	return ColStats{}, false
}
