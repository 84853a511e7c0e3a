package opt

import (
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// dpLeaves is the largest cluster whose orders are all tried: 3^n steps.
const dpLeaves = 10

// ruleJoinOrder puts the joins of each cluster (joingraph.go) in the order that costs least by the
// estimates: for a join, the rows built into the hash table, those that probe it, and those that
// come out. Up to dpLeaves inputs all connected orders are tried, bushy ones included (dynamic
// programming over subsets: Moerkotte and Neumann, VLDB 2006); beyond, the pair with the fewest
// result rows is joined first, repeatedly. Cross products are made only where nothing connects.
func ruleJoinOrder(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return orderJoins(r, n), nil
}

func orderJoins(r *rule.Run, n plan.Node) plan.Node {
	if !clusterBelow(n) {
		return r.MapChildren(n, func(k plan.Node) plan.Node { return orderJoins(r, k) })
	}
	if _, isJoin := n.(*plan.Join); !isJoin {
		// A filter or projection over the cluster: the filter's conditions are
		// part of it, a projection stays on top.
		if p, ok := n.(*plan.Project); ok {
			return rule.With1(p, orderJoins(r, p.Input))
		}
	}
	g := &joinGraph{r: r, owner: map[expr.ColID]int{}}
	g.collect(n)
	if !g.finish() || len(g.leaves) < 2 {
		return r.MapChildren(n, func(k plan.Node) plan.Node { return orderJoins(r, k) })
	}
	g.joinValues(r.Estimates())
	p := newPlanner(g, r.Estimates())
	full := uint64(1)<<len(g.leaves) - 1
	if len(g.leaves) <= dpLeaves {
		p.exhaustive(full)
	}
	if p.best[full] == nil {
		p.greedy()
	}
	if p.best[full] == nil {
		return r.MapChildren(n, func(k plan.Node) plan.Node { return orderJoins(r, k) })
	}
	return rewrite.Filter(p.build(full), g.top)
}

// joinPlan is the cheapest way found to join a set of leaves.
type joinPlan struct {
	left, right uint64 // 0, 0 for a leaf
	cost        float64
	est         *props.Relation
}

type joinPlanner struct {
	g    *joinGraph
	est  *props.Estimator
	best map[uint64]*joinPlan
}

func newPlanner(g *joinGraph, est *props.Estimator) *joinPlanner {
	p := &joinPlanner{g: g, est: est, best: map[uint64]*joinPlan{}}
	for i, l := range g.leaves {
		e := est.Of(l.n)
		if l.kind == plan.Inner {
			e = props.Filtered(e, p.own(i))
		}
		p.best[1<<i] = &joinPlan{est: e}
	}
	return p
}

// own returns the conditions on one input alone that pushdown left here.
func (p *joinPlanner) own(i int) []expr.Expr {
	var out []expr.Expr
	for _, q := range p.g.preds {
		if q.mask == 1<<i {
			out = append(out, q.e)
		}
	}
	return out
}

func (p *joinPlanner) exhaustive(full uint64) {
	for s := uint64(1); s <= full; s++ {
		if bits.OnesCount64(s) < 2 {
			continue
		}
		// Each split once, with the lowest leaf in s1; both orders are tried.
		low := s & -s
		rest := s &^ low
		for sub := rest; ; sub = (sub - 1) & rest {
			s1 := sub | low
			s2 := s &^ s1
			if s2 != 0 {
				p.consider(s1, s2, true)
			}
			if sub == 0 {
				break
			}
		}
	}
}

// consider tries to join two sets, either way round.
func (p *joinPlanner) consider(a, b uint64, connected bool) bool {
	p.g.r.Poll()
	pa, pb := p.best[a], p.best[b]
	if pa == nil || pb == nil {
		return false
	}
	if !p.g.joinable(a, b) {
		a, b, pa, pb = b, a, pb, pa
		if !p.g.joinable(a, b) {
			return false
		}
	}
	if connected && !p.g.linked(a, b) {
		return false
	}
	s := a | b
	cur := p.best[s]
	kind := p.g.dependent(b)
	var est *props.Relation
	keyed := p.keyed(a, b, kind)
	switch {
	case cur == nil:
		est = p.joined(a, b, kind, pa.est, pb.est)
	case p.computed(a, b, kind):
		// The share of remaining values of a side does not apply to an expression: if the side were joined
		// first, every condition would seem to reduce it once more.
		if e := p.joined(a, b, kind, pa.est, pb.est); e.Rows > cur.est.Rows {
			cur.cost += outCost * (e.Rows - cur.est.Rows)
			cur.est = e
		}
		est = cur.est
	default:
		est = cur.est
	}
	right := pb.est.Rows
	if kind == plan.Single && !keyed {
		right = min(right, 1) // two rows are an error
	}
	cost := pa.cost + pb.cost + joinCost(kind, pa.est.Rows, right, est.Rows, keyed || p.ranged(a, b, kind))
	if cur == nil || cost < cur.cost {
		p.best[s] = &joinPlan{left: a, right: b, cost: cost, est: est}
	}
	return true
}

// joinCost returns the cost of one join. A row costs more on the build side than on the probe side; joins
// that can be commuted build the smaller side. found: rows are found by keys or in an order; else all pairs are looked at.
func joinCost(kind plan.JoinKind, l, r, out float64, found bool) float64 {
	if !found {
		return l + r + 0.3*l*r + outCost*out
	}
	build, probe := r, l
	if commutable(kind) && l < r {
		build, probe = l, r
	}
	return 2*build + probe + outCost*out
}

// outCost is the cost of a row of a join's result, whichever side is built.
const outCost = 0.5

// commutable reports whether k has a mirror image.
func commutable(k plan.JoinKind) bool {
	switch k {
	case plan.Inner, plan.Left, plan.Semi, plan.Anti:
		return true
	}
	return false
}

func (p *joinPlanner) conds(a, b uint64, kind plan.JoinKind) (on, after []expr.Expr) {
	between := p.g.between(a, b)
	if kind == plan.Inner {
		return between, nil
	}
	return p.g.leaves[bits.TrailingZeros64(b)].on, between
}

func (p *joinPlanner) keyed(a, b uint64, kind plan.JoinKind) bool {
	on, _ := p.conds(a, b, kind)
	for _, c := range on {
		if t, ok := c.(*expr.BoolTest); ok {
			c = t.Arg
		}
		if _, _, ok := rewrite.Equality(c); ok {
			return true
		}
		if d, ok := c.(*expr.Distinct); ok && d.Not {
			return true
		}
	}
	return false
}

// ranged reports whether the join has a range by which rows are found in an order.
func (p *joinPlanner) ranged(a, b uint64, kind plan.JoinKind) bool {
	on, _ := p.conds(a, b, kind)
	return kind != plan.Mark && slices.ContainsFunc(on, func(c expr.Expr) bool {
		l, r := plan.ColSet{}, plan.ColSet{}
		for id := range rewrite.ColumnsOf(c) {
			if leaf, ok := p.g.owner[id]; ok && a>>leaf&1 == 1 {
				l[id] = true
			} else {
				r[id] = true
			}
		}
		_, _, _, ok := rewrite.RangeSides(c, l, r)
		return ok
	})
}

// computed reports whether the join is on the equality of an expression.
func (p *joinPlanner) computed(a, b uint64, kind plan.JoinKind) bool {
	if kind != plan.Inner {
		return false
	}
	on, _ := p.conds(a, b, kind)
	for _, c := range on {
		if l, r, ok := rewrite.Equality(c); ok {
			_, plainL := rewrite.AsColumn(l)
			_, plainR := rewrite.AsColumn(r)
			if !plainL || !plainR {
				return true
			}
		}
	}
	return false
}

func (p *joinPlanner) joined(a, b uint64, kind plan.JoinKind, l, r *props.Relation) *props.Relation {
	on, after := p.conds(a, b, kind)
	var mark expr.ColID
	if kind == plan.Mark {
		mark = p.g.leaves[bits.TrailingZeros64(b)].mark
	}
	return props.Filtered(p.est.Join(kind, l, r, on, mark), after)
}

// greedy joins the pair with the fewest resulting rows until one set is left,
// and makes a cross product only where no condition connects any two.
func (p *joinPlanner) greedy() {
	var sets []uint64
	for i := range p.g.leaves {
		sets = append(sets, 1<<i)
	}
	for len(sets) > 1 {
		bi, bj := -1, -1
		var least float64
		for _, connected := range []bool{true, false} {
			for i := range sets {
				for j := i + 1; j < len(sets); j++ {
					if !p.consider(sets[i], sets[j], connected) {
						continue
					}
					if r := p.best[sets[i]|sets[j]].est.Rows; bi < 0 || r < least {
						bi, bj, least = i, j, r
					}
				}
			}
			if bi >= 0 {
				break
			}
		}
		if bi < 0 {
			return
		}
		sets[bi] |= sets[bj]
		sets = append(sets[:bj], sets[bj+1:]...)
	}
}

// build makes the plan of a set.
func (p *joinPlanner) build(s uint64) plan.Node {
	b := p.best[s]
	if b.left == 0 {
		i := bits.TrailingZeros64(s)
		l := p.g.leaves[i]
		if l.kind == plan.Inner {
			return rewrite.Filter(l.n, p.own(i))
		}
		return l.n
	}
	kind := p.g.dependent(b.right)
	on, after := p.conds(b.left, b.right, kind)
	j := &plan.Join{Kind: kind, L: p.build(b.left), R: p.build(b.right), On: on, Rows: b.est.Rows}
	if kind == plan.Mark {
		j.MarkCol = p.g.leaves[bits.TrailingZeros64(b.right)].mark
	}
	return rewrite.Filter(j, after)
}
