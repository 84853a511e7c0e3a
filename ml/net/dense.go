package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f32"
)

// dense is x·W + b at every step. Its parameters are W, a row an input, and b.
type dense struct {
	in    shape
	width int
	he    bool // how the first weights are drawn
	first bool // nobody needs the input's gradient
}

func (d *dense) params() int { return (d.in.width + 1) * d.width }

func (d *dense) weights() int { return d.in.width * d.width }

func (d *dense) out() shape { return shape{d.in.steps, d.width} }

func (d *dense) scratch(n int) int {
	s := n * d.out().size()
	if !d.first {
		s += n * d.in.size()
	}
	return s
}

// init draws weights uniformly so that their variance is 1 over the mean of the
// numbers of inputs and outputs (Glorot and Bengio 2010), or 2 over that of
// inputs, which deep nets of relu want (He et al. 2015).
func (d *dense) init(p []float32, r *rng) {
	variance := 2 / float64(max(d.in.width+d.width, 1))
	if d.he {
		variance = 2 / float64(max(d.in.width, 1))
	}
	w := p[:d.in.width*d.width]
	r.fill(w, math.Sqrt(3*variance))
	clear(p[len(w):])
}

func (d *dense) forward(p []float32, in *tensor, t *tape) *tensor {
	out := t.tensor(in.n, d.out())
	bias := p[d.in.width*d.width:]
	for i := range out.rows() {
		copy(out.row(i), bias)
	}
	f32.Gemm(false, false, in.rows(), d.width, d.in.width, in.v, d.in.width, p, d.width, out.v, d.width, true)
	t.push(in)
	return out
}

func (d *dense) backward(p, g []float32, dout *tensor, t *tape) *tensor {
	in := t.pop()
	f32.Gemm(true, false, d.in.width, d.width, in.rows(), in.v, d.in.width, dout.v, d.width, g, d.width, true)
	bias := g[d.in.width*d.width:]
	for i := range dout.rows() {
		for j, v := range dout.row(i) {
			bias[j] += v
		}
	}
	if d.first {
		return nil
	}
	din := t.tensor(in.n, d.in)
	f32.Gemm(false, true, in.rows(), d.in.width, d.width, dout.v, d.width, p, d.width, din.v, d.in.width, false)
	return din
}
