package props

import "github.com/tributarydb/tributary/planner/plan"

// Work is what a plan is thought to cost one node, in rows read from a table. What the
// operators cost is of that size: a join looks up each left row, after its right side's
// keys have spared the scan below most that have none, and keeps each right one.
func Work(n plan.Node, st Statistics) float64 {
	e := New(st)
	var walk func(n plan.Node) float64
	walk = func(n plan.Node) (work float64) {
		in := 0.0
		for _, k := range n.Children() {
			work += walk(k)
			in += e.Of(k).Rows
		}
		switch n := n.(type) {
		case *plan.Scan:
			return max(n.Rows, e.Of(n).Rows) * float64(1+len(n.Filter))
		case *plan.Source:
			return max(n.Rows, e.Of(n).Rows) * 10 // texts are parsed
		case *plan.Join:
			kept := e.Of(n.R).Rows
			return work + in + 3*kept + 2*e.Of(n).Rows
		case *plan.Aggregate, *plan.SetOp:
			return work + 4*in + 4*e.Of(n).Rows
		case *plan.Sort, *plan.Window, *plan.DistinctOn:
			return work + 8*in
		}
		return work + in
	}
	return walk(n)
}
