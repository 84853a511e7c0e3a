package stage

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// leastSpared is how many rows of a join's left side must be estimated to have no match for it to
// get a runtime filter.
const leastSpared = 10000

// runtimeFilter returns the left side of a join by hash, l placed, without the rows whose
// key no row of the right side has, where that pays: they would be sent to another
// node to be dropped there. The right side's exchange then sends its keys to every node.
//
//	⋈                                   ⋈
//	├─ HashBy                           ├─ HashBy
//	│  └─ scan lineitem                 │  └─ ⋉                 its table's keys reach the scan
//	└─ HashBy                    ─▶     │     ├─ scan lineitem
//	   └─ scan orders of July           │     └─ Receive ◀┐ the key
//	                                    └─ HashBy ────────┘
//	                                       └─ scan orders of July
//
// A left side waits only for keys of the right side, whose rows depend on nothing that the left one
// reads: there is no deadlock. Sources: the semijoin reduction of Bernstein and Chiu, "Using
// Semi-Joins to Solve Relational Queries", JACM 1981.
func (p *placer) runtimeFilter(n *plan.Join, l plan.Node, r *plan.Exchange) plan.Node {
	switch n.Kind {
	case plan.Inner, plan.Right, plan.Semi, plan.RightSemi, plan.RightAnti:
	default:
		return l // a left row without a match counts
	}
	semi, kept := (*plan.Join)(nil), 0.0
	for i, k := range n.RKeys {
		c, ok := k.(*expr.Col)
		if !ok || n.NullSafe != nil && n.NullSafe[i] || !c.Typ.IsIntegral() || !n.LKeys[i].Type().IsIntegral() {
			continue
		}
		s := &plan.Join{Kind: plan.Semi, L: n.L, R: n.R, LKeys: []expr.Expr{n.LKeys[i]}, RKeys: []expr.Expr{c}, NullSafe: []bool{false}}
		if rows := p.rows(s); semi == nil || rows < kept {
			semi, kept = s, rows
		}
	}
	if semi == nil {
		return l
	}
	left, keys := p.rows(n.L), p.rows(n.R)*float64(p.nodes)
	if !p.always && (left-kept < leastSpared || kept > left/2 || keys > left-kept) {
		return l
	}
	key := semi.RKeys[0].(*expr.Col)
	at := slices.IndexFunc(r.Schema(), func(c plan.Column) bool { return c.ID == key.ID })
	if at < 0 {
		return l
	}
	p.links++
	r.FilterKeys, r.Link = []expr.Expr{key}, p.links
	semi.L, semi.R = l, &plan.Receive{Link: p.links, Cols: []plan.Column{r.Schema()[at]}, Rows: p.rows(n.R)}
	semi.Broadcast = true
	return semi
}

// unfiltered returns n without its runtime filter, as the estimate of the rows that it keeps is
// uncertain.
func unfiltered(n plan.Node) plan.Node {
	if j, ok := n.(*plan.Join); ok {
		if r, ok := j.R.(*plan.Receive); ok && r.Link != 0 {
			return j.L
		}
	}
	return n
}
