package optim

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// GD is gradient descent over all rows: with a constant rate, or with a line search
// that starts from the Barzilai-Borwein step (1988) and halves it until the loss falls.
type GD struct {
	core
	backtrack
	rate float64 // 0: line search
}

// NewGD starts at x0, which it copies. rate 0 asks for the line search.
func NewGD(x0 []float64, stop Stop, rate float64) *GD {
	return &GD{core: newCore(x0, stop), rate: rate}
}

// Next implements Optimizer.
func (o *GD) Next() Request { return Request{Theta: o.trial, Need: Loss | Grad} }

// Tell implements Optimizer.
func (o *GD) Tell(e *Eval) (bool, error) {
	o.evals++
	if (!o.started || o.rate > 0) && !finite(e) {
		return false, Diverged(o.iter)
	}
	next := o.rate
	switch {
	case o.rate > 0:
	case !o.started:
		next = 1 / math.Max(1, norm(e.Grad))
	default:
		gg := f64.Dot(o.g, o.g)
		if o.short(&o.core, e, o.f-float64(wolfeDecrease*o.alpha*gg)) {
			return o.reason != Running, nil
		}
		// Barzilai and Borwein: |s|²/(s·y), s = -alpha·g, y = new gradient - g
		next = float64(2 * o.alpha)
		if sy := float64(o.alpha * (gg - f64.Dot(o.g, e.Grad))); sy > 0 {
			next = float64(float64(o.alpha*o.alpha)*gg) / sy
		}
	}
	if o.accept(e) {
		return true, nil
	}
	for i, g := range o.g {
		o.direction[i] = -g
	}
	o.set(&o.core, next)
	return false, nil
}

const gdKind = 3

// Encode implements Optimizer.
func (o *GD) Encode(e *canon.E) {
	e.U8(gdKind)
	o.core.encode(e)
	e.F64(o.rate)
	o.backtrack.encode(e)
}

// UnmarshalBinary implements Optimizer.
func (o *GD) UnmarshalBinary(b []byte) error {
	d := canon.Read(b)
	var n GD
	if d.U8() != gdKind {
		d.Fail()
	}
	n.core.decode(d)
	n.rate = d.F64()
	n.backtrack.decode(d)
	if err := d.Done("optimizer state"); err != nil {
		return err
	}
	*o = n
	return nil
}
