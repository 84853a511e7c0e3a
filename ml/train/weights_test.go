package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// TestWeightsAreRows trains on rows with weights 0, 1 and 2, and on zero, one and two copies of the
// same rows: encoders, class weights and parameters agree.
func TestWeightsAreRows(t *testing.T) {
	cols := []record.Column{{Name: "a", Type: types.Float8}, {Name: "k", Type: types.Text}, {Name: "id", Type: types.Int8}, {Name: "y", Type: types.Int4}}
	weighted := &table{cols: append(slices.Clone(cols), record.Column{Name: "w", Type: types.Float8})}
	copied := &table{cols: cols}
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 900 {
		w, y := i%3, int32(0)
		a := r.NormFloat64()
		if a+r.NormFloat64() > 0.5 {
			y = 1
		}
		var v any = a
		if i%10 == 7 {
			v = nil
		}
		k := string(rune('a' + r.IntN(4)))
		if w == 0 { // values that would be errors or outliers if the row counted
			v, k, y = 1e6, "only here", 2
		}
		// id makes copies differ by almost nothing: equal rows would be at the same place in the
		// order.
		weighted.rows = append(weighted.rows, []any{v, k, int64(i), y, float64(w)})
		for range w {
			copied.rows = append(copied.rows, []any{v, k, int64(i), y})
		}
	}
	for _, args := range [][]any{nil, {"class_weights", "balanced"}} {
		args = append([]any{"l2_reg", 1e-3}, args...)
		var probs [2][]float64
		for i, tb := range []*table{weighted, copied} {
			a := args
			if i == 0 {
				a = append(slices.Clone(args), "weight", "w")
			}
			res, err := trainTable(t, mustJob(t, "logistic_regression", "y", tb, a...), tb, setup{workers: 1, threads: 1}, Input{})
			if err != nil {
				t.Fatal(args, err)
			}
			if got := len(res.Model.Classes()); got != 2 {
				t.Fatalf("%v: %d classes", args, got)
			}
			s, err := model.NewScorer(res.Model)
			if err != nil {
				t.Fatal(err)
			}
			sc, err := s.Score(copied.batch(copied.rows).Cols[:3], len(copied.rows), nil)
			if err != nil {
				t.Fatal(err)
			}
			probs[i] = sc.Probs[1]
		}
		for i, p := range probs[0] {
			if math.Abs(p-probs[1][i]) > 1e-6 {
				t.Fatalf("%v: row %d has probability %v with weights, %v with copies", args, i, p, probs[1][i])
			}
		}
	}
}

// TestRankingOfFewScores: roc_auc of many rows with few distinct scores, as from few categories or
// a small tree, is exact, on training rows and on rows held out.
func TestRankingOfFewScores(t *testing.T) {
	tb := &table{cols: []record.Column{{Name: "a", Type: types.Float8}, {Name: "y", Type: types.Int4}}}
	for i := range 3 * coarseRows / 2 {
		y := int32(0)
		if i%10 > 4 {
			y = 1
		}
		tb.rows = append(tb.rows, []any{float64(i % 10), y})
	}
	for _, args := range [][]any{{"l2_reg", 1e-3}, {"l2_reg", 1e-3, "eval_fraction", 0.7}} {
		res, err := trainTable(t, mustJob(t, "logistic_regression", "y", tb, args...), tb, setup{workers: 2, threads: 1}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(res.Metrics, func(m family.Metric) bool { return m.Name == "roc_auc" })
		if got := res.Metrics[i].Value; got != 1 {
			t.Errorf("%v: classes that are apart have roc_auc %v", args, got)
		}
	}
}

// TestRankingOfManyRows trains on more rows than are ranked exactly, with a rare event, and
// compares roc_auc with that of the scores of the model.
func TestRankingOfManyRows(t *testing.T) {
	tb := &table{cols: []record.Column{{Name: "a", Type: types.Float8}, {Name: "y", Type: types.Int4}}}
	r := rand.New(rand.NewPCG(6, 6))
	for range coarseRows + 5000 {
		a, y := r.NormFloat64(), int32(0)
		if r.Float64() < 2e-4*math.Exp(a) {
			y = 1
		}
		tb.rows = append(tb.rows, []any{a, y})
	}
	res, err := trainTable(t, mustJob(t, "logistic_regression", "y", tb, "max_iterations", int64(20)), tb, setup{workers: 2, threads: 1}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := model.NewScorer(res.Model)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := s.Score(tb.batch(tb.rows).Cols[:1], len(tb.rows), nil)
	if err != nil {
		t.Fatal(err)
	}
	var exact metric.Ranking
	for i, p := range sc.Probs[1] {
		exact.Add(tb.rows[i][1].(int32) == 1, p, 1)
	}
	want, _ := exact.AUC()
	i := slices.IndexFunc(res.Metrics, func(m family.Metric) bool { return m.Name == "roc_auc" })
	if got := res.Metrics[i].Value; math.Abs(got-want) > 1e-9 || want < 0.6 {
		t.Errorf("roc_auc %v, of the model's scores %v", got, want)
	}
}
