package net

import (
	"github.com/tributarydb/tributary/exec/kernel/f32"
)

// activation is a function of each number, one of those below.
type activation struct {
	in shape
	fn string
}

// The functions by their names in statements.
const (
	relu    = "relu"
	gelu    = "gelu"
	tanh    = "tanh"
	sigmoid = "sigmoid"
)

func (a *activation) params() int              { return 0 }
func (a *activation) init(_ []float32, _ *rng) {}
func (a *activation) out() shape               { return a.in }

func (a *activation) scratch(n int) int {
	if a.fn == gelu {
		return 2 * n * a.in.size()
	}
	return n * a.in.size()
}

// √(2/π) and the other constant of gelu's approximation by tanh (Hendrycks and
// Gimpel 2016).
const (
	geluScale = 0.7978845608028654
	geluCube  = 0.044715
)

func (a *activation) forward(_ []float32, in *tensor, t *tape) *tensor {
	out := t.tensor(in.n, a.in)
	switch a.fn {
	case relu:
		f32.Relu(out.v, in.v)
	case tanh:
		f32.Tanh(out.v, in.v)
	case sigmoid:
		f32.Sigmoid(out.v, in.v)
	case gelu:
		h := t.tensor(in.n, a.in)
		for i, v := range in.v {
			h.v[i] = geluScale * (v + float32(geluCube*v*v*v))
		}
		f32.Tanh(h.v, h.v)
		for i, v := range in.v {
			out.v[i] = 0.5 * v * (1 + h.v[i])
		}
		t.push(in)
		t.push(h)
		return out
	}
	t.push(out)
	return out
}

func (a *activation) backward(_, _ []float32, dout *tensor, t *tape) *tensor {
	out := t.pop()
	switch a.fn {
	case relu:
		f32.ReluBack(dout.v, out.v)
	case tanh:
		for i, v := range out.v {
			dout.v[i] *= 1 - float32(v*v)
		}
	case sigmoid:
		for i, v := range out.v {
			dout.v[i] *= v * (1 - v)
		}
	case gelu:
		in := t.pop()
		for i, h := range out.v {
			v := in.v[i]
			slope := geluScale * (1 + float32(3*geluCube*v*v))
			dout.v[i] *= float32(0.5*(1+h)) + float32(float32(0.5*v)*float32(1-float32(h*h))*slope)
		}
	}
	return dout
}
