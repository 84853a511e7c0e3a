package familytest

import (
	"math"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
)

// reproduces fails t if a training says that it converged to a loss that its model does not have:
// one that is impossible, or, where the loss is computed here from the predictions, another one.
func reproduces(t testing.TB, f family.Family, d *Data, r *Result) {
	t.Helper()
	st := r.State
	if !st.Converged || math.IsNaN(st.TrainLoss) {
		return
	}
	size := 1.0 // of the targets' squares, for rounding errors
	for _, v := range d.Y {
		size = math.Max(size, v*v)
	}
	density := slices.ContainsFunc(r.Plan.Outputs, func(o family.Output) bool { return o.Name == "log_density" }) // may be above 1
	if !(density || st.TrainLoss >= -1e-9*size) || math.IsInf(st.TrainLoss, 0) {
		t.Fatalf("%s says that it converged to a loss of %v", f.Info().Name, st.TrainLoss)
	}
	o := r.Setup.Options
	if d.Y == nil && !density || r.Plan.Windows != nil || o.Given("early_stop") || o.Given("min_rel_progress") || slices.Contains([]string{"sgd", "momentum", "adam"}, o.Text("optimizer", "")) {
		return // the loss is a mean over an epoch, or of a state that was not kept
	}
	var rows []int
	for i := range d.X {
		if d.Held == nil || !d.Held[i] {
			rows = append(rows, i)
		}
	}
	s := r.Score(d.Block(rows, r.Setup.Fitted.Narrow))
	y, w := make([]float64, len(rows)), make([]float64, len(rows))
	total, square := 0.0, 0.0
	for i, at := range rows {
		if w[i] = 1; d.W != nil {
			w[i] = d.W[at]
		}
		if d.Y != nil {
			y[i] = d.Y[at]
		}
		total, square = total+w[i], square+w[i]*y[i]*y[i]
	}
	mean := func(loss func(i int) float64) (sum float64) {
		for i := range rows {
			if w[i] > 0 {
				sum += w[i] * loss(i)
			}
		}
		return sum / total
	}
	var want float64
	switch name := f.Info().Name; {
	case density:
		want = mean(func(i int) float64 { return -s.Extra[0][i] })
	case slices.Contains([]string{"linear_regression", "ridge", "lasso", "elastic_net"}, name):
		want = mean(func(i int) float64 { return (y[i] - s.Value[i]) * (y[i] - s.Value[i]) })
	case name == "quantile_regression":
		tau := o.Float("quantile", 0.5)
		want = mean(func(i int) float64 { return math.Max(tau*(y[i]-s.Value[i]), (tau-1)*(y[i]-s.Value[i])) })
		square = math.Sqrt(square)
	case name == "logistic_regression":
		want = mean(func(i int) float64 { return -math.Log(s.Prob(int(y[i]), i)) })
	case name == "time_to_event" && o.Text("method", "cox") == "cox":
		want = partialLikelihood(y, s.Value, w, o.Text("ties", "efron") == "efron" && !o.Given("weight")) / total
	default:
		return
	}
	if math.Abs(st.TrainLoss-want) > 1e-4*math.Abs(want)+1e-9*square/total {
		t.Fatalf("%s says that it converged to a loss of %v, but its model has %v", f.Info().Name, st.TrainLoss, want)
	}
}

// partialLikelihood is the negative logarithm of Cox's partial likelihood, by its definition; the
// greatest score is taken off before any e^score.
func partialLikelihood(y, score, w []float64, efron bool) (loss float64) {
	times := map[float64]bool{}
	for i, t := range y {
		if w[i] > 0 && !math.Signbit(t) {
			times[t] = true
		}
	}
	for at := range times { // a sum of few digits: its order does not matter here
		top := math.Inf(-1)
		for i, t := range y {
			if w[i] > 0 && math.Abs(t) >= at {
				top = math.Max(top, score[i])
			}
		}
		var risk, events, tied, weight float64
		for i, t := range y {
			if e := w[i] * math.Exp(score[i]-top); w[i] > 0 && math.Abs(t) >= at {
				risk += e
				if t == at && !math.Signbit(t) {
					events, tied, weight = events+e, tied+1, weight+w[i]
					loss -= w[i] * (score[i] - top)
				}
			}
		}
		for l := 0.0; l < tied; l++ {
			left := risk
			if efron {
				left -= l / tied * events
			}
			loss += weight / tied * math.Log(left)
		}
	}
	return loss
}
