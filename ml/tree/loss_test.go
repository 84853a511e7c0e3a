package tree

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/types"
)

func floats(v ...float64) types.Array {
	var a types.Array
	for _, x := range v {
		a.Elems = append(a.Elems, x)
	}
	return a
}

// amounts are rows whose targets are not negative, some of them 0 where zeros is true.
func amounts(seed uint64, n int, zeros bool) *familytest.Data {
	d := someRows(seed, n, 4, []int{5}, 0)
	for i, y := range d.Y {
		if d.Y[i] = math.Exp(y / 2); zeros {
			d.Y[i] = math.Floor(d.Y[i])
		}
	}
	return d
}

// objectives are trainings of every loss.
var objectives = map[string]struct {
	zeros   bool
	options []any
}{
	"absolute":     {false, []any{"objective", "absolute_error", "n_estimators", 4, "max_leaves", 9}},
	"quantile":     {false, []any{"objective", "quantile", "quantile_alpha", 0.8, "n_estimators", 4, "max_depth", 4}},
	"quantiles":    {false, []any{"objective", "quantile", "quantile_alpha", floats(0.1, 0.5, 0.9), "n_estimators", 3, "subsample", 0.6, "max_depth", 7}},
	"huber":        {false, []any{"objective", "huber", "huber_delta", 0.7, "n_estimators", 4}},
	"poisson":      {true, []any{"objective", "count:poisson", "n_estimators", 4}},
	"gamma":        {false, []any{"objective", "gamma", "n_estimators", 4, "max_leaves", 7}},
	"tweedie":      {true, []any{"objective", "tweedie", "tweedie_variance_power", 1.3, "n_estimators", 4, "subsample", 0.5}},
	"early":        {true, []any{"objective", "poisson", "learn_rate", 0.8, "n_estimators", 60, "early_stopping_rounds", 2}},
	"early median": {false, []any{"objective", "absolute_error", "learn_rate", 0.9, "n_estimators", 60, "early_stopping_rounds", 2}},
}

// TestObjectivesAreTheSameModel: of each loss, on any nodes, from any checkpoint, in any order.
func TestObjectivesAreTheSameModel(t *testing.T) {
	for name, c := range objectives {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 3))
			d := weigh(holdOut(amounts(21, 900, c.zeros), 5), func(int) float64 { return float64(r.IntN(9)) / 4 })
			familytest.Same(t, boosted, d, c.options...)
		})
	}
}

// TestObjectivesCountWeightsAsCopies: weight 2 is the row twice.
func TestObjectivesCountWeightsAsCopies(t *testing.T) {
	for name, c := range objectives {
		d := holdOut(amounts(22, 500, c.zeros), 5)
		heavy, copied := *d, *d
		heavy.W = make([]float64, len(d.Y))
		for i := range d.Y {
			heavy.W[i] = float64(1 + i%3)
			for range i % 3 {
				copied.X, copied.Code, copied.Y, copied.Held = append(copied.X, d.X[i]), append(copied.Code, d.Code[i]), append(copied.Y, d.Y[i]), append(copied.Held, d.Held[i])
			}
		}
		a, err := familytest.Train(t, boosted, &heavy, one, c.options...)
		if err != nil {
			t.Fatal(err)
		}
		b, err := familytest.Train(t, boosted, &copied, familytest.Spread{Nodes: 2, Threads: 1, Shuffle: 4}, c.options...)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes, b.Bytes) {
			t.Errorf("%s: other models", name)
		}
	}
}

// TestLossOfObjectives: the losses that a training says are those of its model's predictions, on
// training rows and on those held out; more trees lower the former.
func TestLossOfObjectives(t *testing.T) {
	pinball := func(tau, y, v float64) float64 { return max(tau*(y-v), (tau-1)*(y-v)) }
	for name, c := range objectives {
		if name == "early" || name == "early median" {
			continue
		}
		of := map[string]func(y, v float64) float64{
			"absolute": func(y, v float64) float64 { return math.Abs(y - v) },
			"quantile": func(y, v float64) float64 { return pinball(0.8, y, v) },
			"huber": func(y, v float64) float64 {
				if e := math.Abs(y - v); e > 0.7 {
					return 0.7 * (e - 0.35)
				}
				return (y - v) * (y - v) / 2
			},
			"poisson": func(y, v float64) float64 {
				if y == 0 {
					return v
				}
				return y*math.Log(y/v) - y + v
			},
			"gamma": func(y, v float64) float64 { return y/v - 1 - math.Log(y/v) },
			"tweedie": func(y, v float64) float64 {
				return math.Pow(y, 0.7)/(-0.3*0.7) - y*math.Pow(v, -0.3)/-0.3 + math.Pow(v, 0.7)/0.7
			},
		}[name]
		drv, w, blocks := run(t, boosted, holdOut(amounts(23, 800, c.zeros), 4), c.options...)
		w.Close()
		p, err := drv.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		for k, got := range []float64{drv.State().TrainLoss, drv.State().ValidationLoss} {
			want, constant, mean := 0.0, 0.0, 0.0
			s := p.Score(blocks[k])
			for _, y := range blocks[k].Y[:blocks[k].Rows] {
				mean += y / float64(blocks[k].Rows)
			}
			for i, v := range s.Value {
				y, n := blocks[k].Y[i], float64(blocks[k].Rows)
				if name == "quantiles" {
					for q, tau := range []float64{0.1, 0.5, 0.9} {
						want += pinball(tau, y, s.Extra[q][i]) / 3 / n
					}
					continue
				}
				want, constant = want+of(y, v)/n, constant+of(y, mean)/n
			}
			if math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s: loss %v of rows %d, the predictions have %v", name, got, k, want)
			}
			if constant > 0 && k == 0 && !(got < constant) {
				t.Errorf("%s: the loss %v is not below that of the mean, %v", name, got, constant)
			}
		}
	}
}

// TestLeavesAreQuantiles: a leaf is the rate times the weighted quantile of the residuals that the
// trees before leave, the lowest whose weight with that of lower ones reaches it.
func TestLeavesAreQuantiles(t *testing.T) {
	const tau, rate = 0.7, 0.3
	d := weigh(amounts(24, 700, false), func(i int) float64 { return float64(1+i%5) / 2 })
	drv, w, blocks := run(t, boosted, d, "objective", "quantile", "quantile_alpha", tau, "learn_rate", rate, "n_estimators", 3, "max_depth", 3)
	defer w.Close()
	b := blocks[0]
	type item struct{ residual, weight float64 }
	quantile := func(list []item) float64 {
		slices.SortFunc(list, func(a, b item) int { return cmp.Compare(a.residual, b.residual) })
		all, sum := 0.0, 0.0
		for _, it := range list {
			all += it.weight
		}
		for _, it := range list {
			if sum += it.weight; sum >= tau*all {
				return it.residual
			}
		}
		return math.NaN()
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-8*math.Abs(b) }
	scores := make([]float64, b.Rows)
	var labels []item
	for i := range scores {
		labels = append(labels, item{b.Y[i], b.W[i]})
	}
	if want := quantile(labels); !near(drv.base[0], want) {
		t.Fatalf("trees begin at %v, the quantile of the labels is %v", drv.base[0], want)
	}
	for i := range scores {
		scores[i] = drv.base[0]
	}
	k := w.blocks[place{0, false}]
	for n := range drv.trees {
		h := newHops(drv.g.bins, &drv.trees[n], k.n)
		leaves := map[int32][]item{}
		for i := range scores {
			at := h.walk(k.bins, i, 0)
			leaves[at] = append(leaves[at], item{b.Y[i] - scores[i], b.W[i]})
		}
		for at, list := range leaves {
			if want := rate * quantile(list); !near(h.values[at], want) {
				t.Errorf("tree %d: leaf %d is %v, the quantile %v", n, at, h.values[at], want)
			}
		}
		for i := range scores {
			scores[i] += h.values[h.walk(k.bins, i, 0)]
		}
	}
}

// TestObjectivesRefuse: options and targets that do not fit a loss.
func TestObjectivesRefuse(t *testing.T) {
	for _, c := range []struct {
		what    string
		y       float64
		options []any
	}{
		{"a quantile of squares", 1, []any{"quantile_alpha", 0.3}},
		{"quantiles that do not ascend", 1, []any{"objective", "quantile", "quantile_alpha", floats(0.5, 0.5)}},
		{"bounded quantiles", 1, []any{"objective", "quantile", "monotone_constraints", numbers(1, 0, 0, 0, 0)}},
		{"shrunk quantiles", 1, []any{"objective", "absolute_error", "l1", 1}},
		{"negative counts", -1, []any{"objective", "poisson"}},
		{"amounts of 0", 0, []any{"objective", "gamma"}},
	} {
		d := amounts(25, 100, false)
		d.Y[7] = c.y
		if _, err := familytest.Train(t, boosted, d, one, c.options...); err == nil {
			t.Errorf("%s are trained", c.what)
		}
	}
}

// TestRareLargeAmounts: rows whose gradients are millions of times those of others, as amounts
// insured have them, do not drown these.
func TestRareLargeAmounts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	d := &familytest.Data{}
	for i := range 4000 {
		x := float64(i % 2)
		y := 0.0
		if r.IntN(20) == 0 {
			y = 1 + x
		}
		if i == 1000 {
			y = 1e6
		}
		d.X, d.Y = append(d.X, []float64{x, float64(i / 1000)}), append(d.Y, y)
	}
	got, err := familytest.Train(t, boosted, d, one, "objective", "poisson", "n_estimators", 400, "max_depth", 2, "learn_rate", 0.3, "l2", 0, "min_child_weight", 0)
	if err != nil {
		t.Fatal(err)
	}
	b := d.Block([]int{2000, 2001}, false)
	v := got.Predictor.Score(b).Value
	if v[0] > 0.2 || !(v[1] > 1.2*v[0]) {
		t.Errorf("predictions %v where the means are 0.05 and 0.1", v)
	}
}
