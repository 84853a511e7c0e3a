package isolation

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// model is a forest.
type model struct {
	Samples   int     // rows of each tree
	Threshold float64 // scores from here on are anomalies
	Trees     []tree
}

// tree is its nodes, children after their parents, the root first.
type tree struct {
	Nodes []node
	Depth int // the longest way from the root to a leaf
	Codes bool
}

// node sends a row to its second child if Low < x ≤ High, else to its first; x is the number of a dense column,
// or, counted on from those, the slot of a code. A leaf is its own first child, and no x is above its Low.
type node struct {
	Low, High float64
	Feature   int32
	First     int32   // of its children, which follow each other
	Length    float64 // of a leaf: its depth and the mean depth of a tree of its rows
}

func (n *node) leaf() bool { return math.IsInf(n.Low, 1) }

// random is a sequence of random numbers (SplitMix64).
type random uint64

const golden = 0x9e3779b97f4a7c15

func (r *random) next() uint64 {
	*r += golden
	return mix(uint64(*r))
}

func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

func (r *random) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

func (r *random) uniform() float64 { return float64(r.next()>>11) * 0x1p-53 }

// meanDepth is the mean depth at which an unsuccessful search in a binary tree of n random rows ends.
func meanDepth(n int) float64 {
	switch {
	case n < 2:
		return 0
	case n == 2:
		return 1
	}
	const euler = 0.57721566490153286061
	return float64(2*(f64.Log1(float64(n-1))+euler)) - 2*float64(n-1)/float64(n)
}

// grower grows trees on a sample.
type grower struct {
	rows    []row
	dense   int
	codes   int
	samples int
	r       random
	of      []int32 // the tree's rows, those of a node next to each other
	all     []int32
	order   []int32 // scratch: features
	t       tree
}

func newGrower(rows []row, dense, codes, samples int) *grower {
	g := &grower{rows: rows, dense: dense, codes: codes, samples: samples}
	for i := range rows {
		for range rows[i].Times {
			g.all = append(g.all, int32(i))
		}
	}
	for j := range dense + codes {
		g.order = append(g.order, int32(j))
	}
	return g
}

// grow grows a tree.
func (g *grower) grow(seed uint64) tree {
	g.r = random(seed)
	n := min(g.samples, len(g.all))
	for i := range n { // of any order: the first ones of a random one
		k := i + g.r.below(len(g.all)-i)
		g.all[i], g.all[k] = g.all[k], g.all[i]
	}
	g.of = append(g.of[:0], g.all[:n]...)
	g.t = tree{Nodes: make([]node, 1)}
	g.divide(0, 0, n, 0, bits.Len(uint(max(n, 2)-1)))
	return g.t
}

// divide makes node at of rows [from, to).
func (g *grower) divide(at, from, to, depth, most int) {
	g.t.Depth = max(g.t.Depth, depth)
	if to-from > 1 && depth < most {
		if n, ok := g.split(from, to); ok {
			second := to
			for i := from; i < second; { // to the end what goes to the second child
				if x := g.value(g.of[i], n.Feature); x > n.Low && x <= n.High {
					second--
					g.of[i], g.of[second] = g.of[second], g.of[i]
				} else {
					i++
				}
			}
			n.First = int32(len(g.t.Nodes))
			g.t.Nodes[at] = n
			g.t.Nodes = append(g.t.Nodes, node{}, node{})
			g.divide(int(n.First), from, second, depth+1, most)
			g.divide(int(n.First)+1, second, to, depth+1, most)
			return
		}
	}
	g.t.Nodes[at] = node{Low: math.Inf(1), High: math.Inf(1), First: int32(at), Length: float64(depth) + meanDepth(to-from)}
}

// value is the number or the slot of a row.
func (g *grower) value(i, feature int32) float64 {
	if r := &g.rows[i]; int(feature) < g.dense {
		return r.X[feature]
	} else {
		return float64(r.Code[int(feature)-g.dense])
	}
}

// split draws a feature that is not the same in all rows, and where to divide them; ok is false where there is none.
func (g *grower) split(from, to int) (n node, ok bool) {
	for i := range g.order {
		k := i + g.r.below(len(g.order)-i)
		g.order[i], g.order[k] = g.order[k], g.order[i]
		f := g.order[i]
		low, high := math.Inf(1), math.Inf(-1)
		for _, r := range g.of[from:to] {
			x := g.value(r, f)
			low, high = math.Min(low, x), math.Max(high, x)
		}
		switch {
		case low == high:
			continue
		case int(f) >= g.dense:
			slot := g.value(g.of[from+g.r.below(to-from)], f)
			g.t.Codes = true
			return node{Low: slot - 0.5, High: slot + 0.5, Feature: f}, true
		}
		at := low + float64(g.r.uniform()*(high-low))
		if !(at < high) { // by rounding, or where their difference is infinite
			at = low
		}
		return node{Low: at, High: math.Inf(1), Feature: f}, true
	}
	return n, false
}

// encode writes the canonical bytes.
func (m *model) encode(e *canon.E) {
	e.U32(uint32(m.Samples))
	e.F64(m.Threshold)
	e.U32(uint32(len(m.Trees)))
	for i := range m.Trees {
		t := &m.Trees[i]
		e.U32(uint32(len(t.Nodes)))
		for k := range t.Nodes {
			n := &t.Nodes[k]
			e.F64(n.Low)
			e.F64(n.High)
			e.U32(uint32(n.Feature))
			e.U32(uint32(n.First))
			e.F64(n.Length)
		}
	}
}

// decodeModel reads what encode wrote.
func decodeModel(d *canon.D) *model {
	m := &model{Samples: int(d.U32()), Threshold: d.F64()}
	for range d.Count(4) {
		var t tree
		for range d.Count(32) {
			t.Nodes = append(t.Nodes, node{Low: d.F64(), High: d.F64(), Feature: int32(d.U32()), First: int32(d.U32()), Length: d.F64()})
		}
		if !t.measure() {
			d.Fail()
		}
		m.Trees = append(m.Trees, t)
	}
	if m.Samples < 2 || m.Threshold != m.Threshold || len(m.Trees) == 0 {
		d.Fail()
	}
	return m
}

// measure sets what follows from a tree's nodes; ok is false where they are no tree.
func (t *tree) measure() (ok bool) {
	depth := make([]int, len(t.Nodes))
	for k := range t.Nodes {
		n := &t.Nodes[k]
		t.Depth = max(t.Depth, depth[k])
		switch {
		case n.leaf():
			if int(n.First) != k || n.Feature != 0 || n.Length-n.Length != 0 {
				return false
			}
		case n.Low != n.Low, n.High != n.High, int(n.First) <= k, int(n.First) >= len(t.Nodes)-1, depth[n.First] > 0, depth[n.First+1] > 0:
			return false
		default:
			t.Codes = t.Codes || !math.IsInf(n.High, 1)
			depth[n.First], depth[n.First+1] = depth[k]+1, depth[k]+1
		}
	}
	return len(t.Nodes) > 0
}

// valid reports whether the trees are over so many numbers and codes.
func (m *model) valid(dense, codes int) bool {
	for i := range m.Trees {
		for _, n := range m.Trees[i].Nodes {
			if n.Feature < 0 || int(n.Feature) >= dense+codes {
				return false
			}
		}
	}
	return dense+codes > 0
}
