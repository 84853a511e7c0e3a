package props

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// SparedScans calls f with the scans of a join's left side that may skip rows whose key i has no match on the
// right, and with their column of that key. far is true where it pays to look up each row, since some operator
// is between, or other keys are hashed with this one.
func SparedScans(n *plan.Join, i int, f func(s *plan.Scan, col int, far bool)) {
	switch n.Kind {
	case plan.Inner, plan.Right, plan.Semi, plan.RightSemi, plan.RightAnti:
	default:
		return // a left row without a match counts
	}
	if col := integerColumn(n.LKeys[i]); col != nil && n.RKeys[i].Type().IsIntegral() && (n.NullSafe == nil || !n.NullSafe[i]) {
		// Looking up one key costs little beside hashing several for every row.
		sparedScans(n.L, col.ID, len(n.LKeys) > 1, f)
	}
}

// integerColumn returns the column of a key whose values a scan can compare: the key itself, or
// cast to a wider integer.
func integerColumn(e expr.Expr) *expr.Col {
	if c, ok := e.(*expr.Cast); ok && c.Typ.IsIntegral() && c.Arg.Type().IsIntegral() && (c.Typ.OID == types.DateOID) == (c.Arg.Type().OID == types.DateOID) {
		e = c.Arg
	}
	if c, ok := e.(*expr.Col); ok && c.Typ.IsIntegral() {
		return c
	}
	return nil
}

// sparedScans finds the scans that column id of n comes from, where dropping its rows below drops
// the same rows of n. far is true if some operator worth sparing is between.
func sparedScans(n plan.Node, id expr.ColID, far bool, f func(s *plan.Scan, col int, far bool)) {
	if slices.ContainsFunc(plan.Exprs(n), expr.Volatile) {
		return // how often it is computed must not change
	}
	switch n := n.(type) {
	case *plan.Scan:
		at := slices.IndexFunc(n.Cols, func(c plan.Column) bool { return c.ID == id })
		if at >= 0 {
			f(n, at, far)
		}
	case *plan.Filter:
		sparedScans(n.Input, id, far, f)
	case *plan.Project:
		from := expr.ColID(0)
		for _, it := range n.Items {
			if c, ok := it.Expr.(*expr.Col); ok && it.Col.ID == id {
				from = c.ID
			}
		}
		if from == 0 {
			return
		}
		sparedScans(n.Input, from, far, f)
	case *plan.Sort:
		if n.Limit >= 0 {
			return
		}
		sparedScans(n.Input, id, true, f)
	case *plan.Aggregate:
		// Whole groups are dropped.
		if len(n.Sets) > 0 {
			return
		}
		for _, g := range n.Groups {
			if c, ok := g.Expr.(*expr.Col); ok && g.Col.ID == id {
				sparedScans(n.Input, c.ID, true, f)
			}
		}
	case *plan.Window:
		// Whole partitions are dropped.
		if slices.ContainsFunc(n.PartitionBy, func(e expr.Expr) bool { c, ok := e.(*expr.Col); return ok && c.ID == id }) {
			sparedScans(n.Input, id, true, f)
		}
	case *plan.Join:
		// A row that an outer join pads has NULL for the key: it goes above.
		if n.Kind == plan.Single { // which counts the rows that it finds
			return
		}
		for i, side := range []plan.Node{n.L, n.R} {
			if plan.Emits(side)[id] && (i == 0 || emitsRight(n.Kind)) {
				sparedScans(side, id, true, f)
			}
		}
	case *plan.SetOp:
		if n.Kind != plan.Union {
			return
		}
		for i, c := range n.Cols {
			if c.ID != id {
				continue
			}
			for _, in := range n.Inputs {
				sparedScans(in, in.Schema()[i].ID, far || !n.All, f)
			}
			return
		}
	}
}

func emitsRight(k plan.JoinKind) bool {
	switch k {
	case plan.Inner, plan.Left, plan.Right, plan.Full, plan.RightSemi, plan.RightAnti:
		return true
	}
	return false
}
