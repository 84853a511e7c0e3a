package build

import (
	"github.com/tributarydb/tributary/exec/op"
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

func filterScan(b *builder, s *plan.Scan, k op.ScanKeys) {
	if b.keys == nil {
		b.keys = map[*plan.Scan][]op.ScanKeys{}
	}
	b.keys[s] = append(b.keys[s], k)
}
