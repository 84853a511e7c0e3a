package optim

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// Newton is Newton's method, which solves H·p = -g for its step: for least squares the
// exact solution in one step, for logistic regression IRLS. Directions in which the
// Hessian is singular (constant or collinear features) are left where they are.
type Newton struct {
	core
	backtrack
}

// NewNewton starts at x0, which it copies.
func NewNewton(x0 []float64, stop Stop) *Newton { return &Newton{core: newCore(x0, stop)} }

// Next implements Optimizer.
func (o *Newton) Next() Request { return Request{Theta: o.trial, Need: Loss | Grad | Hessian} }

// Tell implements Optimizer.
func (o *Newton) Tell(e *Eval) (bool, error) {
	o.evals++
	if !o.started {
		if !finite(e) {
			return false, Diverged(0)
		}
	} else if o.short(&o.core, e, o.least(&o.core)) {
		return o.reason != Running, nil
	}
	// A full step that lowers neither loss nor gradient has reached the limit of
	// floating-point precision.
	if o.started && e.Loss >= o.f && norm(e.Grad) >= norm(o.g) {
		o.reason = NoProgress
		return true, nil
	}
	if o.accept(e) {
		return true, nil
	}
	Factor(e.Hess, len(o.g)).Solve(o.direction, o.g)
	f64.Scale(o.direction, -1)
	if f64.Dot(o.g, o.direction) >= 0 { // the gradient lies where H is singular
		o.reason = NoProgress
		return true, nil
	}
	o.set(&o.core, 1)
	return false, nil
}

const newtonKind = 2

// Encode implements Optimizer.
func (o *Newton) Encode(e *canon.E) {
	e.U8(newtonKind)
	o.core.encode(e)
	o.backtrack.encode(e)
}

// UnmarshalBinary implements Optimizer.
func (o *Newton) UnmarshalBinary(b []byte) error {
	d := canon.Read(b)
	var n Newton
	if d.U8() != newtonKind {
		d.Fail()
	}
	n.core.decode(d)
	n.backtrack.decode(d)
	if err := d.Done("optimizer state"); err != nil {
		return err
	}
	*o = n
	return nil
}
