package optim

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// lbfgsHistory is the number of past steps that shape the next direction.
const lbfgsHistory = 10

// LBFGS is limited-memory BFGS with a strong Wolfe line search: a good choice
// for smooth convex losses of any dimension. One evaluation of loss and gradient
// a trial; mostly one trial a step.
type LBFGS struct {
	core
	search search
	s, y   [][]float64 // newest last
	rho    []float64
	// spare is the best trial's gradient, should the search end with lo.
	loGrad []float64
}

// NewLBFGS starts at x0, which it copies.
func NewLBFGS(x0 []float64, stop Stop) *LBFGS {
	return &LBFGS{core: newCore(x0, stop), loGrad: make([]float64, len(x0))}
}

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
	if len(o.s) > 0 { // the model of the curvature may be spoilt: once more without
		o.s, o.y, o.rho = nil, nil, nil
		return o.turn(), nil
	}
	o.reason = NoProgress
	return true, nil
}

// step accepts the trial, learns from it and turns to the next direction.
func (o *LBFGS) step(e *Eval) bool {
	n := len(o.x)
	var s, y []float64
	if len(o.s) == lbfgsHistory {
		s, y = o.s[0], o.y[0]
		o.s, o.y, o.rho = o.s[1:], o.y[1:], o.rho[1:]
	} else {
		s, y = make([]float64, n), make([]float64, n)
	}
	for i := range s {
		s[i], y[i] = o.trial[i]-o.x[i], e.Grad[i]-o.g[i]
	}
	if sy := f64.Dot(s, y); sy > float64(1e-16*f64.Dot(y, y)) {
		o.s, o.y, o.rho = append(o.s, s), append(o.y, y), append(o.rho, 1/sy)
	}
	if o.accept(e) {
		return true
	}
	return o.turn()
}

// turn computes the next direction by the two-loop recursion and starts a
// search along it.
func (o *LBFGS) turn() bool {
	q := o.direction
	for i, g := range o.g {
		q[i] = -g
	}
	first := 1.0
	if k := len(o.s); k > 0 {
		alpha := make([]float64, k)
		for i := k - 1; i >= 0; i-- {
			alpha[i] = float64(o.rho[i] * f64.Dot(o.s[i], q))
			f64.Axpy(q, -alpha[i], o.y[i])
		}
		f64.Scale(q, 1/float64(o.rho[k-1]*f64.Dot(o.y[k-1], o.y[k-1])))
		for i := range k {
			beta := float64(o.rho[i] * f64.Dot(o.y[i], q))
			f64.Axpy(q, alpha[i]-beta, o.s[i])
		}
	} else if n := norm(o.g); n > 1 {
		first = 1 / n
	}
	slope := f64.Dot(o.g, q)
	if !(slope < 0) {
		if len(o.s) == 0 {
			o.reason = NoProgress
			return true
		}
		o.s, o.y, o.rho = nil, nil, nil
		return o.turn()
	}
	o.search.begin(o.f, slope, first)
	o.moveTrial(first)
	return false
}

const lbfgsKind = 1

// MarshalBinary implements Optimizer.
func (o *LBFGS) MarshalBinary() ([]byte, error) {
	var e canon.E
	e.U8(lbfgsKind)
	o.core.encode(&e)
	o.search.encode(&e)
	e.U32(uint32(len(o.s)))
	for i := range o.s {
		e.F64s(o.s[i])
		e.F64s(o.y[i])
		e.F64(o.rho[i])
	}
	e.F64s(o.loGrad)
	return e.B, nil
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
	for range d.Count(16) {
		n.s, n.y, n.rho = append(n.s, d.F64s()), append(n.y, d.F64s()), append(n.rho, d.F64())
		if k := len(n.s) - 1; len(n.s[k]) != len(n.x) || len(n.y[k]) != len(n.x) {
			d.Fail()
			break
		}
	}
	n.loGrad = d.F64s()
	if err := d.Done("optimizer state"); err != nil {
		return err
	}
	*o = n
	return nil
}
