package net

import "github.com/tributarydb/tributary/exec/kernel/f64"

// net is layers one after the other. Their parameters are one vector, in which
// each has a range, so that optimisers and encodings do not depend on the
// layers.
type net struct {
	in     shape
	codes  int // code columns of a step
	layers []layer
	at     []int // where a layer's parameters begin; the last is how many there are
	loss   loss
	micro  int // how many samples go through it at once
}

// microRows is how many samples go through a net at once. Gradients of so many
// are summed within a matrix product, so a model's bytes depend on it.
const microRows = 64

// Samples of many steps go through in fewer at once, so that a tape has about
// tapeNumbers; a sample alone may take sampleNumbers.
const (
	tapeNumbers   = 1 << 23
	sampleNumbers = 1 << 26
)

// newNet makes a net of layers, each made for the output shape of the one before.
func newNet(in shape, codes int, l loss, layers ...layer) *net {
	n := &net{in: in, codes: codes, layers: layers, at: []int{0}, loss: l}
	for _, x := range layers {
		n.at = append(n.at, n.params()+x.params())
	}
	if n.micro = microRows; in.steps > 1 {
		each := n.scratch(2) - n.scratch(1)
		n.micro = max(1, min(microRows, (tapeNumbers-n.scratch(1))/each+1))
	}
	return n
}

// filled returns the number of samples to compute for n: windows are padded to
// whole registers, since a product of 15 samples takes longer than one of 16.
// Padding is zeros of weight 0, which add zeros to every sum.
func (n *net) filled(samples int) int {
	if n.in.steps == 1 || samples <= fewSamples {
		return samples
	}
	return min((samples+f64.Lanes-1)&^(f64.Lanes-1), n.micro)
}

// fewSamples is up to how many samples are not padded, as products handle so few without registers
// of samples.
const fewSamples = 4

// params is the number of parameters.
func (n *net) params() int { return n.at[len(n.at)-1] }

// out is the shape of the outputs.
func (n *net) out() shape { return n.layers[len(n.layers)-1].out() }

// of returns layer i's part of a vector of parameters.
func (n *net) of(i int, p []float32) []float32 { return p[n.at[i]:n.at[i+1]:n.at[i+1]] }

// weights visits the ranges of parameters that penalties and weight decay apply to.
func (n *net) weights(f func(from, to int)) {
	for i, l := range n.layers {
		w := l.params()
		if b, ok := l.(biased); ok {
			w = b.weights()
		}
		f(n.at[i], n.at[i]+w)
	}
}

// init draws the first parameters.
func (n *net) init(seed uint64) []float32 {
	p := make([]float32, n.params())
	for i, l := range n.layers {
		l.init(n.of(i, p), &rng{key: hash(seed, uint64(i))})
	}
	return p
}

// scratch is how many numbers a tape needs for so many samples: their inputs,
// what the layers take, and the gradient of the outputs.
func (n *net) scratch(samples int) int {
	s := samples * (n.in.size() + n.out().size())
	for _, l := range n.layers {
		s += l.scratch(samples)
	}
	return s
}

// forward returns the outputs for the inputs, and the codes on the tape.
func (n *net) forward(p []float32, in *tensor, t *tape) *tensor {
	for i, l := range n.layers {
		in = l.forward(n.of(i, p), in, t)
	}
	return in
}

// learn adds the gradient of Σ weight·loss to g and returns that sum, for the last
// outputs of forward.
func (n *net) learn(p, g []float32, out, y *tensor, weight []float64, t *tape) float64 {
	d := t.tensor(out.n, out.shape)
	sum := n.loss.eval(out, y, weight, d)
	n.backward(p, g, d, t)
	return sum
}

// backward adds the gradient to g whose part by the outputs is d, and returns that by
// the inputs, nil where the first layer has none.
func (n *net) backward(p, g []float32, d *tensor, t *tape) *tensor {
	for i := len(n.layers) - 1; i >= 0; i-- {
		d = n.layers[i].backward(n.of(i, p), n.of(i, g), d, t)
	}
	return d
}
