package optim

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// Units are the units in which an optimiser sees the parameters of a linear model: those of
// centred and scaled columns, and of a scaled target. Its steps and its tolerance then do not
// depend on the units that the rows are in.
//
//	weight of a column   its own times Target/Scale
//	intercept            its own times Target, less the weights times Center
//	logarithm of a scale its own plus log Target; after the outputs with weights
//	loss                 its own times Target
type Units struct {
	Target        float64
	Center, Scale []float64 // of the columns
}

// Encode writes u, which may be nil.
func (u *Units) Encode(e *canon.E) {
	if u == nil {
		u = &Units{}
	}
	e.F64(u.Target)
	e.F64s(u.Center)
	e.F64s(u.Scale)
}

// DecodeUnits reads what Encode wrote.
func DecodeUnits(d *canon.D) *Units {
	if u := (&Units{d.F64(), d.F64s(), d.F64s()}); u.Target != 0 {
		return u
	}
	return nil
}

// Fits reports whether u, which may be nil, is of so many columns.
func (u *Units) Fits(columns int) bool {
	return u == nil || u.Target > 0 && len(u.Center) == columns && len(u.Scale) == columns
}

// each calls f with each output's weights and intercept, and rest with the other parameters.
func (u *Units) each(v []float64, f func(weights []float64, intercept *float64), rest func(*float64)) {
	n := len(u.Scale)
	for ; len(v) > n; v = v[n+1:] {
		f(v[:n], &v[n])
	}
	for i := range v {
		rest(&v[i])
	}
}

// inward changes parameters to those that the optimiser sees, outward back.
func (u *Units) inward(v []float64) {
	u.each(v, func(w []float64, b *float64) {
		*b += f64.Dot(w, u.Center)
		*b /= u.Target
		for j := range w {
			w[j] = float64(w[j]*u.Scale[j]) / u.Target
		}
	}, func(s *float64) { *s -= math.Log(u.Target) })
}

func (u *Units) outward(v []float64) {
	u.each(v, func(w []float64, b *float64) {
		for j := range w {
			w[j] = float64(w[j]*u.Target) / u.Scale[j]
		}
		*b = float64(*b*u.Target) - f64.Dot(w, u.Center)
	}, func(s *float64) { *s += math.Log(u.Target) })
}

// slopes changes a gradient to the one that the optimiser sees.
func (u *Units) slopes(g []float64) {
	u.each(g, func(w []float64, b *float64) {
		for j := range w {
			w[j] = (w[j] - float64(*b*u.Center[j])) / u.Scale[j]
		}
	}, func(s *float64) { *s /= u.Target })
}

// InUnits is an optimiser that works in other units. Its own methods are in those of the rows.
type InUnits struct {
	Optimizer
	u *Units
}

// NewInUnits makes an optimiser that starts at x0 and works in u.
func NewInUnits(u *Units, x0 []float64, minimiser func(x0 []float64) Optimizer) *InUnits {
	x := append([]float64{}, x0...)
	u.inward(x)
	return &InUnits{minimiser(x), u}
}

// Next implements Optimizer.
func (o *InUnits) Next() Request {
	r := o.Optimizer.Next()
	r.Theta = append([]float64{}, r.Theta...)
	o.u.outward(r.Theta)
	return r
}

// Tell implements Optimizer. It changes the gradient.
func (o *InUnits) Tell(e *Eval) (bool, error) {
	o.u.slopes(e.Grad)
	e.Loss /= o.u.Target
	return o.Optimizer.Tell(e)
}

// State implements Optimizer.
func (o *InUnits) State() State {
	s := o.Optimizer.State()
	s.Theta = append([]float64{}, s.Theta...)
	o.u.outward(s.Theta)
	s.Loss = float64(s.Loss * o.u.Target)
	return s
}
