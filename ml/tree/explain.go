package tree

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/types"
)

// players returns the distinct input columns, and for each column of the trees
// the index of its input column.
func (m *model) players() (names []string, of []int) {
	for i, n := range m.names {
		if i == m.offset-1 { // no feature, and no split is by it
			of = append(of, 0)
			continue
		}
		k := slices.Index(names, n)
		if k < 0 {
			k = len(names)
			names = append(names, n)
		}
		of = append(of, k)
	}
	return names, of
}

// Describe implements family.Describer: of each input column how often it
// splits, and the means of these splits' gain and of the weight of the rows
// they divide (XGBoost's and BigQuery ML's gain and cover), the greatest gain
// first.
func (m *model) Describe(relation string) ([][]types.Datum, bool) {
	if relation != "feature_importance" {
		return nil, false
	}
	names, of := m.players()
	count, gain, cover := make([]float64, len(names)), make([]float64, len(names)), make([]float64, len(names))
	for i := range m.trees {
		for _, n := range m.trees[i].nodes {
			if n.col != leaf {
				k := of[n.col]
				count[k]++
				gain[k] += n.gain
				cover[k] += n.cover
			}
		}
	}
	var rows [][]types.Datum
	for k, n := range names {
		by := max(count[k], 1)
		rows = append(rows, []types.Datum{n, count[k], gain[k] / by, cover[k] / by})
	}
	slices.SortStableFunc(rows, func(a, b []types.Datum) int { return cmp.Compare(b[2].(float64), a[2].(float64)) })
	return rows, true
}

// Explain implements family.Explainer by TreeSHAP (Lundberg et al., "From local
// explanations to global understanding with explainable AI for trees", 2020,
// algorithm 2): the Shapley values of the game whose value for a set of known
// columns is the tree's expected output: a split on an unknown column goes both
// ways, weighted by the training rows that went each way. The baseline is the
// value of no columns. For a forest of classes the probability is explained, not
// the log-odds.
func (m *model) Explain(b *block.Block, s *family.Scores) *family.Explanation {
	names, of := m.players()
	z := m.margins(b)
	e := &family.Explanation{Baseline: make([]float64, b.Rows), Prediction: make([]float64, b.Rows), Features: names, Parts: make([][]float64, len(names))}
	for k := range e.Parts {
		e.Parts[k] = make([]float64, b.Rows)
	}
	means := make([]float64, m.outputs) // of each output over the rows of training
	each, share := 1, 1.0               // the distance between trees of one output
	if !m.forest {
		copy(means, m.base)
		each = m.outputs
	} else {
		share = 1 / float64(len(m.trees))
	}
	for i := range m.trees {
		for k, v := range m.trees[i].mean(m.width()) {
			means[i%each+k] += v * share
		}
	}
	c := m.flat.pool.Get().(*chunk)
	defer m.flat.pool.Put(c)
	g := newShap(m, of, len(names))
	for from := 0; from < b.Rows; from += chunkRows {
		n := min(chunkRows, b.Rows-from)
		c.fill(c.rows, chunkRows, b, from, from+n)
		g.chunk = c
		for g.row = range n {
			i, k := from+g.row, m.middle()
			if m.classes > 2 {
				k = s.Class(i)
			}
			g.explain(k, each)
			e.Baseline[i], e.Prediction[i] = means[k], z[k][i]
			if m.offset > 0 {
				e.Baseline[i] += b.Value(i, m.offset-1)
			}
			for f, v := range g.phi {
				e.Parts[f][i] = v * share
			}
		}
	}
	return e
}

// mean is the mean of a tree's values over the rows it was grown on.
func (t *tree) mean(width int) []float64 {
	share := make([]float64, len(t.nodes))
	out := make([]float64, width)
	share[0] = 1
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.col == leaf {
			for k := range out {
				out[k] += share[i] * t.values[i*width+k]
			}
			continue
		}
		for c := n.left; c <= n.left+1; c++ {
			share[c] = share[i] * t.share(n, c)
		}
	}
	return out
}

// share is the part of a node's rows that went to a child.
func (t *tree) share(n *node, child int32) float64 {
	a, b := t.nodes[n.left].cover, t.nodes[n.left+1].cover
	if !(a+b > 0) {
		return 0.5
	}
	return t.nodes[child].cover / (a + b)
}

// shap explains rows of a chunk.
type shap struct {
	m      *model
	of     []int
	t      *tree
	output int // of a leaf's values
	chunk  *chunk
	row    int
	phi    []float64 // by player
	paths  []shape.Met
	// fixed is the player that is in all sets, where with is true, or in none; -1 for none.
	fixed int
	with  bool
}

func newShap(m *model, of []int, players int) *shap {
	return &shap{m: m, of: of, phi: make([]float64, players), paths: make([]shape.Met, 0, 64), fixed: -1}
}

// explain sets phi to the sums over the trees of an output, each of which are so far apart.
func (g *shap) explain(output, each int) {
	clear(g.phi)
	for t := range g.m.trees {
		switch {
		case g.m.forest:
			g.output = output
		case t%each != output:
			continue
		}
		g.t = &g.m.trees[t]
		g.walk(0, shape.Extend(g.paths[:0], shape.Met{Player: -1, Zero: 1, One: 1}), 1)
	}
}

// walk is RECURSE: it visits all leaves below a node. share is that of the rows that are there, if the player that is
// fixed is in no set.
func (g *shap) walk(at int32, path []shape.Met, share float64) {
	n := &g.t.nodes[at]
	if n.col == leaf {
		w := g.m.width()
		v := g.t.values[int(at)*w+g.output] * share
		for i := 1; i < len(path); i++ {
			g.phi[path[i].Player] += shape.Unwound(path, i) * (path[i].One - path[i].Zero) * v
		}
		return
	}
	hot, cold := n.left, n.left+1
	if !n.set.has(g.chunk.bin(int(n.col), g.row)) {
		hot, cold = cold, hot
	}
	if g.of[n.col] == g.fixed {
		if g.with {
			g.walk(hot, path, share)
			return
		}
		for _, child := range [2]int32{hot, cold} {
			g.walk(child, append([]shape.Met(nil), path...), share*g.t.share(n, child))
		}
		return
	}
	next := shape.Met{Player: g.of[n.col], Zero: 1, One: 1}
	for i := 1; i < len(path); i++ {
		if path[i].Player == next.Player {
			next = path[i]
			path = shape.Unwind(path, i)
			break
		}
	}
	zero, one := next.Zero, next.One
	for _, child := range [2]int32{hot, cold} {
		next.Zero, next.One = zero*g.t.share(n, child), one
		if child == cold {
			next.One = 0
		}
		g.walk(child, shape.Extend(append([]shape.Met(nil), path...), next), share)
	}
}

// Interact implements family.Interactor by the same algorithm (section 3.3 of the paper): what two columns do together is
// half of what the first contributes where the second is known, less what it does where that is not.
func (m *model) Interact(b *block.Block, s *family.Scores, put func(row int, features []string, values []float64) error) error {
	names, of := m.players()
	each, share := 1, 1.0
	if !m.forest {
		each = m.outputs
	} else {
		share = 1 / float64(len(m.trees))
	}
	c := m.flat.pool.Get().(*chunk)
	defer m.flat.pool.Put(c)
	n := len(names)
	g, values := newShap(m, of, n), make([]float64, n*n)
	g.chunk = c
	for from := 0; from < b.Rows; from += chunkRows {
		rows := min(chunkRows, b.Rows-from)
		c.fill(c.rows, chunkRows, b, from, from+rows)
		for g.row = range rows {
			i, k := from+g.row, m.middle()
			if m.classes > 2 {
				k = s.Class(i)
			}
			clear(values)
			g.fixed = -1
			g.explain(k, each)
			for j, v := range g.phi {
				values[j*n+j] = v * share
			}
			for g.fixed = range n {
				for _, g.with = range []bool{true, false} {
					g.explain(k, each)
					half := 0.5 * share
					if !g.with {
						half = -half
					}
					for j, v := range g.phi {
						if j != g.fixed {
							values[g.fixed*n+j] += v * half
						}
					}
				}
				for j := range n {
					if j != g.fixed {
						values[g.fixed*n+g.fixed] -= values[g.fixed*n+j]
					}
				}
			}
			if err := put(i, names, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// Interfaces.
var (
	_ family.Predictor  = (*model)(nil)
	_ family.Describer  = (*model)(nil)
	_ family.Explainer  = (*model)(nil)
	_ family.Interactor = (*model)(nil)
)
