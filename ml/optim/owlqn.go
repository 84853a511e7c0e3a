package optim

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// OWLQN minimises a smooth loss and an L1 penalty: limited-memory BFGS within the
// orthant that the negative pseudo-gradient points into, where the penalty is linear,
// with a line search that stops at its boundary (Andrew and Gao, "Scalable training of
// L1-regularized log-linear models", 2007).
type OWLQN struct {
	core // f includes the penalty, g is of the smooth part
	l1   []float64
	past curvature
	// pseudo is the pseudo-gradient: the subgradient of least norm.
	pseudo []float64
	alpha  float64
	halved int
}

// NewOWLQN starts at x0. l1 has the penalty on the absolute value of each
// parameter; both are copied.
func NewOWLQN(x0, l1 []float64, stop Stop) *OWLQN {
	return &OWLQN{core: newCore(x0, stop), l1: append([]float64{}, l1...), pseudo: make([]float64, len(x0))}
}

// Next implements Optimizer.
func (o *OWLQN) Next() Request { return Request{Theta: o.trial, Need: Loss | Grad} }

// State implements Optimizer.
func (o *OWLQN) State() State {
	s := o.core.State()
	s.GradNorm = norm(o.pseudo)
	return s
}

// Tell implements Optimizer. The evaluation is of the smooth part.
func (o *OWLQN) Tell(e *Eval) (bool, error) {
	o.evals++
	f := e.Loss
	for i, l := range o.l1 {
		f += float64(l * math.Abs(o.trial[i]))
	}
	if !finite(e) || !isFinite(f) {
		if !o.started {
			return false, Diverged(0)
		}
		return o.shorter(), nil
	}
	if o.started {
		// The sufficient decrease is measured along the projected step.
		slope := 0.0
		for i, p := range o.pseudo {
			slope = f64.FMA(p, o.trial[i]-o.x[i], slope)
		}
		if noise := float64(1e-13 * math.Abs(o.f)); f > o.f+float64(wolfeDecrease*slope)+noise {
			return o.shorter(), nil
		}
		if f >= o.f && slope >= float64(-1e-15*math.Abs(o.f)) {
			o.reason = NoProgress
			return true, nil
		}
		o.past.learn(o.x, o.trial, o.g, e.Grad)
	}
	for i, g := range e.Grad {
		o.pseudo[i] = pseudo(o.trial[i], g, o.l1[i])
	}
	if o.acceptAt(&Eval{Loss: f, Grad: e.Grad}, norm(o.pseudo)) {
		return true, nil
	}
	return o.turn(), nil
}

// pseudo returns the derivative by x of loss + l·|x|, where the loss has derivative g:
// at 0 the one-sided derivative that allows a decrease, or 0.
func pseudo(x, g, l float64) float64 {
	switch {
	case x > 0:
		return g + l
	case x < 0:
		return g - l
	case g+l < 0:
		return g + l
	case g-l > 0:
		return g - l
	}
	return 0
}

// shorter halves the step.
func (o *OWLQN) shorter() bool {
	if o.halved++; o.halved > maxHalvings {
		if o.past.forget() {
			o.reason = NoProgress
			return true
		}
		return o.turn()
	}
	o.alpha = float64(o.alpha * 0.5)
	o.move()
	return false
}

// turn computes the next direction and starts a search along it.
func (o *OWLQN) turn() bool {
	q := o.direction
	for i, p := range o.pseudo {
		q[i] = -p
	}
	o.alpha, o.halved = 1, 0
	if !o.past.shape(q) {
		if n := norm(o.pseudo); n > 1 {
			o.alpha = 1 / n
		}
	}
	slope := 0.0
	for i, p := range o.pseudo {
		if float64(q[i]*p) >= 0 { // not a descent direction for this parameter
			q[i] = 0
		}
		slope = f64.FMA(q[i], p, slope)
	}
	if !(slope < 0) {
		if o.past.forget() {
			o.reason = NoProgress
			return true
		}
		return o.turn()
	}
	o.move()
	return false
}

// move sets the trial: a parameter under the penalty does not change its sign.
func (o *OWLQN) move() {
	o.moveTrial(o.alpha)
	for i, l := range o.l1 {
		side := o.x[i]
		if side == 0 {
			side = -o.pseudo[i]
		}
		if l > 0 && !(float64(o.trial[i]*math.Copysign(1, side)) > 0) {
			o.trial[i] = 0
		}
	}
}

const owlqnKind = 5

// Encode implements Optimizer.
func (o *OWLQN) Encode(e *canon.E) {
	e.U8(owlqnKind)
	o.core.encode(e)
	e.F64s(o.l1)
	o.past.encode(e)
	e.F64s(o.pseudo)
	e.F64(o.alpha)
	e.Int(o.halved)
}

// UnmarshalBinary implements Optimizer.
func (o *OWLQN) UnmarshalBinary(b []byte) error {
	d := canon.Read(b)
	var n OWLQN
	if d.U8() != owlqnKind {
		d.Fail()
	}
	n.core.decode(d)
	n.l1 = d.F64s()
	n.past.decode(d, len(n.x))
	n.pseudo, n.alpha, n.halved = d.F64s(), d.F64(), d.Int()
	if len(n.l1) != len(n.x) || len(n.pseudo) != len(n.x) {
		d.Fail()
	}
	if err := d.Done("optimizer state"); err != nil {
		return err
	}
	*o = n
	return nil
}
