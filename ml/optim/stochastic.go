package optim

import (
	"math"

	"github.com/tributarydb/tributary/ml/canon"
)

// Rule is how a mini-batch gradient moves the parameters.
type Rule uint8

// The rules.
const (
	SGD Rule = iota
	Momentum
	Adam
)

// Constants of the rules, as their authors and the common frameworks have them.
const (
	momentum  = 0.9
	adamBeta1 = 0.9
	adamBeta2 = 0.999
	adamEps   = 1e-8
)

// Stochastic steps after every mini-batch. An iteration is an epoch; its loss is
// the mean of its mini-batches' losses, each taken at the parameters of its
// time. Mini-batches come in an order that is drawn anew each epoch from seed.
type Stochastic struct {
	rule   Rule
	rate   float64
	seed   uint64
	steps  int
	stop   Stop
	x      []float64
	m, v   []float64
	sumG   []float64 // gradients of the epoch, for the stopping rule
	sumF   float64
	epoch  int
	step   int
	t      int
	f, g   float64
	g0     float64
	reason Reason
}

// NewStochastic starts at x0, which it copies. steps is the number of
// mini-batches of an epoch.
func NewStochastic(x0 []float64, stop Stop, rule Rule, rate float64, steps int, seed uint64) *Stochastic {
	o := &Stochastic{rule: rule, rate: rate, seed: seed, steps: max(steps, 1), stop: stop, g0: -1, f: math.Inf(1)}
	o.x = append(o.x, x0...)
	o.m, o.v, o.sumG = make([]float64, len(x0)), make([]float64, len(x0)), make([]float64, len(x0))
	if stop.MaxIter <= 0 {
		o.reason = Exhausted
	}
	return o
}

// Next implements Optimizer.
func (o *Stochastic) Next() Request {
	return Request{Theta: o.x, Need: Loss | Grad, Batch: &MiniBatch{Epoch: o.epoch, Step: shuffled(o.seed, o.epoch, o.step, o.steps), Steps: o.steps}}
}

// shuffled gives member i of a permutation of n that seed and epoch choose: a
// four-round Feistel network over the next power of four, walked until it
// lands below n, so that no table is kept or shipped.
func shuffled(seed uint64, epoch, i, n int) int {
	half := 1
	for 1<<(2*half) < n {
		half++
	}
	mask := uint64(1)<<half - 1
	key := mix(seed ^ mix(uint64(epoch)+0x9e3779b97f4a7c15))
	v := uint64(i)
	for {
		l, r := v>>half, v&mask
		for round := range uint64(4) {
			l, r = r, l^(mix(key+round*0x9e3779b97f4a7c15+r)&mask)
		}
		if v = l<<half | r; v < uint64(n) {
			return int(v)
		}
	}
}

// mix is the finaliser of SplitMix64.
func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// Tell implements Optimizer.
func (o *Stochastic) Tell(e *Eval) (bool, error) {
	if !finite(e) {
		return false, errDiverged(o.epoch)
	}
	o.t++
	o.sumF += e.Loss
	for i, g := range e.Grad {
		o.sumG[i] += g
	}
	switch o.rule {
	case SGD:
		for i, g := range e.Grad {
			o.x[i] -= float64(o.rate * g)
		}
	case Momentum:
		for i, g := range e.Grad {
			o.m[i] = float64(momentum*o.m[i]) + g
			o.x[i] -= float64(o.rate * o.m[i])
		}
	case Adam:
		c1, c2 := 1-powInt(adamBeta1, o.t), 1-powInt(adamBeta2, o.t)
		for i, g := range e.Grad {
			o.m[i] = float64(adamBeta1*o.m[i]) + float64((1-adamBeta1)*g)
			o.v[i] = float64(adamBeta2*o.v[i]) + float64((1-adamBeta2)*float64(g*g))
			o.x[i] -= float64(o.rate*(o.m[i]/c1)) / (math.Sqrt(o.v[i]/c2) + adamEps)
		}
	}
	if o.step++; o.step < o.steps {
		return false, nil
	}
	n := float64(o.steps)
	o.f, o.g = o.sumF/n, norm(o.sumG)/n
	if o.g0 < 0 {
		o.g0 = o.g
	}
	clear(o.sumG)
	o.sumF, o.step = 0, 0
	o.epoch++
	switch {
	case o.g <= float64(o.stop.Tolerance*o.g0):
		o.reason = Converged
	case o.epoch >= o.stop.MaxIter:
		o.reason = Exhausted
	}
	return o.reason != Running, nil
}

// powInt is b to the n by squaring: package math's Pow is not the same on every
// machine.
func powInt(b float64, n int) float64 {
	r := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r = float64(r * b)
		}
		b = float64(b * b)
	}
	return r
}

// State implements Optimizer.
func (o *Stochastic) State() State {
	return State{Theta: o.x, Loss: o.f, GradNorm: o.g, Iteration: o.epoch, Evals: o.t, Reason: o.reason}
}

const stochasticKind = 4

// MarshalBinary implements Optimizer.
func (o *Stochastic) MarshalBinary() ([]byte, error) {
	var e canon.E
	e.U8(stochasticKind)
	e.U8(uint8(o.rule))
	e.F64(o.rate)
	e.U64(o.seed)
	e.Int(o.steps)
	e.F64(o.stop.Tolerance)
	e.Int(o.stop.MaxIter)
	for _, v := range [][]float64{o.x, o.m, o.v, o.sumG} {
		e.F64s(v)
	}
	for _, v := range []float64{o.sumF, o.f, o.g, o.g0} {
		e.F64(v)
	}
	for _, v := range []int{o.epoch, o.step, o.t} {
		e.Int(v)
	}
	e.U8(uint8(o.reason))
	return e.B, nil
}

// UnmarshalBinary implements Optimizer.
func (o *Stochastic) UnmarshalBinary(b []byte) error {
	d := canon.Read(b)
	if d.U8() != stochasticKind {
		d.Fail()
	}
	n := Stochastic{rule: Rule(d.U8()), rate: d.F64(), seed: d.U64(), steps: d.Int(), stop: Stop{Tolerance: d.F64(), MaxIter: d.Int()},
		x: d.F64s(), m: d.F64s(), v: d.F64s(), sumG: d.F64s(), sumF: d.F64(), f: d.F64(), g: d.F64(), g0: d.F64(),
		epoch: d.Int(), step: d.Int(), t: d.Int(), reason: Reason(d.U8())}
	k := len(n.x)
	if n.rule > Adam || n.reason > NoProgress || n.steps < 1 || n.step < 0 || n.step >= n.steps || n.epoch < 0 ||
		len(n.m) != k || len(n.v) != k || len(n.sumG) != k {
		d.Fail()
	}
	if err := d.Done("optimizer state"); err != nil {
		return err
	}
	*o = n
	return nil
}
