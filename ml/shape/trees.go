package shape

import "math"

// Trees are trees whose leaves have values. A row's margins are the sums over the trees, or the means,
// and Base.
type Trees struct {
	Outputs int
	Width   int // of a leaf: 1, which is added to output Tree.Output, or Outputs
	Base    []float64
	Mean    bool // the trees' sum is divided by their number
	Trees   []Tree
	Link    Link
}

// Tree is nodes, children after their parents, the root first, and Trees.Width values for each node, zeros
// but in leaves.
type Tree struct {
	Output int
	Nodes  []Node
	Values []float64
}

// Node is a leaf, or divides rows by a number or a code.
type Node struct {
	// Feature is a dense number, or, counted on from those, a code; -1 in a leaf.
	Feature int32
	// Numbers: x ≤ Threshold goes left, or x < Threshold.
	Threshold float64
	Strict    bool
	Missing   Missing
	// MissLeft is where goes what is missing: NaN, or no code.
	MissLeft bool
	// Set are the slots of a code that go left, as bits; nil for a number.
	Set         []uint64
	Left, Right int32
	Gain, Cover float64 // 0 where not known
}

// Missing says which numbers are missing.
type Missing uint8

// The ways.
const (
	NaNMissing  Missing = iota // NaN
	NaNIsZero                  // none: NaN is 0
	ZeroMissing                // NaN and 0
)

// Leaf is the feature of a leaf.
const Leaf = -1

// zeroBelow is what LightGBM takes for 0 (kZeroThreshold).
const zeroBelow = 1e-35

// Has reports whether a slot is in the node's set.
func (n *Node) Has(slot int) bool { return slot>>6 < len(n.Set) && n.Set[slot>>6]>>(slot&63)&1 != 0 }

// GoesLeft reports whether a number goes left.
func (n *Node) GoesLeft(x float64) bool {
	switch {
	case n.Missing == NaNIsZero && x != x:
		x = 0
	case x != x, n.Missing == ZeroMissing && math.Abs(x) <= zeroBelow:
		return n.MissLeft
	}
	if n.Strict {
		return x < n.Threshold
	}
	return x <= n.Threshold
}

// CodeGoesLeft reports whether a slot goes left; -1 is no code.
func (n *Node) CodeGoesLeft(slot int) bool {
	if slot < 0 {
		return n.MissLeft
	}
	return n.Has(slot)
}

// Bytes implements Shape.
func (s *Trees) Bytes() (n int64) {
	for _, t := range s.Trees {
		n += 96*int64(len(t.Nodes)) + 8*int64(len(t.Values))
		for i := range t.Nodes {
			n += 8 * int64(len(t.Nodes[i].Set))
		}
	}
	return n
}

// Valid reports whether the trees are trees over so many numbers and codes.
func (s *Trees) Valid(dense, codes int) bool {
	if s.Outputs < 1 || s.Width != 1 && s.Width != s.Outputs || len(s.Base) != s.Outputs || !s.Link.Valid() {
		return false
	}
	for i := range s.Trees {
		t := &s.Trees[i]
		if len(t.Nodes) == 0 || len(t.Values) != len(t.Nodes)*s.Width || t.Output < 0 || t.Output >= s.Outputs {
			return false
		}
		seen := make([]bool, len(t.Nodes))
		for k := range t.Nodes {
			n := &t.Nodes[k]
			if n.Feature == Leaf {
				continue
			}
			if n.Feature < 0 || int(n.Feature) >= dense+codes || (n.Set != nil) != (int(n.Feature) >= dense) || n.Missing > ZeroMissing || n.Threshold != n.Threshold {
				return false
			}
			for _, c := range [2]int32{n.Left, n.Right} {
				if int(c) <= k || int(c) >= len(t.Nodes) || seen[c] {
					return false
				}
				seen[c] = true
			}
		}
	}
	return true
}

// Row is a row's dense numbers and slots of codes, -1 for none.
type Row struct {
	X     []float64
	Slots []int
}

// Leaf returns the leaf of a row.
func (t *Tree) Leaf(r Row) int {
	at := 0
	for t.Nodes[at].Feature != Leaf {
		if n := &t.Nodes[at]; n.left(r) {
			at = int(n.Left)
		} else {
			at = int(n.Right)
		}
	}
	return at
}

func (n *Node) left(r Row) bool {
	if k := int(n.Feature) - len(r.X); k >= 0 {
		return n.CodeGoesLeft(r.Slots[k])
	}
	return n.GoesLeft(r.X[n.Feature])
}

// Margins adds up the trees' values of a row, in z, which has Outputs numbers.
func (s *Trees) Margins(r Row, z []float64) {
	clear(z)
	for i := range s.Trees {
		t := &s.Trees[i]
		at := t.Leaf(r)
		if s.Width == 1 {
			z[t.Output] += t.Values[at]
			continue
		}
		for k, v := range t.Values[at*s.Width:][:s.Width] {
			z[k] += v
		}
	}
	for k := range z {
		if s.Mean && len(s.Trees) > 0 {
			z[k] /= float64(len(s.Trees))
		}
		z[k] += s.Base[k]
	}
}
