package tree

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// grower grows one tree at the root of a training.
type grower struct {
	p     *problem
	g     *ground
	s     *searcher
	no    int32 // among the trees that grow
	local bool  // its histograms are built here
	seed  uint64
	cols  []int // those the tree may use, nil for all
	nodes []growNode
	// splits in the order in which workers apply them.
	done   []split
	perRow float64    // the curvature of the mean row
	kept   *int       // integers of histograms that all growers keep
	spare  *sync.Pool // of *[]int64
	base   float64
}

// growNode is a node while its tree grows. Its number is that of workers.
type growNode struct {
	seed   uint64
	depth  int
	rows   int64 // an upper bound until workers report their number
	sum    []int64
	lo, hi float64 // bounds of its value, by monotone constraints
	more   float64 // penalty of its value beside l2
	cols   []int   // of its histogram: of a forest those it may split on, nil for all
	path   uint64  // the lists of columns that all splits above it are of
	best   *choice // nil: a leaf
	left   int32   // of the children, 0 for none
	hist   []int64 // kept to subtract the smaller child's from it
	wanted bool    // its histogram has been requested
}

// growNodeBytes is about the size of a node that grows, and of its best split.
const growNodeBytes = 400

// limits bound the memory of a step. They do not change the trees, since all sums
// are of integers.
type limits struct {
	kept  int   // integers of histograms that the root keeps: beyond, histograms of both children are built instead of one by subtraction
	step  int   // integers of histograms that a step requests: the rest is another step
	taken int64 // bytes of rows that a step sends to the root; those of a single node may be more
}

// limitsOf returns the limits for so many bytes of memory, 0 for no limit. Each
// goroutine of a step has several copies of its histograms and rows, and so has
// the root.
func limitsOf(memory int64) limits {
	l := limits{kept: 1 << 23, step: 1 << 18, taken: 1 << 24}
	if memory > 0 {
		l.kept = min(l.kept, int(memory/8/8))
		l.step = min(l.step, int(memory/64/8))
		l.taken = min(l.taken, memory/64)
	}
	return l
}

func newGrower(p *problem, g *ground, s *searcher, no, number int, rows int64, kept *int, spare *sync.Pool, base float64) *grower {
	t := &grower{p: p, g: g, s: s, no: int32(no), seed: mix(p.seed ^ mix(uint64(number)+0x1001)), kept: kept, spare: spare, base: base}
	if p.bycols < 1 {
		k := max(1, int(math.Round(p.bycols*float64(len(g.order)))))
		t.cols = columnsOf(t.seed, g.order, k)
	}
	root := growNode{seed: t.seed, rows: rows, lo: math.Inf(-1), hi: math.Inf(1), path: math.MaxUint64, wanted: true}
	t.draw(&root)
	t.nodes = []growNode{root}
	return t
}

// draw draws the columns that a node may split on.
func (t *grower) draw(n *growNode) {
	n.cols = t.cols
	if k := t.p.maxFeatures(len(t.g.order)); t.p.forest && k < len(t.g.order) {
		n.cols = columnsOf(n.seed, t.g.order, k)
	}
}

// build asks for the histogram of a node.
func (t *grower) build(i int32) build {
	n := &t.nodes[i]
	wide := !t.p.votes() && (t.g.wide || n.rows > int64(t.p.rowsFit(t.g, t.p.packing(t.g, 1))))
	return build{t.no, i, wide, n.cols}
}

// splittable reports whether a node might be split, from its sums alone.
func (t *grower) splittable(n *growNode) bool {
	return n.depth < t.p.depth && t.s.weight(n.sum) >= 2*t.p.minChild && len(t.g.order) > 0
}

// open lists the nodes that are to be split next: all that can be, or, where the
// number of leaves is bounded, the next ones in best-first order. More than the
// first are listed, since most will be split and each step is a round trip
// between nodes; walk ignores those that are not.
func (t *grower) open() []int32 {
	if t.p.leaves == 0 {
		var out []int32
		for i := range t.nodes {
			if n := &t.nodes[i]; n.best != nil && n.left == 0 {
				out = append(out, int32(i))
			}
		}
		return out
	}
	_, left, front := t.walk()
	out := front[:0]
	for _, i := range front {
		if t.nodes[i].left == 0 && len(out) < max(1, (left+1)/2) {
			out = append(out, i)
		}
	}
	return out
}

// walk replays best-first growth as far as the children's best splits are
// known. It returns the nodes that are split, how many more may be, and, where
// it had to stop, the nodes that may be split next, the best first; none at the
// end.
func (t *grower) walk() (split []int32, left int, front []int32) {
	left = t.p.leaves - 1
	if t.nodes[0].best != nil {
		front = []int32{0}
	}
	for len(front) > 0 && left > 0 {
		slices.SortFunc(front, t.compare)
		n := &t.nodes[front[0]]
		if n.left == 0 && left > 1 {
			return split, left, front
		}
		split = append(split, front[0])
		front = front[1:]
		left--
		if n.left == 0 {
			break
		}
		for i := n.left; i <= n.left+1; i++ {
			if t.nodes[i].best != nil {
				front = append(front, i)
			}
		}
	}
	return split, left, nil
}

// compare says which of two nodes is split before the other in best-first order.
func (t *grower) compare(a, b int32) int {
	return cmp.Or(cmp.Compare(t.nodes[b].best.gain, t.nodes[a].best.gain), cmp.Compare(t.nodes[a].seed, t.nodes[b].seed))
}

// expand makes the children of a node and returns the work for them: none where neither
// can be split again.
func (t *grower) expand(i int32) (s split, builds []build, work bool) {
	left := int32(len(t.nodes))
	n := &t.nodes[i]
	n.left = left
	c := n.best
	lo, hi := t.bounds(n)
	children := [2]growNode{
		{seed: mix(n.seed + 1), depth: n.depth + 1, rows: n.rows, sum: c.left, lo: n.lo, hi: n.hi, more: c.more, path: t.below(n)},
		{seed: mix(n.seed + 2), depth: n.depth + 1, rows: n.rows, sum: c.right, lo: n.lo, hi: n.hi, more: c.more, path: t.below(n)},
	}
	if lo < hi {
		children[0].hi, children[1].lo = lo, lo
	} else if lo > hi {
		children[0].lo, children[1].hi = hi, hi
	}
	want := [2]bool{}
	for k := range children {
		want[k] = t.splittable(&children[k])
		if want[k] {
			t.draw(&children[k])
		}
		children[k].wanted = want[k]
	}
	hist := n.hist
	if len(t.nodes)+2 > cap(t.nodes) {
		t.nodes = slices.Grow(t.nodes, max(64, len(t.nodes)))
	}
	t.nodes = append(t.nodes, children[0], children[1])
	if !want[0] && !want[1] {
		t.drop(i)
		return s, nil, false
	}
	s = split{t.no, i, left, int32(c.col), c.set}
	if hist == nil {
		for k := range want {
			if want[k] {
				builds = append(builds, t.build(left+int32(k)))
			}
		}
		return s, builds, true
	}
	small := int32(0)
	if t.s.weight(c.right) < t.s.weight(c.left) {
		small = 1
	}
	t.nodes[left+small].cols = t.nodes[i].cols
	return s, []build{t.build(left + small)}, true
}

// bounds returns for a split on a constrained column the bound between the
// children's values: as lo with hi infinite where values must not fall to the
// right, as hi with lo infinite where they must not rise.
func (t *grower) bounds(n *growNode) (lo, hi float64) {
	c := n.best
	if t.s.votes || t.p.direction[c.col] == 0 {
		return 0, 0
	}
	v := func(sum []int64) float64 { return t.nodeValue(sum, 0, n.lo, n.hi) }
	mid := float64(0.5*v(c.left)) + float64(0.5*v(c.right))
	if t.p.direction[c.col] > 0 {
		return mid, math.Inf(1)
	}
	return math.Inf(1), mid
}

// nodeValue is the value of a leaf of boosting before the learning rate.
func (t *grower) nodeValue(sum []int64, more, lo, hi float64) float64 {
	return t.s.value(float64(sum[0])*t.s.gUnit, float64(sum[1])*t.s.hUnit, t.p.l2+more, lo, hi)
}

// counted takes the numbers of rows of a node's children.
func (t *grower) counted(i int32, left, right int64) {
	n := &t.nodes[i]
	t.nodes[n.left].rows, t.nodes[n.left+1].rows = left, right
}

// look is a pending search of a node's histogram for its best split.
type look struct {
	t    *grower
	node int32
	hist []int64
	own  bool // it may be kept as it is
}

// built receives the histogram of a node and returns the searches that are possible
// then: of it and, where its parent's was kept, of its sibling's. Their contents are
// computed by apart, which may run concurrently with that of other nodes: it unpacks
// sums into scratch, or where that is nil into memory of its own, and subtracts the
// histogram from the parent's.
func (t *grower) built(b build, parent int32, hist, scratch []int64) (looks []look, apart func()) {
	own, packed := false, []int64(nil)
	if !t.p.votes() && !b.Wide {
		if packed, own = hist, scratch == nil; own {
			scratch = t.room(2 * len(packed))
		}
		hist = scratch[:2*len(packed)]
	}
	var rest []int64
	if parent >= 0 && t.nodes[parent].hist != nil {
		n := &t.nodes[parent]
		other := n.left
		if other == b.Node {
			other++
		}
		if !t.nodes[other].wanted {
			t.drop(parent)
		} else {
			rest, n.hist = n.hist, nil
			*t.kept -= len(rest)
			t.nodes[other].cols = n.cols
			looks = append(looks, look{t, other, rest, true})
			t.nodes[other].wanted = false
		}
	}
	apart = func() {
		if packed != nil {
			unpack(hist, packed, t.p.packing(t.g, 1).shift)
		}
		for i := range rest {
			rest[i] -= hist[i]
		}
	}
	n := &t.nodes[b.Node]
	if n.sum == nil { // the root, which has no sibling
		apart()
		apart = func() {}
		n.sum = t.total(n, hist)
		t.mean()
		n.wanted = n.wanted && t.splittable(n)
	}
	if n.wanted {
		looks = append(looks, look{t, b.Node, hist, own})
		n.wanted = false
	}
	return looks, apart
}

// find runs the search. It may run concurrently with searches of other nodes.
func (l *look) find(s *searcher) {
	n := &l.t.nodes[l.node]
	n.best = s.best(n, n.cols, l.t.allowed(n), l.hist, nil, l.t.perRow)
}

// keep keeps the histogram for subtraction, if the children may split on the
// same columns.
func (l *look) keep() {
	t, n, hist := l.t, &l.t.nodes[l.node], l.hist
	sameColumns := (!t.p.forest || n.cols == nil) && !(t.local && t.sparse(n))
	switch {
	case n.best != nil && sameColumns && n.depth+1 < t.p.depth && *t.kept+len(hist) <= t.p.limits.kept:
		if n.hist = hist; !l.own {
			n.hist = t.room(len(hist))
			copy(n.hist, hist)
		}
		*t.kept += len(hist)
	case l.own:
		t.free(hist)
	}
}

// mean computes the mean curvature of a row from the root's sum.
func (t *grower) mean() {
	if rows := float64(t.nodes[0].rows) * t.g.unit * t.p.subsample; rows > 0 && t.nodes[0].sum != nil {
		t.perRow = t.s.weight(t.nodes[0].sum) / rows
	}
}

// total returns the sum over the bins of a histogram's first column.
func (t *grower) total(n *growNode, hist []int64) []int64 {
	per := 2
	if t.s.votes {
		per = t.p.channels
	}
	sum, bin := make([]int64, per), make([]int64, per)
	if len(hist) == 0 {
		return sum
	}
	j := t.g.order[0]
	if n.cols != nil {
		j = n.cols[0]
	}
	c := &t.g.cols[j]
	from := 0
	if n.cols == nil {
		from = c.at
	}
	for b := range c.stride {
		plus(sum, t.s.sums(hist, from, len(hist)/per, b, bin))
	}
	return sum
}

// drop forgets a node's histogram.
func (t *grower) drop(i int32) {
	if t.nodes[i].hist == nil {
		return
	}
	*t.kept -= len(t.nodes[i].hist)
	t.free(t.nodes[i].hist)
	t.nodes[i].hist = nil
}

// room returns memory for n integers of any value, that of a histogram no longer
// needed where there is one: clearing fresh memory takes as long as filling it.
func (t *grower) room(n int) []int64 {
	if h, ok := t.spare.Get().(*[]int64); ok && cap(*h) >= n {
		return (*h)[:n]
	}
	return make([]int64, n)
}

// free returns memory of room for reuse.
func (t *grower) free(h []int64) {
	if h != nil {
		t.spare.Put(&h)
	}
}

// finish returns the tree when no node is open: wide in the workers' numbering,
// and slim as the model keeps it, without nodes that were split but are beyond
// the best-first order. It may be called again, for other values.
func (t *grower) finish(values func(i int32) []float64) (wide, slim tree) {
	chosen := make([]bool, len(t.nodes))
	if t.p.leaves == 0 {
		for i := range t.nodes {
			chosen[i] = t.nodes[i].left != 0
		}
	} else {
		split, _, _ := t.walk()
		for _, i := range split {
			if t.nodes[i].left == 0 { // the last one
				t.expand(i)
				chosen = append(chosen, false, false)
			}
			chosen[i] = true
		}
	}
	var width int
	wide.nodes = make([]node, 0, len(t.nodes))
	for i := range t.nodes {
		t.drop(int32(i))
		v := values(int32(i))
		if width = len(v); i == 0 {
			wide.values = make([]float64, 0, width*len(t.nodes))
		}
		n := node{col: leaf, cover: t.s.weight(t.nodes[i].sum)}
		if chosen[i] {
			c := t.nodes[i].best
			n.col, n.left, n.thr, n.set, n.gain = int32(c.col), t.nodes[i].left, int32(c.thr), c.set, c.gain
		}
		wide.nodes, wide.values = append(wide.nodes, n), append(wide.values, v...)
	}
	// Nodes that are not in the tree get the values of the leaf they are below, as rows are there.
	for i := range t.nodes {
		if l := t.nodes[i].left; l != 0 && !chosen[i] {
			for k := l; k <= l+1; k++ {
				copy(wide.values[int(k)*width:][:width], wide.values[i*width:][:width])
			}
		}
	}
	// By level, children beside each other.
	count := 1
	for _, c := range chosen {
		if c {
			count += 2
		}
	}
	slim.nodes, slim.values = make([]node, 0, count), make([]float64, 0, count*width)
	slim.nodes, slim.values = append(slim.nodes, wide.nodes[0]), append(slim.values, wide.values[:width]...)
	for i := 0; i < len(slim.nodes); i++ {
		n := slim.nodes[i]
		if n.col == leaf {
			continue
		}
		slim.nodes[i].left = int32(len(slim.nodes))
		slim.nodes = append(slim.nodes, wide.nodes[n.left], wide.nodes[n.left+1])
		slim.values = append(slim.values, wide.values[int(n.left)*width:][:2*width]...)
	}
	return wide, slim
}

// leafValues are those of a leaf.
func (t *grower) leafValues(i int32) []float64 {
	n := &t.nodes[i]
	switch {
	case t.s.votes:
		out := make([]float64, len(n.sum))
		total := t.s.weight(n.sum)
		for i, v := range n.sum {
			if total > 0 {
				out[i] = float64(v) * t.s.hUnit / total
			}
		}
		return out
	case t.p.forest:
		v := t.base
		if t.p.classes > 0 {
			v = 0
		}
		if h := float64(n.sum[1]) * t.s.hUnit; h > 0 {
			v += float64(n.sum[0]) * t.s.gUnit / h
		}
		return []float64{v}
	}
	return []float64{float64(t.p.rate * t.nodeValue(n.sum, n.more, n.lo, n.hi))}
}
