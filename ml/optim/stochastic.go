package optim

import (
	"math"

	"github.com/tributarydb/tributary/ml/canon"
)

// Stochastic takes a step for every mini-batch. An iteration is an epoch; its loss is
// the mean of its mini-batches' losses, each at the parameters before its step. The
// order of mini-batches is drawn again each epoch from seed.
type Stochastic struct {
	move   Mover[float64]
	rate   float64
	seed   uint64
	cut    Epoch
	stop   Stop
	x      []float64
	sumG   []float64 // gradients of the epoch, for the stopping rule
	sumF   float64
	epoch  int
	step   int
	f, g   float64
	g0     float64
	reason Reason
}

// NewStochastic starts at x0, which it copies.
func NewStochastic(x0 []float64, stop Stop, rule Rule, rate float64, cut Epoch, seed uint64) *Stochastic {
	o := &Stochastic{move: Mover[float64]{Rule: rule, Constants: usual}, rate: rate, seed: seed, cut: cut, stop: stop, g0: -1, f: math.Inf(1)}
	o.x = append(o.x, x0...)
	o.sumG = make([]float64, len(x0))
	if stop.MaxIter <= 0 {
		o.reason = Exhausted
	}
	return o
}

// Next implements Optimizer.
func (o *Stochastic) Next() Request {
	return Request{Theta: o.x, Need: Loss | Grad, Batch: &MiniBatch{Epoch: o.epoch, Step: o.cut.Shuffled(o.seed, o.epoch, o.step), Steps: o.cut.Steps}}
}

// Epoch is how an epoch is divided: its number of mini-batches, and the length of a
// run: mini-batches that are adjacent in the rows and in time. So rows that do not fit
// in memory are read once an epoch, and not for each mini-batch. The rows are in the
// order of a hash, so that any run is a random sample.
type Epoch struct{ Steps, Run int }

// runRows is about the number of rows of a run: not more than a leaf has.
const runRows = 16384

// EpochOf divides an epoch over so many rows into mini-batches.
func EpochOf(rows int64, steps int) Epoch {
	return Epoch{steps, int(max(runRows*int64(steps)/max(rows, 1), 1))}
}

// Shuffled returns the i-th mini-batch in time. The order of runs depends on seed and
// epoch, the first one begins at a random offset, and the mini-batches of a run are
// shuffled. A single run is shuffled as a whole.
func (e Epoch) Shuffled(seed uint64, epoch, i int) int {
	runs := e.Steps / max(e.Run, 1)
	if runs < 2 {
		return shuffled(seed, epoch, i, e.Steps)
	}
	first := shuffled(seed, epoch, e.Steps, 4*e.Steps) % e.Steps
	if at := runs * e.Run; i >= at { // the rest after the last whole run
		return (first + i) % e.Steps
	}
	run := shuffled(seed, epoch, i/e.Run, runs)
	return (first + run*e.Run + shuffled(mix(seed+uint64(run)), epoch, i%e.Run, e.Run)) % e.Steps
}

// shuffled returns member i of a permutation of n that seed and epoch choose: a
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
		return false, Diverged(o.epoch)
	}
	o.sumF += e.Loss
	for i, g := range e.Grad {
		o.sumG[i] += g
	}
	o.move.Move(o.x, e.Grad, o.rate)
	if o.step++; o.step < o.cut.Steps {
		return false, nil
	}
	n := float64(o.cut.Steps)
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

// State implements Optimizer.
func (o *Stochastic) State() State {
	return State{Theta: o.x, Loss: o.f, GradNorm: o.g, Iteration: o.epoch, Evals: o.move.Steps, Reason: o.reason}
}

const stochasticKind = 4

// Encode implements Optimizer.
func (o *Stochastic) Encode(e *canon.E) {
	e.U8(stochasticKind)
	e.U8(uint8(o.move.Rule))
	e.F64(o.rate)
	e.U64(o.seed)
	e.Int(o.cut.Steps)
	e.Int(o.cut.Run)
	e.F64(o.stop.Tolerance)
	e.Int(o.stop.MaxIter)
	for _, v := range [][]float64{o.x, o.move.M, o.move.V, o.sumG} {
		e.F64s(v)
	}
	for _, v := range []float64{o.sumF, o.f, o.g, o.g0} {
		e.F64(v)
	}
	for _, v := range []int{o.epoch, o.step, o.move.Steps} {
		e.Int(v)
	}
	e.U8(uint8(o.reason))
}

// UnmarshalBinary implements Optimizer.
func (o *Stochastic) UnmarshalBinary(b []byte) error {
	d := canon.Read(b)
	if d.U8() != stochasticKind {
		d.Fail()
	}
	n := Stochastic{move: Mover[float64]{Rule: Rule(d.U8()), Constants: usual}, rate: d.F64(), seed: d.U64(), cut: Epoch{d.Int(), d.Int()}, stop: Stop{Tolerance: d.F64(), MaxIter: d.Int()}, x: d.F64s()}
	n.move.M, n.move.V = d.F64s(), d.F64s()
	n.sumG, n.sumF, n.f, n.g, n.g0, n.epoch, n.step, n.move.Steps, n.reason = d.F64s(), d.F64(), d.F64(), d.F64(), d.F64(), d.Int(), d.Int(), d.Int(), Reason(d.U8())
	if !n.move.Fits(len(n.x)) || n.reason > NoProgress || n.cut.Steps < 1 || n.cut.Run < 0 || n.step < 0 || n.step >= n.cut.Steps || n.epoch < 0 ||
		len(n.sumG) != len(n.x) {
		d.Fail()
	}
	if err := d.Done("optimizer state"); err != nil {
		return err
	}
	*o = n
	return nil
}
