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

// Defaults returns where NaN goes, for formats in which it goes somewhere by itself; ok is false where 0
// goes there too, which they lack.
func (n *Node) Defaults() (left, ok bool) {
	if n.Missing == NaNIsZero {
		return n.GoesLeft(0), true
	}
	return n.MissLeft, n.Missing == NaNMissing
}

// Greatest32 returns the greatest float32 that goes left.
func (n *Node) Greatest32() float32 {
	v := float32(n.Threshold)
	if float64(v) > n.Threshold || n.Strict && float64(v) == n.Threshold {
		v = math.Nextafter32(v, float32(math.Inf(-1)))
	}
	return v
}

// Wide returns the greatest float64 that goes left where numbers are rounded to float32 before they are
// compared.
func (n *Node) Wide() float64 {
	v := n.Greatest32()
	u := math.Nextafter32(v, float32(math.Inf(1)))
	if math.IsInf(float64(u), 0) || math.IsInf(float64(v), 0) {
		return float64(v)
	}
	half := float64(v) + (float64(u)-float64(v))/2 // exact
	if math.Float32bits(v)&1 == 1 {                // the half is rounded to the even one
		half = math.Nextafter(half, math.Inf(-1))
	}
	return half
}

// Closed returns the greatest float64 that goes left.
func (n *Node) Closed() float64 {
	if n.Strict {
		return math.Nextafter(n.Threshold, math.Inf(-1))
	}
	return n.Threshold
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

// Raw is a node of a file: its children are numbers of the file, and are not used in a leaf, whose values
// are Value.
type Raw struct {
	Node
	Left, Right int
	Value       []float64
}

// Grow makes a tree of a file's nodes, from a root on, in the order in which they are reached. ok is false
// where they form no tree of at most so many nodes; an error is at's.
func Grow(root, most int, at func(id int) (Raw, error)) (t Tree, ok bool, err error) {
	ids := []int{root}
	for i := 0; i < len(ids); i++ {
		if len(ids) > most {
			return t, false, nil
		}
		n, err := at(ids[i])
		if err != nil {
			return t, false, err
		}
		if n.Feature != Leaf {
			n.Node.Left, n.Node.Right = int32(len(ids)), int32(len(ids)+1)
			ids = append(ids, n.Left, n.Right)
		}
		t.Nodes, t.Values = append(t.Nodes, n.Node), append(t.Values, n.Value...)
	}
	return t, true, nil
}
