package aft

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// distribution is one of the noise.
type distribution struct {
	name string
	// event returns the logarithm of the density at z with its first two derivatives, and after those of the survival.
	event, after func(z float64) (l, g, h float64)
	survival     func(z float64) float64
	quantile     func(p float64) float64 // z by which the share p has had the event
	// mean returns the mean of e^(scale·ε), infinite where there is none.
	mean func(scale float64) float64
}

const (
	weibull     = "weibull"
	lognormal   = "lognormal"
	loglogistic = "loglogistic"
)

var distributions = []*distribution{
	{
		name:     weibull,
		event:    func(z float64) (l, g, h float64) { e := exp(z); return z - e, 1 - e, -e },
		after:    func(z float64) (l, g, h float64) { e := exp(z); return -e, -e, -e },
		survival: func(z float64) float64 { return f64.Exp1(-exp(z)) },
		quantile: func(p float64) float64 { return f64.Log1(-math.Log1p(-p)) },
		mean:     func(scale float64) float64 { return math.Gamma(1 + scale) },
	},
	{
		name:     lognormal,
		event:    func(z float64) (l, g, h float64) { return -float64(0.5*float64(z*z)) - halfLog2Pi, -z, -1 },
		after:    normalAfter,
		survival: func(z float64) float64 { return float64(0.5 * math.Erfc(z/math.Sqrt2)) },
		quantile: func(p float64) float64 { return float64(math.Sqrt2 * math.Erfinv(float64(2*p)-1)) },
		mean:     func(scale float64) float64 { return f64.Exp1(float64(0.5 * float64(scale*scale))) },
	},
	{
		name: loglogistic,
		event: func(z float64) (l, g, h float64) {
			p := f64.Sigmoid1(z)
			return -f64.LogLoss1(z) - f64.LogLoss1(-z), 1 - float64(2*p), -float64(2 * float64(p*(1-p)))
		},
		after: func(z float64) (l, g, h float64) {
			p := f64.Sigmoid1(z)
			return -f64.LogLoss1(-z), -p, -float64(p * (1 - p))
		},
		survival: func(z float64) float64 { return f64.Sigmoid1(-z) },
		quantile: func(p float64) float64 { return f64.Log1(p / (1 - p)) },
		mean: func(scale float64) float64 {
			if scale >= 1 {
				return math.Inf(1)
			}
			return float64(math.Pi*scale) / math.Sin(float64(math.Pi*scale))
		},
	},
}

func find(name string) *distribution {
	for _, d := range distributions {
		if d.name == name {
			return d
		}
	}
	return nil
}

// exp is e^z, finite: a likelihood that is not finite would end a training where a shorter step does.
func exp(z float64) float64 { return f64.Exp1(math.Min(z, 700)) }

const halfLog2Pi = 0.91893853320467274178

// normalAfter is of 1 - Φ(z), beyond 25 by its asymptotic series.
func normalAfter(z float64) (l, g, h float64) {
	if z > 25 {
		s := 1 / float64(z*z)
		l = -float64(0.5*float64(z*z)) - halfLog2Pi - f64.Log1(z) + math.Log1p(float64(s*(-1+float64(s*(3-float64(15*s))))))
		hazard := z + 1/z - 2/float64(z*float64(z*z))
		return l, -hazard, -float64(hazard * (hazard - z))
	}
	q := float64(0.5 * math.Erfc(z/math.Sqrt2))
	l = f64.Log1(q)
	hazard := f64.Exp1(-float64(0.5*float64(z*z))-halfLog2Pi) / q
	return l, -hazard, -float64(hazard * (hazard - z))
}
