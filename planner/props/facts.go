package props

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// Facts keeps what is certain of nodes, by node. Rules ask at every node of a tree, and an answer takes those
// of the nodes below: without it a chain of n joins is walked n times at each. The nodes must not change
// meanwhile. The zero value answers questions that need no statistics.
type Facts struct {
	st   Statistics
	rows map[plan.Node]oneRow
	keys map[plan.Node][]plan.ColSet
	// closed are nodes that read no column from outside.
	closed map[plan.Node]bool
}

// oneRow is whether a node returns exactly one row, and at most one, whatever the data.
type oneRow struct{ exactly, most bool }

func NewFacts(st Statistics) *Facts { return &Facts{st: st} }

// AtMostOneRow reports whether n returns no row or one.
func (f *Facts) AtMostOneRow(n plan.Node) bool {
	_, most := f.oneRow(n)
	return most
}

// UniqueKeys is the function of that name; its result must not be changed.
func (f *Facts) UniqueKeys(n plan.Node) []plan.ColSet {
	if k, ok := f.keys[n]; ok {
		return k
	}
	k := f.uniqueKeys(n)
	if f.keys == nil {
		f.keys = map[plan.Node][]plan.ColSet{}
	}
	f.keys[n] = k
	return k
}

// FreeColumns is plan.FreeColumns.
func (f *Facts) FreeColumns(n plan.Node) plan.ColSet {
	free := plan.FreeColumnsAbove(n, f.closed)
	if len(free) == 0 {
		if f.closed == nil {
			f.closed = map[plan.Node]bool{}
		}
		f.closed[n] = true
	}
	return free
}

func (f *Facts) oneRow(n plan.Node) (exactly, most bool) {
	var below plan.Node
	keepsSome := true
	switch n := n.(type) {
	case *plan.Values:
		return len(n.Rows) == 1, len(n.Rows) <= 1
	case *plan.Aggregate:
		one := len(n.Groups) == 0 && len(n.Sets) <= 1
		return one, one
	case *plan.Join:
		if r, ok := f.rows[n]; ok {
			return r.exactly, r.most
		}
		exactly, most = f.oneRowJoined(n)
		if f.rows == nil {
			f.rows = map[plan.Node]oneRow{}
		}
		f.rows[n] = oneRow{exactly, most}
		return exactly, most
	default:
		t := n.Traits().Rows
		if !t.AtMostOnce() {
			return false, false
		}
		below, keepsSome = n.Children()[0], t.KeepsSome()
	}
	exactly, most = f.oneRow(below)
	return exactly && keepsSome, most || limitsToOne(n)
}

func (f *Facts) oneRowJoined(n *plan.Join) (exactly, most bool) {
	switch n.Kind {
	case plan.Semi, plan.Anti, plan.AntiNull:
		return false, f.AtMostOneRow(n.L)
	case plan.RightSemi, plan.RightAnti:
		return false, f.AtMostOneRow(n.R)
	case plan.Mark, plan.Single:
		return f.oneRow(n.L)
	case plan.Inner, plan.Left:
		exactly, most = f.oneRow(n.L)
		if !most {
			return false, false
		}
		right, one := f.oneRow(n.R)
		if n.Kind == plan.Left {
			return exactly && one, one
		}
		return exactly && right && len(n.On) == 0 && len(n.LKeys) == 0 && len(n.Residual) == 0, one
	}
	return false, false
}

// limitsToOne reports whether a node returns no more than one of its input's rows.
func limitsToOne(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Sort:
		return n.Limit == 0 || n.Limit == 1
	case *plan.Limit:
		if c, ok := n.Count.(*expr.Const); ok && !n.Ties {
			v, ok := c.Val.(int64)
			return ok && v <= 1
		}
	case *plan.Max1Row:
		return true
	}
	return false
}
