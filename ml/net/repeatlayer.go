package net

import "github.com/tributarydb/tributary/exec/kernel/f32"

// repeat outputs a sample's single step this many times: the input of a decoder
// (Srivastava, Mansimov and Salakhudinov 2015).
type repeat struct {
	in    shape // of one step
	steps int
}

func (l *repeat) params() int              { return 0 }
func (l *repeat) init(_ []float32, _ *rng) {}
func (l *repeat) out() shape               { return shape{l.steps, l.in.width} }
func (l *repeat) scratch(n int) int        { return n * (l.steps + 1) * l.in.width }

func (l *repeat) forward(_ []float32, in *tensor, t *tape) *tensor {
	out := t.tensor(in.n, l.out())
	for s := range l.steps {
		copy(out.step(s), in.v)
	}
	return out
}

func (l *repeat) backward(_, _ []float32, dout *tensor, t *tape) *tensor {
	din := t.tensor(dout.n, l.in)
	clear(din.v)
	for s := range l.steps {
		f32.Add(din.v, dout.step(s))
	}
	return din
}
