package tree

import (
	"slices"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// A training that goes on from a model (warm_start) keeps the bounds that its trees split at among
// its bins, so that old and new trees are of the same bins: scores are what workers without state
// make of the trees so far, and the model has all of them.

// startFrom returns the model to go on from, nil for none.
func startFrom(p *problem, start family.Predictor, pos int) (*model, error) {
	m, ok := start.(*model)
	if !ok {
		return nil, nil
	}
	if m.forest || m.classes != p.classes || !m.meaning.same(p.meaning) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "a training cannot go on from a model of another objective, or another offset").At(pos).
			WithHint("Give the options that it was trained with, or leave warm_start out.")
	}
	return m, nil
}

func (m meaning) same(o meaning) bool {
	return m.log == o.log && m.offset == o.offset && slices.Equal(m.taus, o.taus)
}

// keepBounds returns bounds with all of those before, at most most in all: as many of the new ones as there is
// room for.
func keepBounds(before, bounds []float64, most int) []float64 {
	bounds = slices.DeleteFunc(slices.Clone(bounds), func(x float64) bool { _, ok := slices.BinarySearch(before, x); return ok })
	if room := max(most-len(before), 0); len(bounds) > room {
		thin := make([]float64, room)
		for i := range thin {
			thin[i] = bounds[(2*i+1)*len(bounds)/(2*room)]
		}
		bounds = thin
	}
	out := slices.Concat(before, bounds)
	slices.Sort(out)
	return out
}

// from changes new bins so that a model's trees can be of them.
func (b *bins) from(m *model, maxBin int) {
	for j := range b.cols {
		c, old := &b.cols[j], &m.cols[j]
		switch {
		case c.category && old.bin != nil:
			c.bin, c.n = old.bin, old.n
		case !c.category && old.bounds != nil:
			c.bounds = keepBounds(old.bounds, c.bounds, max(maxBin, len(old.bounds)+1)-1)
			c.n = len(c.bounds) + 1
		case !c.category && old.stride > 0: // splits by whether there is a value
			c.missing, c.n = true, max(c.n, 1)
		}
	}
	b.place()
}

// treesIn returns a model's trees in bins that keep its bounds.
func (m *model) treesIn(b *bins) []tree {
	var out []tree
	for i := range m.trees {
		t := tree{nodes: slices.Clone(m.trees[i].nodes), values: slices.Clone(m.trees[i].values)}
		for k := range t.nodes {
			n := &t.nodes[k]
			if n.col == leaf || n.thr < 0 {
				continue
			}
			c, old, miss := &b.cols[n.col], &m.cols[n.col], n.missLeft(&m.cols[n.col])
			if at := int(n.thr); at < len(old.bounds) {
				i, _ := slices.BinarySearch(c.bounds, old.bounds[at])
				n.thr = int32(i)
			} else {
				n.thr = int32(c.n - 1) // all values go left
			}
			n.set = numberSet(c, int(n.thr), miss)
		}
		out = append(out, t)
	}
	return out
}
