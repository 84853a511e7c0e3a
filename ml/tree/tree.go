package tree

import "github.com/tributarydb/tributary/ml/canon"

// tree is one tree: nodes[0] is the root. Each node has as many values as there
// are outputs of a leaf, those of node i from i times that on.
type tree struct {
	nodes  []node
	values []float64
}

// node is a leaf, or divides rows by the bin of a column.
type node struct {
	col         int32 // -1: a leaf
	left        int32 // the child of rows whose bin is in the set; the other is next to it
	thr         int32 // number column: the last bin that goes left
	set         set
	gain, cover float64
}

const leaf = -1

// missLeft returns where missing values go.
func (n *node) missLeft(c *column) bool { return n.set.has(c.miss()) }

// numberSet is the set of the bins up to thr, and of missing values.
func numberSet(c *column, thr int, missLeft bool) (s set) {
	s.upTo(thr)
	if missLeft {
		s.add(c.miss())
	}
	return s
}

// bytes is about the memory of a tree.
func (t *tree) bytes() int64 { return int64(cap(t.nodes))*72 + int64(cap(t.values))*8 }

func encodeTrees(e *canon.E, list []tree) {
	e.U32(uint32(len(list)))
	for i := range list {
		t := &list[i]
		e.U32(uint32(len(t.nodes)))
		for k := range t.nodes {
			n := &t.nodes[k]
			e.U32(uint32(n.col))
			if n.col == leaf {
				e.F64(n.cover)
				continue
			}
			e.U32(uint32(n.left))
			e.U32(uint32(n.thr))
			n.set.encode(e)
			e.F64(n.gain)
			e.F64(n.cover)
		}
		e.F64s(t.values)
	}
}

func decodeTrees(d *canon.D) (list []tree) {
	for range d.Count(20) {
		var t tree
		count := d.Count(12)
		for range count {
			n := node{col: int32(d.U32())}
			if n.col == leaf {
				n.cover = d.F64()
			} else {
				n.left, n.thr, n.set, n.gain, n.cover = int32(d.U32()), int32(d.U32()), decodeSet(d), d.F64(), d.F64()
			}
			t.nodes = append(t.nodes, n)
		}
		if t.values = d.F64s(); !t.fits() {
			d.Fail()
		}
		list = append(list, t)
	}
	return list
}

// fits reports whether the nodes form trees: children come after their parents. It does
// not check columns.
func (t *tree) fits() bool {
	if len(t.nodes) == 0 || len(t.values) == 0 || len(t.values)%len(t.nodes) != 0 {
		return false
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.col < leaf || n.col != leaf && (int(n.left) <= i || int(n.left)+1 >= len(t.nodes)) {
			return false
		}
	}
	return true
}

// uses reports whether all columns that nodes split by exist in b.
func (t *tree) uses(b *bins) bool {
	for i := range t.nodes {
		if n := &t.nodes[i]; n.col != leaf && (int(n.col) >= len(b.cols) || b.cols[n.col].stride == 0) {
			return false
		}
	}
	return true
}
