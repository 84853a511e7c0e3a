package optim

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f32"
)

// Rule is the update rule for mini-batch gradients.
type Rule uint8

// The rules.
const (
	SGD Rule = iota
	Momentum
	Adam
)

// Constants are the parameters of the rules.
type Constants struct {
	Momentum     float64
	Beta1, Beta2 float64 // of Adam (Kingma and Ba 2015)
	Epsilon      float64
}

// usual are Kingma and Ba's defaults, which Keras and PyTorch have too, and the common momentum.
var usual = Constants{Momentum: 0.9, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}

// Mover updates parameters by a rule. It computes in float64 for either type.
type Mover[T float32 | float64] struct {
	Rule Rule
	Constants
	Steps int // steps made
	M, V  []T // the rule's moments: nil before the first step
}

// Move updates x by the gradient g.
func (o *Mover[T]) Move(x, g []T, rate float64) {
	o.Begin(len(x))
	o.Part(x, g, rate, 0, len(x))
}

// Begin begins a step of n parameters, which calls of Part carry out.
func (o *Mover[T]) Begin(n int) {
	if o.M == nil && o.Rule != SGD {
		o.M = make([]T, n)
	}
	if o.V == nil && o.Rule == Adam {
		o.V = make([]T, n)
	}
	o.Steps++
}

// Part updates the parameters [from, to) of x by the gradient g: each once in a step;
// disjoint ranges may be updated concurrently.
func (o *Mover[T]) Part(x, g []T, rate float64, from, to int) {
	x, g = x[from:to], g[from:to]
	part := *o
	if o.M != nil {
		part.M = o.M[from:to]
	}
	if o.V != nil {
		part.V = o.V[from:to]
	}
	o = &part
	switch o.Rule {
	case SGD:
		for i, g := range g {
			x[i] = T(float64(x[i]) - float64(rate*float64(g)))
		}
	case Momentum:
		for i, g := range g {
			o.M[i] = T(float64(o.Momentum*float64(o.M[i])) + float64(g))
			x[i] = T(float64(x[i]) - float64(rate*float64(o.M[i])))
		}
	case Adam:
		c1, c2 := 1-powInt(o.Beta1, o.Steps), 1-powInt(o.Beta2, o.Steps)
		if narrow, ok := any(x).([]float32); ok {
			f32.Adam(narrow, any(g).([]float32), any(o.M).([]float32), any(o.V).([]float32),
				&f32.AdamStep{o.Beta1, 1 - o.Beta1, o.Beta2, 1 - o.Beta2, c1, c2, o.Epsilon, rate})
			return
		}
		for i, g := range g {
			g := float64(g)
			m := float64(o.Beta1*float64(o.M[i])) + float64((1-o.Beta1)*g)
			v := float64(o.Beta2*float64(o.V[i])) + float64((1-o.Beta2)*float64(g*g))
			o.M[i], o.V[i] = T(m), T(v)
			x[i] = T(float64(x[i]) - float64(rate*(m/c1))/(math.Sqrt(v/c2)+o.Epsilon))
		}
	}
}

// Fits reports whether a decoded mover can continue with so many parameters.
func (o *Mover[T]) Fits(params int) bool {
	m, v := 0, 0
	if o.Steps > 0 && o.Rule != SGD {
		m = params
	}
	if o.Steps > 0 && o.Rule == Adam {
		v = params
	}
	return o.Rule <= Adam && o.Steps >= 0 && len(o.M) == m && len(o.V) == v
}

// powInt returns b to the power n by squaring: package math's Pow is not the same on
// every machine.
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
