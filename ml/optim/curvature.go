package optim

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// lbfgsHistory is the number of past steps that L-BFGS stores.
const lbfgsHistory = 10

// curvature is the Hessian approximation of limited-memory BFGS: the last steps and the
// changes of the gradient along them (Nocedal and Wright, Numerical Optimization, 2nd
// edition, section 7.2).
type curvature struct {
	first *Preconditioner // the initial approximation; nil for none
	s, y  [][]float64     // newest last
	rho   []float64
}

// forget drops the steps, or if there are none the preconditioner, and reports whether
// there was neither.
func (c *curvature) forget() (empty bool) {
	if len(c.s) > 0 {
		*c = curvature{first: c.first}
		return false
	}
	empty = c.first == nil
	c.first = nil
	return empty
}

// learn adds the step from x to next, with gradients g and h.
func (c *curvature) learn(x, next, g, h []float64) {
	n := len(x)
	var s, y []float64
	if len(c.s) == lbfgsHistory {
		s, y = c.s[0], c.y[0]
		c.s, c.y, c.rho = c.s[1:], c.y[1:], c.rho[1:]
	} else {
		s, y = make([]float64, n), make([]float64, n)
	}
	for i := range s {
		s[i], y[i] = next[i]-x[i], h[i]-g[i]
	}
	if sy := f64.Dot(s, y); sy > float64(1e-16*f64.Dot(y, y)) {
		c.s, c.y, c.rho = append(c.s, s), append(c.y, y), append(c.rho, 1/sy)
	}
}

// shape multiplies q by the inverse Hessian approximation, by the two-loop recursion
// (algorithm 7.4); it reports whether there is one.
func (c *curvature) shape(q []float64) bool {
	k := len(c.s)
	if k == 0 {
		if c.first != nil {
			c.first.solve(q)
		}
		return c.first != nil
	}
	alpha := make([]float64, k)
	for i := k - 1; i >= 0; i-- {
		alpha[i] = float64(c.rho[i] * f64.Dot(c.s[i], q))
		f64.Axpy(q, -alpha[i], c.y[i])
	}
	y := c.y[k-1]
	if c.first != nil {
		c.first.solve(q)
		y = append([]float64{}, y...)
		c.first.solve(y)
	}
	f64.Scale(q, 1/float64(c.rho[k-1]*f64.Dot(c.y[k-1], y)))
	for i := range k {
		beta := float64(c.rho[i] * f64.Dot(c.y[i], q))
		f64.Axpy(q, alpha[i]-beta, c.s[i])
	}
	return true
}

// encode writes the steps.
func (c *curvature) encode(e *canon.E) {
	e.U32(uint32(len(c.s)))
	for i := range c.s {
		e.F64s(c.s[i])
		e.F64s(c.y[i])
		e.F64(c.rho[i])
	}
}

func (c *curvature) decode(d *canon.D, n int) {
	for range d.Count(16) {
		c.s, c.y, c.rho = append(c.s, d.F64s()), append(c.y, d.F64s()), append(c.rho, d.F64())
		if k := len(c.s) - 1; len(c.s[k]) != n || len(c.y[k]) != n {
			d.Fail()
			return
		}
	}
}
