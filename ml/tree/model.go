package tree

import (
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
)

// model is the trained trees. Bins of the training that no split distinguishes
// are merged.
type model struct {
	*bins
	forest  bool
	classes int
	outputs int
	base    []float64
	trees   []tree   // by level, children beside each other; leaves alone have values
	names   []string // of columns
	fitted  *feature.Fitted
	meaning
	flat *flat
}

// newModel makes the model of trees over a training's bins.
func newModel(p *problem, b *bins, base []float64, trees []tree) *model {
	m := &model{bins: &bins{cols: make([]column, len(b.cols))}, forest: p.forest, classes: p.classes, outputs: p.outputs, base: base, names: p.names, fitted: p.fitted, meaning: p.meaning}
	used := make([][]bool, len(b.cols)) // bounds that a split uses; the last for "all values"
	for i := range trees {
		for _, n := range trees[i].nodes {
			if n.col != leaf && used[n.col] == nil {
				used[n.col] = make([]bool, b.cols[n.col].n+1)
			}
			if n.col != leaf && n.thr >= 0 {
				used[n.col][n.thr] = true
			}
		}
	}
	to := make([][]int32, len(b.cols)) // the new number of a bound
	for j := range b.cols {
		c, n := &b.cols[j], &m.cols[j]
		n.category, n.first, n.code = c.category, c.first, c.code
		if used[j] == nil {
			continue
		}
		n.missing = true
		if c.category {
			n.bin, n.n = c.bin, c.n
			continue
		}
		to[j] = make([]int32, c.n+1)
		for i, x := range c.bounds {
			if to[j][i] = int32(len(n.bounds)); used[j][i] {
				n.bounds = append(n.bounds, x)
			}
		}
		n.n = len(n.bounds) + 1
		to[j][c.n-1] = int32(n.n - 1)
	}
	m.place()
	for i := range trees {
		t := tree{nodes: slices.Clone(trees[i].nodes), values: slices.Clone(trees[i].values)}
		for k := range t.nodes {
			n := &t.nodes[k]
			switch {
			case n.col == leaf:
				continue
			case n.thr >= 0:
				miss := n.missLeft(&b.cols[n.col])
				n.thr = to[n.col][n.thr]
				n.set = numberSet(&m.cols[n.col], int(n.thr), miss)
			}
			clear(t.values[k*m.width() : (k+1)*m.width()])
		}
		m.trees = append(m.trees, t)
	}
	m.flat = newFlat(m)
	return m
}

// width is the number of values of a leaf: 1, which is added to a score, or the
// share of each class.
func (m *model) width() int {
	if m.forest {
		return m.outputs
	}
	return 1
}

// Encode implements family.Predictor.
func (m *model) Encode(e *canon.E) {
	m.bins.encode(e)
	e.F64s(m.base)
	e.U32(uint32(len(m.trees)))
	w := m.width()
	for i := range m.trees {
		t := &m.trees[i]
		e.U32(uint32(len(t.nodes)))
		for k := range t.nodes {
			n := &t.nodes[k]
			e.U32(uint32(n.col))
			e.F64(n.cover)
			if n.col == leaf {
				for _, v := range t.values[k*w : (k+1)*w] {
					e.F64(v)
				}
				continue
			}
			e.F64(n.gain)
			if c := &m.cols[n.col]; c.category {
				n.set.encode(e)
			} else {
				e.U8(uint8(n.thr))
				e.Bool(n.missLeft(c))
			}
		}
	}
	m.meaning.encode(e)
}

// decodeModel reads what Encode wrote.
func decodeModel(f *feature.Fitted, forest bool, d *canon.D) (*model, error) {
	const what = "a model of trees"
	m := &model{bins: decodeBins(d), forest: forest, classes: len(f.Keys), outputs: 1, base: d.F64s(), fitted: f}
	if m.classes > 2 {
		m.outputs = m.classes
	} else if !forest && m.classes == 0 {
		m.outputs = max(1, len(m.base)) // several quantiles, which come last
	}
	for _, s := range f.Slots()[:f.Dense] {
		m.names = append(m.names, s.Column)
	}
	m.names = append(m.names, codeNames(f)...)
	if !m.belongs(f) || len(m.base) != m.outputs {
		d.Fail()
	}
	w := m.width()
	for range d.Count(16) {
		var t tree
		children := 1
		for range d.Count(12) {
			n := node{col: int32(d.U32()), cover: d.F64(), thr: -1}
			value := make([]float64, w)
			switch {
			case n.col == leaf:
				for i := range value {
					value[i] = d.F64()
				}
			case n.col < 0 || int(n.col) >= len(m.cols) || m.cols[n.col].stride == 0:
				d.Fail()
			default:
				c := &m.cols[n.col]
				n.gain, n.left = d.F64(), int32(children)
				children += 2
				if c.category {
					n.set = decodeSet(d)
				} else if n.thr = int32(d.U8()); int(n.thr) >= c.n {
					d.Fail()
				} else {
					n.set = numberSet(c, int(n.thr), d.Bool())
				}
			}
			if !d.OK() {
				break
			}
			t.nodes, t.values = append(t.nodes, n), append(t.values, value...)
		}
		if children != len(t.nodes) || !t.fits() {
			d.Fail()
			break
		}
		m.trees = append(m.trees, t)
	}
	m.meaning = decodeMeaning(d, f.Dense)
	if !forest && len(m.trees)%m.outputs != 0 || m.classes <= 2 && m.outputs != max(1, len(m.taus)) {
		d.Fail()
	}
	if !d.OK() {
		return nil, d.Done(what)
	}
	m.flat = newFlat(m)
	return m, nil
}

// belongs reports whether the bins are of the encoders' columns.
func (m *model) belongs(f *feature.Fitted) bool {
	slots := f.CodeSlots()
	if len(m.cols) != f.Dense+len(slots) {
		return false
	}
	first := int32(0)
	for j := range m.cols {
		c := &m.cols[j]
		for i, x := range c.bounds {
			if x-x != 0 || i > 0 && !(x > c.bounds[i-1]) {
				return false
			}
		}
		if j < f.Dense {
			if c.category {
				return false
			}
			continue
		}
		k := j - f.Dense
		if !c.category || c.code != k || c.first != first || len(c.bin) > slots[k] {
			return false
		}
		first += int32(slots[k])
	}
	return true
}

// Bytes implements family.Predictor.
func (m *model) Bytes() int64 {
	n := int64(len(m.cols)) * 256
	for j := range m.cols {
		n += int64(24*len(m.cols[j].bounds) + len(m.cols[j].bin))
	}
	for i := range m.trees {
		n += int64(len(m.trees[i].nodes)) * int64(64+56+16*m.width())
	}
	return n
}
