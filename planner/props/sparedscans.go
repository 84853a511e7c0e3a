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
		for _, x := range sparedScans(n.L, col.ID, len(n.LKeys) > 1) {
			f(x.s, x.col, x.far)
		}
	}
}

// FirstScans calls f with the scans that may skip rows which a sort with a limit does not need, as their first key is
// beyond those of rows that it has, and with their column of that key.
func FirstScans(n *plan.Sort, f func(s *plan.Scan, col int)) {
	if n.Limit <= 0 || len(n.Keys) == 0 {
		return
	}
	c, ok := n.Keys[0].Expr.(*expr.Col)
	if !ok || !c.Typ.IsIntegral() && !c.Typ.IsStamp() {
		return
	}
	for in := n.Input; n.Keys[0].NullsFirst; in = in.Children()[0] {
		// A row that is skipped below an outer join may become one of NULLs, which would come first.
		switch in.(type) {
		case *plan.Filter, *plan.Project:
			continue
		case *plan.Scan:
		default:
			return
		}
		break
	}
	for _, x := range sparedScans(n.Input, c.ID, true) {
		f(x.s, x.col)
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

// sparedScan is a scan that may skip rows, with the column that tells which.
type sparedScan struct {
	s   *plan.Scan
	col int
	far bool
}

// sparedScans finds the scans that column id of n comes from, where dropping its rows below drops
// the same rows of n. far is true if some operator worth sparing is between.
func sparedScans(n plan.Node, id expr.ColID, far bool) (found []sparedScan) {
	switch n := n.(type) {
	case *plan.Scan:
		if at := slices.IndexFunc(n.Cols, func(c plan.Column) bool { return c.ID == id }); at >= 0 {
			found = []sparedScan{{n, at, far}}
		}
	case *plan.Filter:
		found = sparedScans(n.Input, id, far)
	case *plan.Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*expr.Col); ok && it.Col.ID == id {
				found = sparedScans(n.Input, c.ID, far)
			}
		}
	case *plan.Sort:
		if n.Limit < 0 {
			found = sparedScans(n.Input, id, true)
		}
	case *plan.Aggregate:
		// Whole groups are dropped.
		if len(n.Sets) > 0 {
			return nil
		}
		for _, g := range n.Groups {
			if c, ok := g.Expr.(*expr.Col); ok && g.Col.ID == id {
				found = append(found, sparedScans(n.Input, c.ID, true)...)
			}
		}
	case *plan.Window:
		// Whole partitions are dropped.
		if slices.ContainsFunc(n.PartitionBy, func(e expr.Expr) bool { c, ok := e.(*expr.Col); return ok && c.ID == id }) {
			found = sparedScans(n.Input, id, true)
		}
	case *plan.Join:
		// A row that an outer join pads has NULL for the key: it goes above.
		if n.Kind == plan.Single { // which counts the rows that it finds
			return nil
		}
		// The side that does not have the column finds nothing. To ask for its columns first would make a
		// chain of n joins cost n³.
		if emitsLeft(n.Kind) {
			found = sparedScans(n.L, id, true)
		}
		if found == nil && emitsRight(n.Kind) {
			found = sparedScans(n.R, id, true)
		}
	case *plan.SetOp:
		if n.Kind != plan.Union {
			return nil
		}
		at := slices.IndexFunc(n.Cols, func(c plan.Column) bool { return c.ID == id })
		if at < 0 {
			return nil
		}
		for _, in := range n.Inputs {
			found = append(found, sparedScans(in, in.Schema()[at].ID, far || !n.All)...)
		}
	}
	if found != nil && volatile(n) {
		return nil // how often it is computed must not change
	}
	return found
}

// volatile reports whether an expression of n is. Those of joins are not copied for it: there may be
// many on the way.
func volatile(n plan.Node) bool {
	if j, ok := n.(*plan.Join); ok {
		any := func(es []expr.Expr) bool { return slices.ContainsFunc(es, expr.Volatile) }
		return any(j.On) || any(j.LKeys) || any(j.RKeys) || any(j.Residual)
	}
	return slices.ContainsFunc(plan.Exprs(n), expr.Volatile)
}

func emitsLeft(k plan.JoinKind) bool { return k != plan.RightSemi && k != plan.RightAnti }

func emitsRight(k plan.JoinKind) bool {
	switch k {
	case plan.Inner, plan.Left, plan.Right, plan.Full, plan.RightSemi, plan.RightAnti:
		return true
	}
	return false
}
