package tree

import (
	"math"

	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Shape implements family.Described.
func (m *model) Shape() (shape.Shape, error) {
	s := &shape.Trees{Outputs: m.outputs, Width: m.width(), Base: make([]float64, m.outputs), Mean: m.forest}
	switch {
	case m.taus != nil:
		return nil, pgerr.Unsupported("trees of several quantiles can be written in the format json only")
	case m.offset > 0:
		return nil, pgerr.Unsupported("trees with an offset can be written in the format json only")
	case m.log:
		s.Link = shape.Exp
	case m.classes == 0:
	case m.forest:
		s.Link = shape.Share
	case m.classes == 2:
		s.Link = shape.Logistic
	default:
		s.Link = shape.Softmax
	}
	if !m.forest {
		copy(s.Base, m.base)
	}
	slots := m.fitted.CodeSlots()
	for i := range m.trees {
		t := &m.trees[i]
		out := shape.Tree{Nodes: make([]shape.Node, len(t.nodes)), Values: t.values}
		if !m.forest {
			out.Output = i % m.outputs
		}
		for k := range t.nodes {
			n := &t.nodes[k]
			o := &out.Nodes[k]
			o.Feature, o.Cover = n.col, n.cover
			if n.col == leaf {
				continue
			}
			c := &m.cols[n.col]
			o.Gain, o.Left, o.Right, o.MissLeft = n.gain, n.left, n.left+1, n.missLeft(c)
			if !c.category {
				if int(n.thr) < len(c.bounds) {
					o.Threshold = c.bounds[n.thr]
				} else { // all that is not missing goes left
					o.Threshold = math.MaxFloat64
				}
				continue
			}
			o.Set = make([]uint64, (slots[c.code]+63)/64)
			for slot := range slots[c.code] {
				if left := slot < len(c.bin) && n.set.has(int(c.bin[slot])) || slot >= len(c.bin) && o.MissLeft; left {
					o.Set[slot>>6] |= 1 << (slot & 63)
				}
			}
		}
		s.Trees = append(s.Trees, out)
	}
	return s, nil
}
