package objective

import "math"

// The losses here grow linearly, or have a bend: their second derivatives say little or nothing of
// where the minimum is, and 1 a row stands for them, as LightGBM has it.

// Pinball is the mean of the pinball losses of several quantiles, each an output: Tau·(y-z) above
// the prediction, (1-Tau)·(z-y) below it (Koenker and Bassett, "Regression quantiles", 1978).
type Pinball struct{ Taus []float64 }

// Name implements Objective.
func (Pinball) Name() string { return "quantile" }

// Outputs implements Objective.
func (o Pinball) Outputs() int { return len(o.Taus) }

// Pass implements Objective.
func (o Pinball) Pass(z, h, l, y, w []float64) {
	n := len(y)
	clear(l)
	share := 1 / float64(len(o.Taus))
	for k, tau := range o.Taus {
		z, h := z[k*n:][:n], h[k*n:][:n]
		for i, v := range z {
			e, d := v-y[i], 1-tau
			if e < 0 {
				d = -tau
			}
			l[i] += float64(float64(w[i]*share) * float64(d*e))
			z[i], h[i] = float64(w[i]*d), w[i]
		}
	}
}

// Link implements Objective.
func (Pinball) Link([]float64, int) {}

// Absolute is the absolute error |z-y|.
type Absolute struct{}

// Name implements Objective.
func (Absolute) Name() string { return "absolute_error" }

// Outputs implements Objective.
func (Absolute) Outputs() int { return 1 }

// Pass implements Objective.
func (Absolute) Pass(z, h, l, y, w []float64) {
	for i, v := range z {
		e, d := v-y[i], 0.0
		if e != 0 {
			d = math.Copysign(1, e)
		}
		z[i], h[i], l[i] = float64(w[i]*d), w[i], float64(w[i]*math.Abs(e))
	}
}

// Link implements Objective.
func (Absolute) Link([]float64, int) {}

// Bounded is half the square of the error up to Delta, and linear beyond: Huber's loss at a scale
// that is given.
type Bounded struct{ Delta float64 }

// Name implements Objective.
func (Bounded) Name() string { return "huber" }

// Outputs implements Objective.
func (Bounded) Outputs() int { return 1 }

// Pass implements Objective.
func (o Bounded) Pass(z, h, l, y, w []float64) {
	for i, v := range z {
		e := v - y[i]
		d := min(max(e, -o.Delta), o.Delta)
		loss := float64(d * (e - float64(0.5*d)))
		z[i], h[i], l[i] = float64(w[i]*d), w[i], float64(w[i]*loss)
	}
}

// Link implements Objective.
func (Bounded) Link([]float64, int) {}
