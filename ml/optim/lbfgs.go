package optim

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// LBFGS is limited-memory BFGS (Liu and Nocedal, "On the limited memory BFGS method for
// large scale optimization", 1989) with a strong Wolfe line search: a good choice for
// smooth convex losses of any dimension. One evaluation of loss and gradient a trial;
// mostly one trial a step.
type LBFGS struct {
	core
	search search
	past   curvature
	// spare is the best trial's gradient, should the search end with lo.
	loGrad []float64
}

// NewLBFGS starts at x0, which it copies, with a preconditioner, or nil.
func NewLBFGS(x0 []float64, stop Stop, first *Preconditioner) *LBFGS {
	return &LBFGS{core: newCore(x0, stop), past: curvature{first: first}, loGrad: make([]float64, len(x0))}
}

// First returns the preconditioner, nil for none.
func (o *LBFGS) First() *Preconditioner { return o.past.first }

// Next implements Optimizer.
func (o *LBFGS) Next() Request { return Request{Theta: o.trial, Need: Loss | Grad} }

// Tell implements Optimizer.
func (o *LBFGS) Tell(e *Eval) (bool, error) {
	o.evals++
	if !o.started {
		if !finite(e) {
			return false, Diverged(0)
		}
		if o.accept(e) {
			return true, nil
		}
		return o.turn(), nil
	}
	slope := f64.Dot(e.Grad, o.direction)
	before := o.search.lo.a
	switch o.search.tell(e.Loss, slope) {
	case tryAgain:
		if o.search.lo.a != before {
			copy(o.loGrad, e.Grad)
		}
		o.moveTrial(o.search.a)
		return false, nil
	case take:
		return o.step(e), nil
	}
	if o.search.lo.a != before {
		copy(o.loGrad, e.Grad)
	}
	if o.search.lo.a > 0 && o.search.lo.f < o.f {
		o.moveTrial(o.search.lo.a)
		return o.step(&Eval{Loss: o.search.lo.f, Grad: o.loGrad}), nil
	}
	if !o.past.forget() { // the approximation may be bad: retry without it
		return o.turn(), nil
	}
	o.reason = NoProgress
	return true, nil
}

// step accepts the trial, learns from it and turns to the next direction.
func (o *LBFGS) step(e *Eval) bool {
	o.past.learn(o.x, o.trial, o.g, e.Grad)
	if o.accept(e) {
		return true
	}
	return o.turn()
}

// turn computes the next direction and starts a line search along it.
func (o *LBFGS) turn() bool {
	q := o.direction
	for i, g := range o.g {
		q[i] = -g
	}
	first := 1.0
	if !o.past.shape(q) {
		if n := norm(o.g); n > 1 {
			first = 1 / n
		}
	}
	slope := f64.Dot(o.g, q)
	if !(slope < 0) {
		if o.past.forget() {
			o.reason = NoProgress
			return true
		}
		return o.turn()
	}
	o.search.begin(o.f, slope, first)
	o.moveTrial(first)
	return false
}

const lbfgsKind = 1

// Encode implements Optimizer.
func (o *LBFGS) Encode(e *canon.E) {
	e.U8(lbfgsKind)
	o.core.encode(e)
	o.search.encode(e)
	o.past.encode(e)
	e.F64s(o.loGrad)
	if o.past.first != nil { // last, for states from before there was any to be read
		o.past.first.encode(e)
	}
}

// UnmarshalBinary implements Optimizer.
func (o *LBFGS) UnmarshalBinary(b []byte) error {
	d := canon.Read(b)
	var n LBFGS
	if d.U8() != lbfgsKind {
		d.Fail()
	}
	n.core.decode(d)
	n.search.decode(d)
	n.past.decode(d, len(n.x))
	if n.loGrad = d.F64s(); d.Left() > 0 {
		n.past.first = decodePreconditioner(d, len(n.x))
	}
	if err := d.Done("optimizer state"); err != nil {
		return err
	}
	*o = n
	return nil
}
