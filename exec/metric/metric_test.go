package metric

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/exact"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestRanked: NDCG is that of scikit-learn's ndcg_score of the gains, average precision that of average_precision_score.
func TestRanked(t *testing.T) {
	rows := []Judged{{0.1, 3}, {0.5, 0}, {0.5, 2}, {0.9, 1}, {0.3, 0}, {0.2, 4}, {0.5, 1}}
	ByScore(rows)
	near(t, "NDCG", NDCG(rows, 10), 0.4950107783406295)
	near(t, "NDCG of 3 places", NDCG(rows, 3), 0.11990081256022893)
	near(t, "average precision", AveragePrecision(rows), 0.7761904761904761)
	none := []Judged{{1, 0}, {2, 0}, {math.NaN(), 0}}
	near(t, "NDCG without a relevant row", NDCG(none, 10), 1)
	near(t, "average precision without a relevant row", AveragePrecision(none), 1)
}

// TestMatrixScores: the expected values are those of scikit-learn.
func TestMatrixScores(t *testing.T) {
	var m Matrix
	truth := []uint32{0, 1, 1, 0, 1, 1, 0, 1}
	pred := []uint32{0, 1, 0, 1, 1, 1, 0, 0}
	for i := range truth {
		m.Add(truth[i], pred[i], 1)
	}
	s := m.Scores(cmp.Compare[uint32])
	near(t, "accuracy", s.Accuracy, 0.625)
	near(t, "precision", s.Of[1][0], 0.75)
	near(t, "recall", s.Of[1][1], 0.6)
	near(t, "f1", s.Of[1][2], 2.0/3)
	m.Add(2, 2, 1)
	m.Add(2, 0, 1)
	s = m.Scores(cmp.Compare[uint32])
	near(t, "accuracy of three", s.Accuracy, 0.6)
	near(t, "macro precision", s.Macro[0], (2.0/5+3.0/4+1)/3)
	near(t, "macro recall", s.Macro[1], (2.0/3+3.0/5+1.0/2)/3)
	near(t, "weighted recall", s.Weighted[1], 0.6)
	var back Matrix
	if b := m.Append(nil); len(b) != 6*cellBytes || !back.Decode(b) || !bytes.Equal(back.Append(nil), b) || back.Decode(b[1:]) {
		t.Error("it does not decode to itself, or a part of it does")
	}
	// One class is never predicted.
	var n Matrix
	n.Add(0, 0, 1)
	n.Add(1, 0, 1)
	if s := n.Scores(cmp.Compare[uint32]); s.Of[1] != (ClassScores{}) {
		t.Errorf("scores of a class that is never predicted: %+v", s)
	}
}

// TestScoresOfFewerClasses: rows may have fewer classes than the model; the expected values are
// those of scikit-learn.
func TestScoresOfFewerClasses(t *testing.T) {
	var m Matrix
	m.Add(0, 0, 3)
	if s := m.Scores(cmp.Compare[uint32]); s.Accuracy != 1 || s.Of[1] != (ClassScores{}) {
		t.Errorf("rows without the positive class: %+v", s)
	}
	m.Add(1, 0, 1) // two of three classes
	s := m.Scores(cmp.Compare[uint32])
	near(t, "macro precision", s.Macro[0], 0.75/2)
	near(t, "macro recall", s.Macro[1], 0.5)
	near(t, "macro f1", s.Macro[2], 6.0/7/2)
}

// TestRegressionBytes: a state decodes to itself, with weights and without, and no part of it does.
func TestRegressionBytes(t *testing.T) {
	for _, weight := range []float64{1, 0.5} {
		var r, back Regression
		for i := range 5 {
			r.AddWeighted(float64(i), 1, weight)
			r.Add(float64(i), 2)
		}
		b := r.Append(nil)
		if !back.Decode(b) || !bytes.Equal(back.Append(nil), b) || back.Metric("r2_score") != r.Metric("r2_score") {
			t.Errorf("weight %v: it does not decode to itself", weight)
		}
		if back.Decode(b[:len(b)-1]) || back.Decode(append(b, 1)) || back.Decode(nil) {
			t.Errorf("weight %v: damaged bytes are accepted", weight)
		}
	}
	if v := new(Regression).Metric("r2_score"); v == v {
		t.Errorf("r2_score of no rows is %v", v)
	}
}

// TestAUCAgainstPairs compares with the definition over all pairs, and merged states of any
// division with the whole.
func TestAUCAgainstPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		n := 2 + r.IntN(60)
		score, weight, pos := make([]float64, n), make([]float64, n), make([]bool, n)
		var whole Ranking
		parts := make([]Ranking, 3)
		for i := range n {
			score[i], weight[i], pos[i] = float64(r.IntN(8)), float64(1+r.IntN(3)), r.IntN(2) == 0
			whole.Add(pos[i], score[i], weight[i])
			parts[r.IntN(3)].Add(pos[i], score[i], weight[i])
		}
		var num, den float64
		for i := range n {
			for j := range n {
				if pos[i] && !pos[j] {
					w := weight[i] * weight[j]
					den += w
					if score[i] > score[j] {
						num += w
					} else if score[i] == score[j] {
						num += w / 2
					}
				}
			}
		}
		got, ok := whole.AUC()
		if ok != (den > 0) {
			t.Fatalf("ok = %v with %v pairs", ok, den)
		}
		if ok {
			near(t, "AUC", got, num/den)
		}
		parts[0].Merge(&parts[1])
		parts[0].Merge(&parts[2])
		b := whole.Append(nil)
		if !bytes.Equal(b, parts[0].Append(nil)) {
			t.Fatal("merged parts have other bytes")
		}
		var back Ranking
		if !back.Decode(b) || back.Decode(b[1:]) {
			t.Fatal("it does not decode")
		}
		back.Decode(b)
		if again, _ := back.AUC(); ok && again != got {
			t.Errorf("decoded: %v", again)
		}
	}
}

func TestRegressionMetrics(t *testing.T) {
	truth, pred := []float64{3, -0.5, 2, 7}, []float64{2.5, 0.0, 2, 8}
	var all, a, b Regression
	for i := range truth {
		all.Add(truth[i], pred[i])
		if i < 2 {
			a.Add(truth[i], pred[i])
		} else {
			b.Add(truth[i], pred[i])
		}
	}
	a.Merge(&b)
	for _, r := range []*Regression{&all, &a} {
		near(t, "mae", r.Metric("mean_absolute_error"), 0.5)
		near(t, "mse", r.Metric("mean_squared_error"), 0.375)
		near(t, "rmse", r.Metric("root_mean_squared_error"), math.Sqrt(0.375))
		near(t, "r2", r.Metric("r2_score"), 0.9486081370449679)
	}
	var l LogLoss
	for _, p := range []float64{0.9, 0.9, 0.8, 0.65} { // the example in scikit-learn's documentation
		l.Add(p, 1)
	}
	near(t, "log loss", l.Mean(), 0.21616187468057912)
	l.Add(0, 1)
	if math.IsInf(l.Mean(), 0) {
		t.Error("a probability of 0 gives an infinite loss")
	}
}

// TestLogLossOfManyRows: adding many rows at once equals adding them one by one, to the bit, for
// probabilities of 0 and 1 and beyond too.
func TestLogLossOfManyRows(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	ends := []float64{0, 1, 0x1p-53, 0x1p-52, 0x1p-60, 1 - 0x1p-52, 1 - 0x1p-53, 0.5, -1, 2}
	for n := range 200 {
		var one, all LogLoss
		p := make([]float64, n)
		for i := range p {
			if p[i] = r.Float64(); r.IntN(3) == 0 {
				p[i] = ends[r.IntN(len(ends))]
			}
			one.Add(p[i], 1)
		}
		all.AddAll(p[:n/3])
		all.AddAll(p[n/3:])
		if !bytes.Equal(one.Append(nil), all.Append(nil)) || n > 0 && one.Mean() != all.Mean() {
			t.Fatalf("%d rows: %v, one by one %v", n, all.Mean(), one.Mean())
		}
	}
	var l LogLoss
	if l.AddAll([]float64{0.5, math.NaN()}); l.Mean() == l.Mean() {
		t.Errorf("the loss of a probability that is none is %v", l.Mean())
	}
}

// TestMetricsInAnyOrder adds the same rows in other orders and parts: the metrics are the same.
func TestMetricsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	n := 5000
	truth, pred, w := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		truth[i], pred[i], w[i] = r.NormFloat64()*1e3, r.NormFloat64(), r.Float64()
	}
	measure := func(order []int, parts int) string {
		var reg Regression
		var loss LogLoss
		for k := range parts {
			var a Regression
			var b LogLoss
			for _, i := range order[k*n/parts : (k+1)*n/parts] {
				a.AddWeighted(truth[i], pred[i], w[i])
				b.Add(w[i], w[i])
			}
			reg.Merge(&a)
			loss.Merge(&b)
		}
		return fmt.Sprint(reg.Metric("mean_absolute_error"), reg.Metric("mean_squared_error"), reg.Metric("r2_score"), loss.Mean())
	}
	want := measure(r.Perm(n), 1)
	for parts := 1; parts < 9; parts++ {
		if got := measure(r.Perm(n), parts); got != want {
			t.Errorf("%d parts in another order: %s, not %s", parts, got, want)
		}
	}
}

// TestRegressionsOfManyRows adds rows of weight 1 in parts of any size: the sums are those of
// adding rows one by one, for values of similar and of very different sizes.
func TestRegressionsOfManyRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 4))
	for _, span := range []int{1, 8, 60, 1500} {
		n := 3000
		truth, pred := make([]float64, n), make([]float64, n)
		var one Regression
		for i := range n {
			truth[i] = math.Ldexp(r.NormFloat64(), r.IntN(span)-span/2)
			if pred[i] = truth[i] + r.NormFloat64(); i%7 == 0 {
				pred[i] = truth[i]
			}
			one.Add(truth[i], pred[i])
		}
		want := fmt.Sprint(one.Metric("mean_absolute_error"), one.Metric("mean_squared_error"), one.Metric("r2_score"))
		var all Regression
		var scratch exact.ErrorsScratch
		for from := 0; from < n; {
			to := min(n, from+1+r.IntN(700))
			var a Regression
			a.AddAll(truth[from:to], pred[from:to], &scratch)
			all.Merge(&a)
			from = to
		}
		if got := fmt.Sprint(all.Metric("mean_absolute_error"), all.Metric("mean_squared_error"), all.Metric("r2_score")); got != want {
			t.Errorf("span %d: %s, one by one %s", span, got, want)
		}
	}
}
