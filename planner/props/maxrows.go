package props

import (
	"math"

	"github.com/tributarydb/tributary/planner/plan"
)

// MostRows returns how many rows n returns at most, whatever joins and conditions leave of the rows
// that the snapshot has; infinity where nothing is known for sure.
func MostRows(n plan.Node, st Statistics) float64 { return NewFacts(st).mostRows(n) }

func (f *Facts) mostRows(n plan.Node) float64 {
	if _, most := f.oneRow(n); most {
		return 1
	}
	switch n := n.(type) {
	case *plan.Values:
		return float64(len(n.Rows))
	case *plan.Scan:
		if t := f.st.Table(n.Table); t != nil && t.proven != nil {
			return t.Rows
		}
		return math.Inf(1)
	case *plan.Aggregate:
		return f.mostRows(n.Input)*float64(max(len(n.Sets), 1)) + float64(len(n.Sets))
	case *plan.SetOp:
		all := 0.0
		for _, in := range n.Inputs {
			all += f.mostRows(in)
		}
		return all
	case *plan.Join:
		return f.mostJoined(n)
	}
	if n.Traits().Rows.AtMostOnce() {
		return f.mostRows(n.Children()[0])
	}
	return math.Inf(1)
}

func (f *Facts) mostJoined(n *plan.Join) float64 {
	l, r := f.mostRows(n.L), f.mostRows(n.R)
	switch n.Kind {
	case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single:
		return l
	case plan.RightSemi, plan.RightAnti:
		return r
	}
	// Rows that are equal to a key of the other side have one partner each.
	pairs := max(l, 1) * max(r, 1)
	if CoversKey(f.UniqueKeys(n.R), boundBy(n, plan.Emits(n.R))) {
		pairs = min(pairs, l)
	}
	if CoversKey(f.UniqueKeys(n.L), boundBy(n, plan.Emits(n.L))) {
		pairs = min(pairs, r)
	}
	switch n.Kind {
	case plan.Inner:
		return pairs
	case plan.Left:
		return pairs + l
	case plan.Right:
		return pairs + r
	case plan.Full:
		return pairs + l + r
	}
	return math.Inf(1)
}
