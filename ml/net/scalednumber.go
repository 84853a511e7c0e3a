package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// scaled is the number v·2^(scaleBits·e). Hazards e^score neither overflow nor vanish in it,
// whatever the score. Those of ordinary scores have e = 0 and are plain float64s.
type scaled struct {
	v float64
	e int64
}

const (
	scaleBits = 512
	lnScale   = scaleBits * math.Ln2
	plainExp  = 300  // scores up to this have e = 0
	maxScore  = 1e12 // beyond it there is no number: NaN
)

// expScaled returns e^score.
func expScaled(score float64) scaled {
	if math.Abs(score) <= plainExp {
		return scaled{f64.Exp1(score), 0}
	}
	if !(math.Abs(score) <= maxScore) {
		return scaled{math.NaN(), 0}
	}
	k := math.Round(score / lnScale)
	return scaled{f64.Exp1(score - float64(k*lnScale)), int64(k)}
}

func (a scaled) plus(b scaled) scaled {
	switch {
	case a.v == 0:
		return b
	case b.v == 0:
		return a
	case a.e < b.e:
		return scaled{a.at(b.e) + b.v, b.e}
	}
	return scaled{a.v + b.at(a.e), a.e}
}

func (a scaled) times(f float64) scaled { return scaled{float64(a.v * f), a.e} }

// at returns a's v for the exponent e.
func (a scaled) at(e int64) float64 {
	if a.e == e {
		return a.v
	}
	return math.Ldexp(a.v, int(max(min(a.e-e, 8), -8))*scaleBits)
}

// log returns the natural logarithm.
func (a scaled) log() float64 {
	if a.e == 0 {
		return f64.Log1(a.v)
	}
	return f64.Log1(a.v) + float64(float64(a.e)*lnScale)
}

// scaledSums are sums by place; without e the exponents are 0.
type scaledSums struct {
	V []float64
	E []int64
}

func (s *scaledSums) get(k int) scaled {
	if len(s.E) == 0 {
		return scaled{s.V[k], 0}
	}
	return scaled{s.V[k], s.E[k]}
}

func (s *scaledSums) set(k int, x scaled) {
	if x.e != 0 && len(s.E) == 0 {
		s.E = make([]int64, len(s.V), cap(s.V))
	}
	if s.V[k] = x.v; len(s.E) > 0 {
		s.E[k] = x.e
	}
}

func (s *scaledSums) push(x scaled) {
	s.V = append(s.V, 0)
	if len(s.E) > 0 {
		s.E = append(s.E, 0)
	}
	s.set(len(s.V)-1, x)
}

// fits reports whether s has n places.
func (s *scaledSums) fits(n int) bool { return len(s.V) == n && (len(s.E) == 0 || len(s.E) == n) }
