package build

import (
	"slices"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// keyFilters returns a filter for each key of a join which a scan of the probe
// side can use (nil for the others), and returns those scans of it.
//
//	⋈ year = 2001          the join's table has 365 days
//	├─ ⋈ item              (passes the day on)
//	│  ├─ scan sales       reads no run of rows without such a day, gives no row of another
//	│  └─ scan item
//	└─ scan days
func (b *builder) keyFilters(n *plan.Join) []*op.KeyFilter {
	switch n.Kind {
	case plan.Inner, plan.Right, plan.Semi, plan.RightSemi, plan.RightAnti:
	default:
		return nil // a probe row without a match counts
	}
	// To look for one key is little beside hashing all of several for every row.
	several := len(n.LKeys) > 1
	var out []*op.KeyFilter
	for i, k := range n.LKeys {
		var f *op.KeyFilter
		if col := integerColumn(k); col != nil && n.RKeys[i].Type().IsIntegral() && (n.NullSafe == nil || !n.NullSafe[i]) {
			f = b.tellScans(n.L, col.ID, several, nil)
		}
		out = append(out, f)
	}
	return out
}

// integerColumn is the column of a key whose values a scan can compare: itself,
// or cast to a wider integer.
func integerColumn(e expr.Expr) *expr.Col {
	if c, ok := e.(*expr.Cast); ok && c.Typ.IsIntegral() && c.Arg.Type().IsIntegral() && (c.Typ.OID == types.DateOID) == (c.Arg.Type().OID == types.DateOID) {
		e = c.Arg
	}
	if c, ok := e.(*expr.Col); ok && c.Typ.IsIntegral() {
		return c
	}
	return nil
}

// tellScans finds the scans that column id of n comes from, where dropping its
// rows below drops the same rows of n, and returns them f, which it makes for the
// first. far says that some operator worth sparing is between. It gives f.
func (b *builder) tellScans(n plan.Node, id expr.ColID, far bool, f *op.KeyFilter) *op.KeyFilter {
	if slices.ContainsFunc(plan.Exprs(n), expr.Volatile) {
		return f // how often it is computed must not change
	}
	switch n := n.(type) {
	case *plan.Scan:
		at := slices.IndexFunc(n.Cols, func(c plan.Column) bool { return c.ID == id })
		if at < 0 {
			return f
		}
		if f == nil {
			f = new(op.KeyFilter)
		}
		if b.keys == nil {
			b.keys = map[*plan.Scan][]op.ScanKeys{}
		}
		b.keys[n] = append(b.keys[n], op.ScanKeys{Col: at, Rows: far, Filter: f})
		return f
	case *plan.Filter:
		return b.tellScans(n.Input, id, far, f)
	case *plan.Project:
		from := expr.ColID(0)
		for _, it := range n.Items {
			if c, ok := it.Expr.(*expr.Col); ok && it.Col.ID == id {
				from = c.ID
			}
		}
		if from == 0 {
			return f
		}
		return b.tellScans(n.Input, from, far, f)
	case *plan.Sort:
		if n.Limit >= 0 {
			return f
		}
		return b.tellScans(n.Input, id, true, f)
	case *plan.Aggregate:
		// Whole groups go.
		if len(n.Sets) > 0 {
			return f
		}
		for _, g := range n.Groups {
			if c, ok := g.Expr.(*expr.Col); ok && g.Col.ID == id {
				return b.tellScans(n.Input, c.ID, true, f)
			}
		}
	case *plan.Window:
		// Whole partitions go.
		if slices.ContainsFunc(n.PartitionBy, func(e expr.Expr) bool { c, ok := e.(*expr.Col); return ok && c.ID == id }) {
			return b.tellScans(n.Input, id, true, f)
		}
	case *plan.Join:
		// A row that an outer join pads has NULL for the key: it goes above.
		if n.Kind == plan.Single { // which counts the rows that it finds
			return f
		}
		for i, side := range []plan.Node{n.L, n.R} {
			if plan.Emits(side)[id] && (i == 0 || emitsRight(n.Kind)) {
				return b.tellScans(side, id, true, f)
			}
		}
	case *plan.SetOp:
		if n.Kind != plan.Union {
			return f
		}
		for i, c := range n.Cols {
			if c.ID != id {
				continue
			}
			for _, in := range n.Inputs {
				f = b.tellScans(in, in.Schema()[i].ID, far || !n.All, f)
			}
			return f
		}
	}
	return f
}

func emitsRight(k plan.JoinKind) bool {
	switch k {
	case plan.Inner, plan.Left, plan.Right, plan.Full, plan.RightSemi, plan.RightAnti:
		return true
	}
	return false
}
