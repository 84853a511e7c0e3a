package tree

import (
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/types"
)

var _ family.Lister = (*model)(nil)

// List implements family.Lister: the trees, a row a node. A node that splits has its feature, the greatest
// number (split) or the categories of rows that go to its child yes, and where NULL goes; a leaf has its
// value, of a forest of classes the share of each. Numbers are in the feature's own units.
func (m *model) List(relation string, part int, put func(row []types.Datum) error) (bool, error) {
	if relation != "trees" {
		return false, nil
	}
	slots := m.fitted.Slots()
	for i := range m.trees {
		if part > 0 && part != i+1 {
			continue
		}
		var class types.Datum
		switch {
		case m.taus != nil:
			class = tauText(m.taus[i%m.outputs])
		case !m.forest && m.outputs > 1:
			class = feature.KeyText(m.fitted.Label.Type, m.fitted.Keys[i%m.outputs])
		}
		t, w := &m.trees[i], m.width()
		parent := make([]types.Datum, len(t.nodes))
		for k := range t.nodes {
			n := &t.nodes[k]
			row := []types.Datum{int64(i + 1), class, int64(k + 1), parent[k]}
			if n.col == leaf {
				row = append(row, nil, nil, nil, nil, nil, nil, nil, n.cover, types.Array{Elem: types.Float8, Elems: datums(t.values[k*w : (k+1)*w])})
			} else {
				c, yes, no := &m.cols[n.col], int64(n.left+1), int64(n.left+2)
				parent[n.left], parent[n.left+1] = int64(k+1), int64(k+1)
				split, categories := m.split(n, slots)
				missing := no
				if n.missLeft(c) {
					missing = yes
				}
				row = append(row, m.names[n.col], split, categories, yes, no, missing, n.gain, n.cover, nil)
			}
			if err := put(row); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// split returns the greatest number, or the categories, of the rows that go to a node's first child. The number is
// NULL where all that are not NULL go there.
func (m *model) split(n *node, slots []feature.Slot) (number, categories types.Datum) {
	c := &m.cols[n.col]
	if !c.category {
		if int(n.thr) < len(c.bounds) {
			s := slots[n.col]
			number = c.bounds[n.thr]*s.Scale + s.Center
		}
		return number, nil
	}
	list := types.Array{Elem: types.Text, Elems: []types.Datum{}}
	for k, b := range c.bin {
		if n.set.has(int(b)) {
			list.Elems = append(list.Elems, slots[m.fitted.Dense+int(c.first)+k].Category)
		}
	}
	return nil, list
}

func datums(v []float64) []types.Datum {
	out := make([]types.Datum, len(v))
	for i, x := range v {
		out[i] = x
	}
	return out
}
