package opt

import (
	"math/bits"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// joinGraph is a cluster of joins that may be done in any order:
//
//	leaves      inner inputs, and dependents: the right sides of Left, Semi,
//	            Anti, NOT IN, Mark and Single joins. A dependent is joined alone,
//	            as the right side, once the leaves that its condition reads are in
//	preds       conditions; each is applied by the first join that has all its
//	            columns
//
// Semi- and outer joins commute with inner ones: whether a row of the cluster has a partner in the
// dependent depends on that row's columns alone, and a condition over an outer join's right side
// waits until it is in.
type joinGraph struct {
	r      *rule.Run
	leaves []graphLeaf
	preds  []graphPred
	owner  map[expr.ColID]int // which leaf emits a column
	top    []expr.Expr        // conditions without columns, volatile ones: last
}

type graphLeaf struct {
	n     plan.Node
	kind  plan.JoinKind // Inner for an input, else a dependent
	on    []expr.Expr   // of a dependent
	needs uint64        // leaves that on reads, itself excepted
	mark  expr.ColID
}

type graphPred struct {
	e     expr.Expr
	mask  uint64
	class int // equalities of one class follow from each other; 0: of none
}

const maxLeaves = 63

// reorderable reports whether n is a join that a cluster may contain.
func reorderable(n plan.Node) bool {
	j, ok := n.(*plan.Join)
	if !ok {
		return false
	}
	switch j.Kind {
	case plan.Inner, plan.Left, plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single:
		return true
	}
	return false
}

// collect adds n to the graph.
func (g *joinGraph) collect(n plan.Node) {
	switch n := n.(type) {
	case *plan.Filter:
		if clusterBelow(n.Input) && !anyVolatileExpr(n.Conds) {
			g.collect(n.Input)
			g.addPreds(n.Conds)
			return
		}
	case *plan.Project:
		if passesOn(n) && clusterBelow(n.Input) {
			g.collect(n.Input)
			return
		}
	case *plan.Join:
		if !reorderable(n) || anyVolatileExpr(n.On) {
			break
		}
		g.collect(n.L)
		if n.Kind == plan.Inner {
			g.collect(n.R)
			g.addPreds(n.On)
			return
		}
		g.addLeaf(graphLeaf{n: orderJoins(g.r, n.R), kind: n.Kind, on: rewrite.SplitAll(n.On), mark: n.MarkCol})
		return
	}
	g.addLeaf(graphLeaf{n: orderJoins(g.r, n), kind: plan.Inner})
}

func (g *joinGraph) addLeaf(l graphLeaf) {
	i := len(g.leaves)
	g.leaves = append(g.leaves, l)
	switch l.kind {
	case plan.Semi, plan.Anti, plan.AntiNull:
	case plan.Mark:
		g.owner[l.mark] = i
	default:
		for _, c := range l.n.Schema() {
			g.owner[c.ID] = i
		}
	}
}

func (g *joinGraph) addPreds(conds []expr.Expr) {
	for _, c := range rewrite.SplitAll(conds) {
		g.preds = append(g.preds, graphPred{e: c})
	}
}

func anyVolatileExpr(es []expr.Expr) bool {
	for _, e := range es {
		if rewrite.IsVolatile(e) {
			return true
		}
	}
	return false
}

// clusterBelow reports whether n is a join of a cluster, perhaps under filters
// and projections that only pass columns on.
func clusterBelow(n plan.Node) bool {
	for {
		switch x := n.(type) {
		case *plan.Filter:
			if anyVolatileExpr(x.Conds) {
				return false
			}
			n = x.Input
		case *plan.Project:
			if !passesOn(x) {
				return false
			}
			n = x.Input
		case *plan.Join:
			return reorderable(x) && !anyVolatileExpr(x.On)
		default:
			return false
		}
	}
}

// passesOn reports whether p only drops or reorders columns.
func passesOn(p *plan.Project) bool {
	for _, it := range p.Items {
		c, ok := rewrite.AsColumn(it.Expr)
		if !ok || c.ID != it.Col.ID || c.Typ != it.Col.Type {
			return false
		}
	}
	return true
}

// mask returns the set of leaves whose columns es read; ok is false if some column has no owner.
func (g *joinGraph) mask(es ...expr.Expr) (m uint64, ok bool) {
	ok = true
	for c := range rewrite.ColumnsOf(es...) {
		i, has := g.owner[c]
		if !has {
			ok = false
			continue
		}
		m |= 1 << i
	}
	return m, ok
}

// finish computes masks and completes the classes of equal columns. It reports
// false if the cluster cannot be reordered.
func (g *joinGraph) finish() bool {
	if len(g.leaves) > maxLeaves {
		return false
	}
	for i := range g.leaves {
		l := &g.leaves[i]
		if l.kind == plan.Inner {
			continue
		}
		own := plan.Emits(l.n)
		for c := range rewrite.ColumnsOf(l.on...) {
			if own[c] {
				continue
			}
			j, ok := g.owner[c]
			if !ok || j == i {
				return false
			}
			l.needs |= 1 << j
		}
	}
	kept := g.preds[:0:0]
	for _, p := range g.preds {
		m, ok := g.mask(p.e)
		if !ok {
			return false
		}
		if m == 0 {
			g.top = append(g.top, p.e)
			continue
		}
		p.mask = m
		kept = append(kept, p)
	}
	g.preds = kept
	g.classes()
	return true
}

// classes groups columns that inner joins make equal, and adds the equalities
// that follow: with a = b and b = c a join of a and c first becomes possible.
func (g *joinGraph) classes() {
	parent := map[expr.ColID]expr.ColID{}
	var find func(c expr.ColID) expr.ColID
	find = func(c expr.ColID) expr.ColID {
		if p, ok := parent[c]; ok && p != c {
			root := find(p)
			parent[c] = root
			return root
		}
		return c
	}
	var members []*expr.Col
	seen := plan.ColSet{}
	fns := map[expr.ColID]*expr.Call{}
	isPair := func(e expr.Expr) (a, b *expr.Col, ok bool) {
		l, r, isEq := rewrite.Equality(e)
		if !isEq {
			return nil, nil, false
		}
		a, ok1 := rewrite.AsColumn(l)
		b, ok2 := rewrite.AsColumn(r)
		return a, b, ok1 && ok2 && a.Typ.OID == b.Typ.OID && a.Typ.SamePhysical(b.Typ) && a.ID != b.ID
	}
	for _, p := range g.preds {
		a, b, ok := isPair(p.e)
		if !ok || bits.OnesCount64(p.mask) != 2 {
			continue
		}
		for _, c := range []*expr.Col{a, b} {
			if !seen[c.ID] {
				seen[c.ID] = true
				members = append(members, c)
			}
		}
		ra, rb := find(a.ID), find(b.ID)
		if ra != rb {
			parent[max(ra, rb)] = min(ra, rb)
		}
		if fns[ra] == nil {
			fns[ra] = p.e.(*expr.Call)
		}
	}
	number := map[expr.ColID]int{}
	byClass := map[int][]*expr.Col{}
	var call []*expr.Call
	for _, c := range members {
		root := find(c.ID)
		if number[root] == 0 {
			number[root] = len(number) + 1
			call = append(call, nil)
		}
		k := number[root]
		byClass[k] = append(byClass[k], c)
	}
	have := map[[2]expr.ColID]bool{}
	for i := range g.preds {
		p := &g.preds[i]
		a, b, ok := isPair(p.e)
		if !ok || bits.OnesCount64(p.mask) != 2 {
			continue
		}
		p.class = number[find(a.ID)]
		have[[2]expr.ColID{min(a.ID, b.ID), max(a.ID, b.ID)}] = true
		if call[p.class-1] == nil {
			call[p.class-1] = p.e.(*expr.Call)
		}
	}
	for k := 1; k <= len(call); k++ {
		cols := byClass[k]
		if len(cols) < 3 {
			continue
		}
		if len(cols) > 12 {
			// Too many pairs: apply all conditions as written.
			for i := range g.preds {
				if g.preds[i].class == k {
					g.preds[i].class = 0
				}
			}
			continue
		}
		for i := range cols {
			for j := i + 1; j < len(cols); j++ {
				a, b := cols[i], cols[j]
				if have[[2]expr.ColID{min(a.ID, b.ID), max(a.ID, b.ID)}] {
					continue
				}
				e := *call[k-1]
				e.Args = []expr.Expr{a, b}
				p := graphPred{e: &e, mask: 1<<g.owner[a.ID] | 1<<g.owner[b.ID], class: k}
				if g.owner[a.ID] == g.owner[b.ID] {
					// One leaf, two columns of the class: they must agree there, so
					// that any one of them may stand for both.
					p.class = 0
				}
				g.preds = append(g.preds, p)
			}
		}
	}
}

// between returns the conditions for which a join of s1 and s2 is the first to have all columns; one for each
// class.
func (g *joinGraph) between(s1, s2 uint64) []expr.Expr {
	var out []expr.Expr
	var done uint64
	s := s1 | s2
	for _, p := range g.preds {
		if p.mask&^s != 0 || p.mask&^s1 == 0 {
			continue
		}
		if p.mask&^s2 == 0 && !g.fresh(p.mask, s2) {
			continue
		}
		if p.class > 0 && p.class < 64 {
			if done&(1<<p.class) != 0 {
				continue
			}
			done |= 1 << p.class
		}
		out = append(out, p.e)
	}
	return out
}

// fresh reports whether s2 is a lone dependent: conditions on its columns alone
// could not be applied before.
func (g *joinGraph) fresh(mask, s2 uint64) bool {
	return mask == s2 && bits.OnesCount64(s2) == 1 && g.leaves[bits.TrailingZeros64(s2)].kind != plan.Inner
}

// linked reports whether some condition reads both sets, or s2 is a dependent that may join s1. A dependent
// that needs no leaf is the value of a subquery that reads nothing outside. It waits for the leaves with
// which its value is compared: other joins would pass it on and use it as a key.
func (g *joinGraph) linked(s1, s2 uint64) bool {
	lone := g.dependent(s2) != plan.Inner
	if lone && (!g.joinable(s1, s2) || g.leaves[bits.TrailingZeros64(s2)].needs != 0) {
		return g.joinable(s1, s2)
	}
	free := lone
	for _, p := range g.preds {
		if p.mask&s2 == 0 || p.mask == s2 {
			continue
		}
		free = false
		if p.mask&^(s1|s2) == 0 && p.mask&s1 != 0 {
			return true
		}
	}
	return free
}

// dependent returns the kind of a lone dependent; Inner for any other set.
func (g *joinGraph) dependent(s uint64) plan.JoinKind {
	if bits.OnesCount64(s) == 1 {
		return g.leaves[bits.TrailingZeros64(s)].kind
	}
	return plan.Inner
}

// joinable reports whether s1 may be joined with s2 on its right.
func (g *joinGraph) joinable(s1, s2 uint64) bool {
	if g.dependent(s1) != plan.Inner {
		return false
	}
	if g.dependent(s2) == plan.Inner {
		return true
	}
	return g.leaves[bits.TrailingZeros64(s2)].needs&^s1 == 0
}
