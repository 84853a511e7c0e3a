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
			if b.keys == nil {
				b.keys = map[*plan.Scan][]op.ScanKeys{}
			}
			b.keys[s] = append(b.keys[s], op.ScanKeys{Col: col, Rows: far, Filter: out[i]})
		})
	}
	return out
}
