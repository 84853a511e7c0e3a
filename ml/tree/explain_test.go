package tree

import (
	"math"
	"math/bits"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// game is the expected value of a tree for a row of which only the columns in known are given: the
// coalition game of Shapley values.
func game(m *model, t *tree, at int32, known uint, of []int, bin func(c int) int, output int) float64 {
	n := &t.nodes[at]
	if n.col == leaf {
		return t.values[int(at)*m.width()+output]
	}
	if known>>of[n.col]&1 != 0 {
		if n.set.has(bin(int(n.col))) {
			return game(m, t, n.left, known, of, bin, output)
		}
		return game(m, t, n.left+1, known, of, bin, output)
	}
	l, r := t.nodes[n.left].cover, t.nodes[n.left+1].cover
	return (l*game(m, t, n.left, known, of, bin, output) + r*game(m, t, n.left+1, known, of, bin, output)) / (l + r)
}

// TestExplanationsAreShapleyValues compares with the definition, a sum over all subsets of columns,
// and checks that baseline and contributions add up to the prediction.
func TestExplanationsAreShapleyValues(t *testing.T) {
	for _, c := range []struct {
		forest  bool
		classes int
	}{{false, 0}, {false, 2}, {false, 3}, {true, 0}, {true, 2}, {true, 3}} {
		f, options := boosted, []any{"n_estimators", 4, "max_depth", 5}
		if c.forest {
			f = forest
		}
		d := someRows(30, 600, 4, []int{5}, c.classes)
		got, err := familytest.Train(t, f, d, familytest.Spread{Nodes: 1, Threads: 1}, options...)
		if err != nil {
			t.Fatal(err)
		}
		m := got.Predictor.(*model)
		b := d.All(false)
		s := m.Score(b)
		e := m.Explain(b, s)
		names, of := m.players()
		ch := m.flat.pool.Get().(*chunk)
		ch.fill(ch.rows, chunkRows, b, 0, 20)
		for i := range 20 {
			bin := func(c int) int { return ch.bin(c, i) }
			class := 0
			if m.outputs > 1 {
				class = s.Class(i)
			}
			value := func(known uint) float64 {
				sum := 0.0
				for k := range m.trees {
					switch {
					case m.forest:
						sum += game(m, &m.trees[k], 0, known, of, bin, class) / float64(len(m.trees))
					case k%m.outputs == class:
						sum += game(m, &m.trees[k], 0, known, of, bin, 0)
					}
				}
				return sum
			}
			n := len(names)
			for p := range names {
				want := 0.0
				for sub := range uint(1) << n {
					if sub>>p&1 != 0 {
						continue
					}
					k := bits.OnesCount(sub)
					weight := math.Gamma(float64(k+1)) * math.Gamma(float64(n-k)) / math.Gamma(float64(n+1))
					want += weight * (value(sub|1<<p) - value(sub))
				}
				if math.Abs(e.Parts[p][i]-want) > 1e-9 {
					t.Fatalf("%+v: row %d, %s: %v, the sum over subsets gives %v", c, i, names[p], e.Parts[p][i], want)
				}
			}
			sum := e.Baseline[i]
			for p := range names {
				sum += e.Parts[p][i]
			}
			if math.Abs(sum-e.Prediction[i]) > 1e-9 {
				t.Fatalf("%+v: row %d: baseline and parts are %v, the prediction %v", c, i, sum, e.Prediction[i])
			}
		}
	}
}

func TestImportanceFindsWhatMatters(t *testing.T) {
	d := someRows(31, 1000, 2, nil, 0)
	for i := range d.Y {
		d.Y[i] = d.X[i][1]
	}
	got, err := familytest.Train(t, boosted, d, familytest.Spread{Nodes: 1, Threads: 1}, "n_estimators", 3)
	if err != nil {
		t.Fatal(err)
	}
	rows, ok := got.Predictor.(*model).Describe("feature_importance")
	if !ok || len(rows) != 2 || rows[0][0] != "x1" || rows[0][1].(float64) < 3 || rows[0][2].(float64) <= 0 || rows[0][3].(float64) <= 0 {
		t.Errorf("importance: %v", rows)
	}
	if _, ok := got.Predictor.(*model).Describe("weights"); ok {
		t.Error("trees have no weights")
	}
}
