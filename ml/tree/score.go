package tree

import (
	"sync"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/objective"
)

// flat is a model in the layout for scoring: chunkRows rows are binned, then evaluated
// tree by tree, so that a tree stays in the first-level cache. A leaf is its own child
// and every row takes as many steps as the tree is deep: no branch depends on data, and
// the evaluation of several rows overlaps.
type flat struct {
	nodes  []flatNode
	trees  []flatTree
	values []float64
	pool   sync.Pool // of chunks
}

type flatNode struct {
	right set    // bins that go to the right
	bins  uint32 // where the column's bins begin
	left  uint32 // the left child, in bytes from the first node
	value uint32 // offset of a leaf's values
	_     [5]uint32
}

// nodeBytes is the size of a node: a cache line.
const nodeBytes = uint32(unsafe.Sizeof(flatNode{}))

type flatTree struct{ root, depth int }

// chunkRows is how many rows are scored at a time.
const chunkRows = 512

// chunk is the scratch space of one goroutine.
type chunk struct {
	*binner
	rows []uint8 // bins, column by column
}

// bin returns a row's bin of a column.
func (c *chunk) bin(col, row int) int {
	return int(c.rows[chunkRows*(c.cols[col].before+c.cols[col].k)+row])
}

func newFlat(m *model) *flat {
	f := &flat{}
	w, nodes := m.width(), 0
	for i := range m.trees {
		nodes += len(m.trees[i].nodes)
	}
	f.nodes = make([]flatNode, 0, nodes)
	for i := range m.trees {
		t := &m.trees[i]
		root := len(f.nodes)
		depth := make([]int, len(t.nodes))
		ft := flatTree{root: root}
		for k := range t.nodes {
			n := &t.nodes[k]
			fn := flatNode{left: nodeBytes * (uint32(root) + uint32(n.left))}
			if n.col == leaf {
				fn.left = nodeBytes * uint32(root+k)
				fn.value = uint32(len(f.values))
				f.values = append(f.values, t.values[k*w:(k+1)*w]...)
			} else {
				for w := range fn.right {
					fn.right[w] = ^n.set[w]
				}
				c := &m.cols[n.col]
				fn.bins = uint32(chunkRows * (c.before + c.k))
				depth[n.left], depth[n.left+1] = depth[k]+1, depth[k]+1
				ft.depth = max(ft.depth, depth[k]+1)
			}
			f.nodes = append(f.nodes, fn)
		}
		f.trees = append(f.trees, ft)
	}
	f.pool.New = func() any {
		c := &chunk{newBinner(m.bins), make([]uint8, max(1, chunkRows*len(m.order)))}
		c.byColumns = true
		return c
	}
	return f
}

// step returns the node after one for a row, the l-th of those whose bins are at b.
// Nodes are at base; decodeModel has checked that all of this exists.
func step(base unsafe.Pointer, at uint32, b unsafe.Pointer, l uintptr) uint32 {
	n := (*flatNode)(unsafe.Add(base, at))
	v := *(*uint8)(unsafe.Add(b, uintptr(n.bins)+l))
	word := *(*uint64)(unsafe.Add(unsafe.Pointer(n), v>>6*8))
	return n.left + uint32(word>>(v&63))&1*nodeBytes
}

// walk adds the values of a tree to the scores of rows 0 … n-1 of a chunk.
func (f *flat) walk(t flatTree, bins []uint8, n int, scores [][]float64) {
	base, first := unsafe.Pointer(&f.nodes[0]), unsafe.Pointer(unsafe.SliceData(bins))
	root := nodeBytes * uint32(t.root)
	for from := 0; from < n; from += 8 {
		b := unsafe.Add(first, from)
		a0, a1, a2, a3, a4, a5, a6, a7 := root, root, root, root, root, root, root, root
		for range t.depth {
			a0, a1, a2, a3 = step(base, a0, b, 0), step(base, a1, b, 1), step(base, a2, b, 2), step(base, a3, b, 3)
			a4, a5, a6, a7 = step(base, a4, b, 4), step(base, a5, b, 5), step(base, a6, b, 6), step(base, a7, b, 7)
		}
		at := [8]uint32{a0 / nodeBytes, a1 / nodeBytes, a2 / nodeBytes, a3 / nodeBytes, a4 / nodeBytes, a5 / nodeBytes, a6 / nodeBytes, a7 / nodeBytes}
		rows := min(len(at), n-from)
		if len(scores) == 1 {
			s := scores[0][from : from+rows]
			for l := range s {
				s[l] += f.values[f.nodes[at[l]].value]
			}
			continue
		}
		for l := range rows {
			v := f.values[f.nodes[at[l]].value:]
			for k, s := range scores {
				s[from+l] += v[k]
			}
		}
	}
}

// margins returns the scores of a block's rows, output by output.
func (m *model) margins(b *block.Block) [][]float64 {
	out := make([][]float64, m.outputs)
	for k := range out {
		out[k] = make([]float64, b.Rows, b.Padded())
		for i := range out[k] {
			if !m.forest {
				out[k][i] = m.base[k]
				if m.offset > 0 {
					out[k][i] += b.Value(i, m.offset-1)
				}
			}
		}
	}
	c := m.flat.pool.Get().(*chunk)
	defer m.flat.pool.Put(c)
	part := make([][]float64, m.outputs)
	for from := 0; from < b.Rows; from += chunkRows {
		n := min(chunkRows, b.Rows-from)
		c.fill(c.rows, chunkRows, b, from, from+n)
		for k := range part {
			part[k] = out[k][from : from+n]
		}
		for i, t := range m.flat.trees {
			if m.forest {
				m.flat.walk(t, c.rows, n, part)
			} else {
				k := i % m.outputs
				m.flat.walk(t, c.rows, n, part[k:k+1])
			}
		}
	}
	if m.forest {
		for _, s := range out {
			for i := range s {
				s[i] /= float64(len(m.trees))
			}
		}
	}
	return out
}

// Score implements family.Predictor.
func (m *model) Score(b *block.Block) *family.Scores {
	z := m.margins(b)
	if !m.forest || m.classes == 0 {
		return m.link(z, b.Rows, m.classes)
	}
	s := &family.Scores{Rows: b.Rows, Probs: z}
	if m.classes == 2 {
		s.Probs = [][]float64{nil, z[0]}
	}
	return s
}

func sigmoid(z []float64) { objective.Logistic{}.Link(z, len(z)) }

// softmax replaces margins by probabilities, row by row.
func softmax(z [][]float64) {
	if len(z) == 0 {
		return
	}
	for i := range z[0] {
		top, sum := z[0][i], 0.0
		for k := range z {
			top = max(top, z[k][i])
		}
		for k := range z {
			z[k][i] = f64.Exp1(z[k][i] - top)
			sum += z[k][i]
		}
		for k := range z {
			z[k][i] /= sum
		}
	}
}
