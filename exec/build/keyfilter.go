package build

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
)

// keyFilters returns a filter for each key of a join which a scan of the probe
// side can use (nil for the others), and returns those scans of it.
//
//	⋈ year = 2001          the join's table has 365 days
//	├─ ⋈ item              (passes the day on)
//	│  ├─ scan sales       skips runs of rows without such a day, returns no row of another
//	│  └─ scan item
//	└─ scan days
func (b *builder) keyFilters(n *plan.Join) []*op.KeyFilter {
	out := make([]*op.KeyFilter, len(n.LKeys))
	for i := range n.LKeys {
		props.SparedScans(n, i, func(s *plan.Scan, col int, far bool) {
			if out[i] == nil {
				out[i] = new(op.KeyFilter)
			}
			filterScan(b, s, op.ScanKeys{Col: col, Rows: far, Filter: out[i]})
		})
	}
	return out
}

// bound returns the filter of a sort that returns its first rows only, for the scans below that have its first
// key; nil if there are none.
//
//	Sort by time, first 10       has ten rows up to 08:15
//	└─ scan events               skips runs of rows that begin later, reads the other columns of rows up to 08:15 only
func bound(b *builder, n *plan.Sort) (f *op.KeyFilter) {
	props.FirstScans(n, func(s *plan.Scan, col int) {
		if f == nil {
			f = new(op.KeyFilter)
		}
		filterScan(b, s, op.ScanKeys{Col: col, Rows: true, Filter: f})
	})
	return f
}

// firstRows returns what tells the aggregation below a sort with a limit which groups are needed; nil if there is
// none, or anything else between them than filters and the choice of columns.
func firstRows(b *builder, n *plan.Sort, specs []kernel.KeySpec) *op.FirstRows {
	if n.Limit <= 0 {
		return nil
	}
	c, ok := n.Keys[0].Expr.(*expr.Col)
	if !ok {
		return nil
	}
	for in, id := n.Input, c.ID; ; {
		switch x := in.(type) {
		case *plan.Filter:
			in = x.Input
		case *plan.Project:
			at := slices.IndexFunc(x.Items, func(it plan.Item) bool { return it.Col.ID == id })
			if at < 0 {
				return nil
			}
			if c, ok = x.Items[at].Expr.(*expr.Col); !ok {
				return nil
			}
			in, id = x.Input, c.ID
		case *plan.Aggregate:
			if b.needed == nil {
				b.needed = map[*plan.Aggregate]*aggregate.Needed{}
			}
			f := op.NewFirstRows(specs)
			b.needed[x] = &aggregate.Needed{First: f, By: id}
			return f
		default:
			return nil
		}
	}
}

func filterScan(b *builder, s *plan.Scan, k op.ScanKeys) {
	if b.keys == nil {
		b.keys = map[*plan.Scan][]op.ScanKeys{}
	}
	b.keys[s] = append(b.keys[s], k)
}
