package optim

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// Leave writes where the minimisation ended and the curvature that it has learnt, for
// FollowLBFGS.
func (o *LBFGS) Leave(e *canon.E) {
	e.F64s(o.x)
	e.F64s(o.g)
	e.F64(o.f)
	e.F64(o.g0)
	o.past.encode(e)
}

// shortest is the square of the length of a step, as a share of that of the parameters,
// below which its curvature is mostly rounding: so are the last ones before a minimum.
const shortest = 1e-6

// FollowLBFGS begins where another minimisation ended, of a function of n parameters that
// differs by a quadratic term: gradient adds to g the gradient that this term has at x.
// So the value there and the curvature are known without an evaluation. done reports
// whether it has converged. The tolerance is relative to the same gradient as before.
func FollowLBFGS(d *canon.D, n int, stop Stop, first *Preconditioner, gradient func(x, g []float64)) (o *LBFGS, done bool, err error) {
	x, g, f, g0 := d.F64s(), d.F64s(), d.F64(), d.F64()
	var past curvature
	past.decode(d, n)
	if err := d.Done("the end of a minimisation"); err != nil || len(x) != n || len(g) != n {
		d.Fail()
		return nil, false, d.Done("the end of a minimisation")
	}
	stop.From = g0
	o = NewLBFGS(x, stop, first)
	for i, s := range past.s {
		y := past.y[i]
		gradient(s, y) // which is linear
		sy, short := f64.Dot(s, y), shortest*f64.Dot(x, x)
		if f64.Dot(s, s) > short && sy > float64(1e-16*f64.Dot(y, y)) {
			o.past.s, o.past.y, o.past.rho = append(o.past.s, s), append(o.past.y, y), append(o.past.rho, 1/sy)
		}
	}
	more := make([]float64, n)
	gradient(x, more)
	f += float64(0.5 * f64.Dot(x, more))
	f64.Axpy(g, 1, more)
	done, err = o.Tell(&Eval{Loss: f, Grad: g})
	return o, done, err
}
