package optim

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// NewtonCG is a truncated Newton method for Hessians that are too large to store: its
// step is computed by conjugate gradients, each iteration of which requests a
// Hessian-vector product, and only roughly far from the minimum (Dembo, Eisenstat and
// Steihaug, "Inexact Newton methods", 1982; Nocedal and Wright, Numerical Optimization,
// section 7.1).
type NewtonCG struct {
	core // direction is the step as found so far
	backtrack
	inner bool      // the next request is for a product
	left  []float64 // the residual of the step, negated
	along []float64 // the direction of the next product
	rr    float64   // |left|²
	turns int       // products of this step
}

// NewNewtonCG starts at x0, which it copies.
func NewNewtonCG(x0 []float64, stop Stop) *NewtonCG {
	return &NewtonCG{core: newCore(x0, stop), left: make([]float64, len(x0)), along: make([]float64, len(x0))}
}

// maxTurns bounds the products of a step: after so many the step is taken as it is.
const maxTurns = 200

// Next implements Optimizer.
func (o *NewtonCG) Next() Request {
	if o.inner {
		return Request{Theta: o.x, Need: Product, Along: o.along}
	}
	return Request{Theta: o.trial, Need: Loss | Grad}
}

// Tell implements Optimizer.
func (o *NewtonCG) Tell(e *Eval) (bool, error) {
	o.evals++
	if o.inner {
		o.turn(e.Product)
		return false, nil
	}
	if !o.started {
		if !finite(e) {
			return false, Diverged(0)
		}
	} else {
		if o.short(&o.core, e, o.least(&o.core)) {
			return o.reason != Running, nil
		}
		if e.Loss >= o.f && norm(e.Grad) >= norm(o.g) { // the limit of floating-point precision
			o.reason = NoProgress
			return true, nil
		}
	}
	if o.accept(e) {
		return true, nil
	}
	clear(o.direction)
	for i, g := range o.g {
		o.left[i], o.along[i] = -g, -g
	}
	o.rr, o.turns, o.inner = f64.Dot(o.g, o.g), 0, true
	return false, nil
}

// turn processes the Hessian's product with along, and ends the step when the residual
// is small relative to the gradient, with a tighter ratio for a smaller gradient.
func (o *NewtonCG) turn(product []float64) {
	first := o.turns == 0
	o.turns++
	bend := f64.Dot(o.along, product)
	if !isFinite(bend) || bend <= float64(1e-15*f64.Dot(o.along, o.along)) { // no curvature, as for linearly dependent columns
		if first {
			copy(o.direction, o.along)
		}
		o.walk()
		return
	}
	a := o.rr / bend
	f64.Axpy(o.direction, a, o.along)
	f64.Axpy(o.left, -a, product)
	was := o.rr
	o.rr = f64.Dot(o.left, o.left)
	size := norm(o.g)
	if enough := math.Min(0.5, math.Sqrt(size/o.g0)); math.Sqrt(o.rr) <= float64(enough*size) || o.turns >= maxTurns {
		o.walk()
		return
	}
	f64.Scale(o.along, o.rr/was)
	f64.Axpy(o.along, 1, o.left)
}

// walk starts a line search along the step.
func (o *NewtonCG) walk() {
	o.inner = false
	o.set(&o.core, 1)
}

const newtonCGKind = 6

// Encode implements Optimizer.
func (o *NewtonCG) Encode(e *canon.E) {
	e.U8(newtonCGKind)
	o.core.encode(e)
	e.Bool(o.inner)
	e.F64s(o.left)
	e.F64s(o.along)
	e.F64(o.rr)
	e.Int(o.turns)
	o.backtrack.encode(e)
}

// UnmarshalBinary implements Optimizer.
func (o *NewtonCG) UnmarshalBinary(b []byte) error {
	d := canon.Read(b)
	var n NewtonCG
	if d.U8() != newtonCGKind {
		d.Fail()
	}
	n.core.decode(d)
	n.inner, n.left, n.along, n.rr, n.turns = d.Bool(), d.F64s(), d.F64s(), d.F64(), d.Int()
	n.backtrack.decode(d)
	if len(n.left) != len(n.x) || len(n.along) != len(n.x) {
		d.Fail()
	}
	if err := d.Done("optimizer state"); err != nil {
		return err
	}
	*o = n
	return nil
}
