package objective

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Huber is Huber's loss with the scale learnt beside it, as he proposed and
// scikit-learn has it: σ + σ·H((z-y)/σ), H(u) = u² up to Epsilon and
// 2·Epsilon·|u| - Epsilon² beyond (Huber and Ronchetti, "Robust statistics",
// 2009, section 7.7; Owen, "A robust hybrid of lasso and ridge regression",
// 2007). The last output is log σ, whose derivatives are as great as the residuals: they are
// given in a Unit of these, so that all derivatives are of about the same size.
type Huber struct{ Epsilon, Unit float64 }

// Name implements Objective.
func (Huber) Name() string { return "huber" }

// Outputs implements Objective.
func (Huber) Outputs() int { return 2 }

// Scaled implements Scaled.
func (Huber) Scaled() {}

// Pass implements Objective.
func (o Huber) Pass(z, h, l, y, w []float64) {
	n := len(y)
	zs, hs := z[n:2*n], h[n:2*n]
	e2 := float64(o.Epsilon * o.Epsilon)
	f64.Exp(zs)
	share := 1 / o.Unit
	for i, v := range z[:n] {
		s, e := zs[i], v-y[i]
		u := math.Abs(e) / s
		var loss, d, c, ds, cs float64
		if u < o.Epsilon {
			q := float64(e*e) / s
			loss, d, c = s+q, float64(2*e)/s, 2/s
			ds, cs = s-q, s+q
		} else {
			loss = s + float64(s*(float64(2*o.Epsilon*u)-e2))
			d = math.Copysign(2*o.Epsilon, e)
			ds = float64(s * (1 - e2))
			cs = ds
		}
		z[i], h[i], l[i] = float64(w[i]*d), float64(w[i]*c), float64(w[i]*loss)
		zs[i], hs[i] = float64(w[i]*float64(ds*share)), float64(w[i]*float64(cs*share))
	}
}

// Link implements Objective.
func (Huber) Link([]float64, int) {}

// Quantile is the pinball loss, Tau·(y-z) above the prediction and
// (1-Tau)·(z-y) below it, rounded off where it bends: its Moreau envelope of this
// Width, which is the finite smoothing of Chen ("A finite smoothing algorithm for
// quantile regression", 2007). It is at most Width/8 below the pinball loss for
// the median, Width/2 for any.
type Quantile struct{ Tau, Width float64 }

// Name implements Objective.
func (Quantile) Name() string { return "quantile" }

// Outputs implements Objective.
func (Quantile) Outputs() int { return 1 }

// Pass implements Objective.
func (o Quantile) Pass(z, h, l, y, w []float64) {
	low, high := -o.Tau, 1-o.Tau
	for i, v := range z {
		e := v - y[i]
		d, c := high, 0.0
		switch {
		case e < float64(low*o.Width):
			d = low
		case e <= float64(high*o.Width):
			d, c = e/o.Width, 1/o.Width
		}
		// The envelope of a linear piece, and of the bend, is d·e - d²·width/2.
		loss := float64(d * (e - float64(0.5*float64(d*o.Width))))
		z[i], h[i], l[i] = float64(w[i]*d), float64(w[i]*c), float64(w[i]*loss)
	}
}

// Link implements Objective.
func (Quantile) Link([]float64, int) {}
