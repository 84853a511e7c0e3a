package objective

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Tweedie is half the unit deviance of the Tweedie family with this power of the
// variance and the link log, μ = e^z: Poisson for 1, Gamma for 2 (Jørgensen,
// "Exponential dispersion models", 1987). The second derivatives are the expected
// ones, μ^(2-power), with which Newton's method is Fisher's scoring.
type Tweedie struct{ Power float64 }

// Name implements Objective.
func (t Tweedie) Name() string {
	switch t.Power {
	case 1:
		return "poisson"
	case 2:
		return "gamma"
	}
	return "tweedie"
}

// Outputs implements Objective.
func (Tweedie) Outputs() int { return 1 }

// Targets returns which targets there may be: any where all is true, else none below
// 0, or, where zero is false, above 0 only.
func (t Tweedie) Targets() (all, zero bool) { return t.Power < 1, t.Power < 2 }

// Check returns an error for targets from low to high that the loss, here called what, does not
// allow.
func (t Tweedie) Check(label, what string, low, high float64) error {
	switch all, zero := t.Targets(); {
	case all:
	case low < 0:
		return pgerr.New(pgerr.NumericValueOutOfRange, "target column %q has negative values, which %s does not allow", label, what).OnColumn(label)
	case low == 0 && !zero:
		return pgerr.New(pgerr.NumericValueOutOfRange, "target column %q has values that are not above 0, which %s does not allow", label, what).OnColumn(label)
	case high == 0:
		return pgerr.New(pgerr.InvalidParameterValue, "target column %q is 0 in all rows: there is nothing to learn from", label).OnColumn(label)
	}
	return nil
}

// Pass implements Objective.
func (t Tweedie) Pass(z, h, l, y, w []float64) {
	p, q := 2-t.Power, 1-t.Power
	for i, v := range z {
		h[i], l[i] = float64(p*v), float64(q*v)
	}
	f64.Exp(h) // μ^(2-power)
	f64.Exp(l) // μ^(1-power)
	for i, v := range z {
		a, b, wi := h[i], l[i], w[i]
		loss := 0.0
		switch {
		case wi == 0: // y is not checked then
			z[i], h[i], l[i] = 0, 0, 0
			continue
		case p == 1:
			if loss = a - y[i]; y[i] > 0 {
				loss += float64(y[i] * (f64.Log1(y[i]) - v))
			}
		case p == 0:
			loss = float64(y[i]*b) - 1 + (v - f64.Log1(y[i]))
		default:
			loss = a/p - float64(y[i]*b)/q
			if p == 2 {
				loss += float64(0.5 * float64(y[i]*y[i]))
			} else if y[i] > 0 {
				loss += f64.Exp1(float64(p*f64.Log1(y[i]))) / float64(p*q)
			}
		}
		z[i] = float64(wi * (a - float64(y[i]*b)))
		h[i], l[i] = float64(wi*a), float64(wi*loss)
	}
}

// Link implements Objective.
func (Tweedie) Link(z []float64, _ int) {
	n := len(z) &^ (f64.Lanes - 1)
	f64.Exp(z[:n])
	for i := n; i < len(z); i++ {
		z[i] = f64.Exp1(z[i])
	}
}

// Mean is the margin of a row whose prediction is m.
func (Tweedie) Mean(m float64) float64 { return f64.Log1(math.Max(m, 0x1p-500)) }
