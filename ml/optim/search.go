package optim

import (
	"math"

	"github.com/tributarydb/tributary/ml/canon"
)

// Constants of the line search (Nocedal and Wright, Numerical Optimization,
// section 3.5): sufficient decrease, curvature, and the trials after which the
// best decrease is taken as it is.
const (
	wolfeDecrease  = 1e-4
	wolfeCurvature = 0.9
	maxTrials      = 30
)

// point is a step length with the loss and slope there.
type point struct{ a, f, d float64 }

// search is a line search for a step that meets the strong Wolfe conditions (algorithms
// 3.5 and 3.6).
//
//	lo   the best step so far that decreases enough (0 at first)
//	hi   the other end of an interval that holds a good step, once there is one
//	a    the step being tried
type search struct {
	at0, lo, hi point
	bracketed   bool
	a           float64
	trials      int
}

// begin starts a search at loss f with slope d < 0 and first step first.
func (s *search) begin(f, d, first float64) {
	*s = search{at0: point{0, f, d}, lo: point{0, f, d}, a: first}
}

// outcome of a trial.
type outcome uint8

const (
	tryAgain outcome = iota
	take             // the step just tried is good
	takeLo           // give up; lo is the best there is (0: nothing was found)
)

// tell judges the trial at s.a with loss f and slope d.
func (s *search) tell(f, d float64) outcome {
	s.trials++
	p := point{s.a, f, d}
	// Near the minimum the decrease is lost in rounding: then the slope alone decides (the
	// approximate Wolfe conditions of Hager and Zhang, 2005).
	noise := float64(1e-13 * math.Abs(s.at0.f))
	if isFinite(f) && f <= s.at0.f+noise && d <= float64(-(1-2*wolfeDecrease)*s.at0.d) && d >= float64(wolfeCurvature*s.at0.d) {
		return take
	}
	switch {
	case !isFinite(f) || !isFinite(d) || f > s.at0.f+float64(wolfeDecrease*s.a*s.at0.d) || f >= s.lo.f && s.lo.a > 0:
		s.hi, s.bracketed = p, true
	case math.Abs(d) <= float64(-wolfeCurvature*s.at0.d):
		return take
	default:
		if s.bracketed && float64(d*(s.hi.a-s.a)) >= 0 || !s.bracketed && d >= 0 {
			s.hi, s.bracketed = s.lo, true
		}
		s.lo = p
	}
	if s.trials >= maxTrials || s.bracketed && math.Abs(s.hi.a-s.lo.a) <= float64(1e-15*math.Max(s.hi.a, s.lo.a)) {
		return takeLo
	}
	s.a = s.nextStep()
	return tryAgain
}

// nextStep at least doubles the step while no minimum is bracketed; then it takes the
// minimum of the cubic through both ends, kept away from the ends.
func (s *search) nextStep() float64 {
	if !s.bracketed {
		return float64(3 * s.lo.a)
	}
	l, h := s.lo, s.hi
	w := h.a - l.a
	t := 0.5
	if isFinite(h.f) && isFinite(h.d) {
		// cubic on [0, 1] with values l.f, h.f and slopes l.d·w, h.d·w
		dl, dh := float64(l.d*w), float64(h.d*w)
		e := dl + dh - float64(3*(h.f-l.f))
		if q := float64(e*e) - float64(dl*dh); q >= 0 {
			r := math.Sqrt(q)
			if den := dh - dl + float64(2*r); den != 0 {
				t = 1 - (dh+r-e)/den
			}
		}
	} else {
		t = 0.1
	}
	if !(t >= 0.1) {
		t = 0.1
	} else if t > 0.9 {
		t = 0.9
	}
	return l.a + float64(t*w)
}

func (s *search) encode(e *canon.E) {
	for _, p := range []point{s.at0, s.lo, s.hi} {
		e.F64(p.a)
		e.F64(p.f)
		e.F64(p.d)
	}
	e.Bool(s.bracketed)
	e.F64(s.a)
	e.Int(s.trials)
}

func (s *search) decode(d *canon.D) {
	for _, p := range []*point{&s.at0, &s.lo, &s.hi} {
		*p = point{d.F64(), d.F64(), d.F64()}
	}
	s.bracketed, s.a, s.trials = d.Bool(), d.F64(), d.Int()
}
