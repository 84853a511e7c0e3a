package tree

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/types"
)

// someRows makes rows of numbers, some missing and some of few values, and of categories, with a
// label that depends on them.
func someRows(seed uint64, n, dense int, cats []int, classes int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &familytest.Data{Cats: cats, Classes: classes, Seed: seed}
	for range n {
		x := make([]float64, dense)
		s := 0.0
		for j := range x {
			switch j % 4 {
			case 0:
				x[j] = r.NormFloat64()
			case 1:
				x[j] = float64(r.IntN(5))
			case 2:
				x[j] = math.Exp(2 * r.NormFloat64())
			case 3:
				if x[j] = r.Float64(); r.IntN(4) == 0 {
					x[j] = math.NaN()
					s++
				}
			}
			if x[j] == x[j] && j < 3 {
				s += math.Sin(x[j]) * float64(3-j)
			}
		}
		var c []int32
		for _, k := range cats {
			v := int32(r.IntN(k+1)) - 1
			c = append(c, v)
			s += float64((v*7)%3) / 2
		}
		y := s + 0.3*r.NormFloat64()
		if classes > 0 {
			y = float64(min(max(int(y+float64(classes)/2), 0), classes-1))
		}
		d.X, d.Code, d.Y = append(d.X, x), append(d.Code, c), append(d.Y, y)
	}
	return d
}

func holdOut(d *familytest.Data, every int) *familytest.Data {
	d.Held = make([]bool, len(d.X))
	for i := range d.Held {
		d.Held[i] = i%every == 0
	}
	return d
}

func weigh(d *familytest.Data, w func(i int) float64) *familytest.Data {
	d.W = make([]float64, len(d.X))
	for i := range d.W {
		d.W[i] = w(i)
	}
	return d
}

// TestSameModel trains on any number of nodes and threads, with rows in any order, messages encoded
// as bytes, and resumed after every step: the model is the same.
func TestSameModel(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for name, c := range map[string]struct {
		f       family.Family
		d       *familytest.Data
		options []any
	}{
		"regression":  {boosted, someRows(1, 1500, 4, []int{3, 300}, 0), []any{"n_estimators", 5}},
		"binary":      {boosted, holdOut(someRows(2, 1500, 5, []int{4}, 2), 5), []any{"n_estimators", 5, "max_depth", 4}},
		"multiclass":  {boosted, holdOut(someRows(3, 900, 4, nil, 4), 4), []any{"n_estimators", 3, "max_depth", 3}},
		"leaves":      {boosted, someRows(4, 1500, 4, []int{6}, 2), []any{"n_estimators", 4, "max_leaves", 13}},
		"sampled":     {boosted, holdOut(someRows(5, 1200, 6, []int{6}, 2), 5), []any{"n_estimators", 4, "subsample", 0.5, "colsample_bytree", 0.5}},
		"stopped":     {boosted, holdOut(someRows(6, 600, 4, nil, 2), 3), []any{"n_estimators", 60, "learning_rate", 0.9, "early_stopping_rounds", 3}},
		"weights":     {boosted, weigh(someRows(7, 1000, 4, nil, 2), func(int) float64 { return float64(r.IntN(4)) }), []any{"n_estimators", 4}},
		"any weights": {boosted, weigh(someRows(8, 1000, 4, []int{3}, 0), func(int) float64 { return 3 * r.Float64() }), []any{"n_estimators", 4, "subsample", 0.7}},
		"forest":      {forest, someRows(9, 1200, 6, []int{5}, 2), []any{"n_estimators", 11, "max_depth", 7}},
		"votes":       {forest, someRows(10, 900, 6, []int{5}, 5), []any{"n_estimators", 5, "max_features", 3, "max_depth", 6}},
		"means":       {forest, someRows(11, 900, 4, []int{5}, 0), []any{"n_estimators", 5, "max_depth", 6}},
		"all rows":    {forest, weigh(someRows(12, 700, 4, nil, 3), func(int) float64 { return 30 * r.Float64() }), []any{"n_estimators", 3, "bootstrap", false, "max_features", "all"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := familytest.Same(t, c.f, c.d, c.options...)
			if n := len(got.Predictor.(*model).trees); n == 0 {
				t.Error("no trees")
			}
		})
	}
}

func numbers(v ...int64) types.Array {
	var a types.Array
	for _, x := range v {
		a.Elems = append(a.Elems, x)
	}
	return a
}
