package tree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/types"
)

// exposed are counts over an exposure, whose logarithm is column x3.
func exposed(seed uint64, n int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 5))
	d := someRows(seed, n, 4, []int{5}, 0)
	for i, x := range d.X {
		x[3] = math.Round(8*r.NormFloat64()) / 4
		d.Y[i] = math.Floor(r.ExpFloat64() * math.Exp(x[3]+0.5*math.Tanh(x[0])) * 2)
	}
	return d
}

// TestColumnOptionsAreTheSameModel: offsets, columns by level and node and lists of columns, on any
// nodes and from any checkpoint.
func TestColumnOptionsAreTheSameModel(t *testing.T) {
	lists := types.Array{Elems: []types.Datum{types.Array{Elems: []types.Datum{"x0", "x1"}}, types.Array{Elems: []types.Datum{"x1", "c0"}}}}
	for name, options := range map[string][]any{
		"offset":         {"offset", "x3", "objective", "poisson"},
		"offset, gamma":  {"offset", "x3", "objective", "tweedie", "subsample", 0.7},
		"offset, median": {"offset", "x3", "objective", "absolute_error", "max_leaves", 7},
		"offset, square": {"offset", "x3"},
		"by level":       {"colsample_bylevel", 0.6, "colsample_bytree", 0.8, "max_depth", 8},
		"by node":        {"colsample_bynode", 0.5, "max_leaves", 12},
		"lists":          {"interaction_constraints", lists, "max_depth", 7},
	} {
		t.Run(name, func(t *testing.T) {
			familytest.Same(t, boosted, weigh(holdOut(exposed(31, 900), 5), func(i int) float64 { return float64(i%4) / 2 }), append(options, "n_estimators", 4)...)
		})
	}
}

// TestOffsetIsAdded: scores begin at the least loss beside the offsets, the offset is in every
// prediction and in no split, and the loss is that of the predictions.
func TestOffsetIsAdded(t *testing.T) {
	drv, w, blocks := run(t, boosted, exposed(32, 2000), "offset", "x3", "objective", "poisson", "n_estimators", 30)
	w.Close()
	p, err := drv.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	m, b := p.(*model), blocks[0]
	sumY, sumE, loss := 0.0, 0.0, 0.0
	for i, v := range m.Score(b).Value {
		y := b.Y[i]
		sumY, sumE = sumY+y, sumE+math.Exp(b.Value(i, 3))
		if loss += v - y; y > 0 {
			loss += y * math.Log(y/v)
		}
	}
	if got, want := m.base[0], math.Log(sumY/sumE); math.Abs(got-want) > 1e-9 {
		t.Errorf("scores begin at %v, the logarithm of the rate is %v", got, want)
	}
	if got, want := drv.State().TrainLoss, loss/float64(b.Rows); math.Abs(got-want) > 1e-7*want {
		t.Errorf("loss %v, the predictions have %v", got, want)
	}
	none := m.Score(with(b, 3, 0)).Value
	for i, v := range m.Score(with(b, 3, 1)).Value {
		if u := none[i]; math.Abs(v-u*math.E) > 1e-9*v {
			t.Fatalf("with an offset of 1 the prediction is %v, with 0 %v", v, u)
		}
	}
	rows, _ := m.Describe("feature_importance")
	for _, r := range rows {
		if r[0] == "x3" {
			t.Error("the offset is a feature")
		}
	}
	e := m.Explain(b, m.Score(b))
	for i := range 20 {
		sum := e.Baseline[i]
		for _, part := range e.Parts {
			sum += part[i]
		}
		if math.Abs(sum-e.Prediction[i]) > 1e-9 {
			t.Errorf("attributions of row %d add up to %v, the margin is %v", i, sum, e.Prediction[i])
		}
	}
}

// TestListsOfColumns: below a split come columns only that a list has together with all above it.
func TestListsOfColumns(t *testing.T) {
	lists := `[["x0", "x1"], [1, "c0"]]` // x2 and x3 are a list of their own
	trees := trainTrees(t, someRows(33, 3000, 4, []int{5}, 0), "interaction_constraints", lists, "n_estimators", 12, "max_depth", 6)
	may := [][]int32{{0, 1}, {1, 4}, {2, 3}}
	mixed := 0
	for i := range trees {
		var walk func(at int32, path []int32)
		walk = func(at int32, path []int32) {
			n := &trees[i].nodes[at]
			if n.col == leaf {
				return
			}
			if path = append(slices.Clone(path), n.col); !slices.ContainsFunc(may, func(list []int32) bool {
				return !slices.ContainsFunc(path, func(c int32) bool { return !slices.Contains(list, c) })
			}) {
				t.Errorf("tree %d splits by columns %v", i, path)
			}
			if slices.Contains(path, 0) && slices.Contains(path, 1) {
				mixed++
			}
			walk(n.left, path)
			walk(n.left+1, path)
		}
		walk(0, nil)
	}
	if mixed == 0 {
		t.Error("no path has two columns of a list")
	}
}

// TestColumnsByLevel: all splits of a level are by columns drawn for it.
func TestColumnsByLevel(t *testing.T) {
	trees := trainTrees(t, exposed(34, 3000), "colsample_bylevel", 0.2, "n_estimators", 12, "max_depth", 4)
	used := map[int32]bool{}
	for i := range trees {
		depth := make([]int, len(trees[i].nodes))
		level := map[int]int32{}
		for k := range trees[i].nodes {
			n := &trees[i].nodes[k]
			if n.col == leaf {
				continue
			}
			depth[n.left], depth[n.left+1] = depth[k]+1, depth[k]+1
			if c, ok := level[depth[k]]; ok && c != n.col {
				t.Errorf("tree %d, level %d: splits by columns %d and %d", i, depth[k], c, n.col)
			}
			level[depth[k]] = n.col
			used[n.col] = true
		}
	}
	if len(used) < 4 {
		t.Errorf("all splits are by columns %v", used)
	}
}

// TestWarmStart: a training that goes on from a model has its trees, and more; over the same rows its
// predictions are those of one training, but for the bounds of gradients.
func TestWarmStart(t *testing.T) {
	for name, c := range map[string]struct {
		d       *familytest.Data
		options []any
	}{
		"squares":   {exposed(41, 900), nil},
		"classes":   {holdOut(someRows(42, 900, 4, []int{300}, 2), 4), []any{"max_leaves", 9}},
		"three":     {someRows(43, 700, 4, []int{4}, 3), []any{"max_depth", 3}},
		"counts":    {holdOut(exposed(44, 900), 5), []any{"objective", "poisson", "offset", "x3"}},
		"quantiles": {exposed(45, 600), []any{"objective", "quantile", "quantile_alpha", floats(0.2, 0.6)}},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := familytest.Train(t, boosted, c.d, one, append(c.options, "n_estimators", 3)...)
			if err != nil {
				t.Fatal(err)
			}
			d := *c.d
			d.Start = first.Predictor
			got := familytest.Same(t, boosted, &d, append(c.options, "n_estimators", 4, "warm_start", true)...)
			whole, err := familytest.Train(t, boosted, c.d, one, append(c.options, "n_estimators", 7)...)
			if err != nil {
				t.Fatal(err)
			}
			m, old, all := got.Predictor.(*model), first.Predictor.(*model), whole.Predictor.(*model)
			if len(m.trees) != len(all.trees) {
				t.Fatalf("%d trees, and %d of one training", len(m.trees), len(all.trees))
			}
			for i := range old.trees {
				if !slices.Equal(leavesOf(&m.trees[i]), leavesOf(&old.trees[i])) {
					t.Errorf("tree %d is another", i)
				}
			}
			if got.State.Iteration != 7 || math.Abs(got.State.TrainLoss-whole.State.TrainLoss) > 0.02*whole.State.TrainLoss {
				t.Errorf("%d rounds have the loss %v, in one training %v", got.State.Iteration, got.State.TrainLoss, whole.State.TrainLoss)
			}
			rows := []int{}
			for i := range c.d.X {
				rows = append(rows, i)
			}
			b := c.d.Block(rows, false)
			if name == "squares" || name == "classes" {
				mine, theirs := old.margins(b), (&model{bins: m.bins, classes: m.classes, outputs: m.outputs, base: m.base, meaning: m.meaning}).sumOf(m, len(old.trees), b)
				for i := range mine[0] {
					if mine[0][i] != theirs[0][i] {
						t.Fatalf("row %d: the first trees give %v, as a model of their own %v", i, theirs[0][i], mine[0][i])
					}
				}
			}
		})
	}
}

// sumOf returns the margins of a model's first trees.
func (m *model) sumOf(of *model, trees int, b *block.Block) [][]float64 {
	m.trees = of.trees[:trees]
	m.flat = newFlat(m)
	return m.margins(b)
}

func leavesOf(t *tree) (out []float64) {
	for i := range t.nodes {
		if t.nodes[i].col == leaf {
			out = append(out, t.values[i])
		}
	}
	return out
}

// TestWarmStartRefuses: a model of another loss.
func TestWarmStartRefuses(t *testing.T) {
	d := exposed(46, 300)
	first, err := familytest.Train(t, boosted, d, one, "n_estimators", 2)
	if err != nil {
		t.Fatal(err)
	}
	other := *d
	other.Start = first.Predictor
	if _, err := familytest.Train(t, boosted, &other, one, "n_estimators", 2, "warm_start", true, "objective", "poisson"); err == nil {
		t.Error("counts go on from squares")
	}
}
