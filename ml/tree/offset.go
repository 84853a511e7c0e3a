package tree

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// A row's offset is in its scores from the beginning. The constant that boosting begins with is
// that of least loss beside the offsets, where a sum over the rows tells it: of squares the mean of
// y - offset, with the link log the logarithm of Σ y·e^((1-p)·offset) / Σ e^((2-p)·offset), p being
// the power of the variance. Of two classes it is the log-odds without the offsets.

// offsets chooses the units of such sums, and returns a bound of what is summed for labels of at
// most most.
func (p *problem) offsets(g *ground, most float64) float64 {
	if !p.log {
		return most + max(math.Abs(g.low), math.Abs(g.high))
	}
	grows := func(by float64) float64 { return f64.Exp1(min(max(by*g.low, by*g.high), 700)) }
	_, exp := math.Frexp(grows(2 - p.power))
	g.eUnit = math.Ldexp(1, 46-exp)
	return float64(most * grows(1-p.power))
}

// offsetSums is what a row adds to the sums.
func (p *problem) offsetSums(y, offset float64) (of, e float64) {
	if !p.log {
		return y - offset, 0
	}
	return float64(y * f64.Exp1(float64((1-p.power)*offset))), f64.Exp1(float64((2 - p.power) * offset))
}

// logMean is the constant to begin with, with the link log.
func (p *problem) logMean(g *ground, l *labels, total int64) float64 {
	mean := l.Y.float() / g.yUnit
	if p.offset > 0 {
		return f64.Log1(mean) - f64.Log1(l.E.float()/g.eUnit)
	}
	return f64.Log1(mean / float64(total))
}
