package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f32"
)

// dense is x·W + b at every step. Its parameters are W, a row an input, and b.
type dense struct {
	in    shape
	width int
	he    bool // He's initialisation, not Glorot's
	first bool // the input's gradient is not needed
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
// inputs, which keeps the variance through layers of relu (He et al. 2015).
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
	for s := range d.in.steps {
		for j, v := range bias {
			fill(out.column(s, j), v)
		}
		f32.Gemm(true, false, d.width, in.n, d.in.width, p, d.width, in.step(s), in.n, out.step(s), in.n, true)
	}
	t.push(in)
	return out
}

func (d *dense) backward(p, g []float32, dout *tensor, t *tape) *tensor {
	in := t.pop()
	bias := g[d.in.width*d.width:]
	f32.GemmSteps(d.in.width, d.width, in.n, d.in.steps, in.v, dout.v, g)
	for s := range d.in.steps {
		addColumns(bias, dout.step(s), in.n)
	}
	if d.first {
		return nil
	}
	din := t.tensor(in.n, d.in)
	for s := range d.in.steps {
		f32.Gemm(false, false, d.in.width, in.n, d.width, p, d.width, dout.step(s), in.n, din.step(s), in.n, false)
	}
	return din
}

// fill sets x to v, eight numbers at a time.
func fill(x []float32, v float32) {
	eight := [8]float32{v, v, v, v, v, v, v, v}
	for ; len(x) >= len(eight); x = x[len(eight):] {
		*(*[8]float32)(x) = eight
	}
	for i := range x {
		x[i] = v
	}
}

// addColumns adds to each sum the numbers of its column, in order. It works on
// four sums at once, since each addition depends on the one before.
func addColumns(sums, x []float32, n int) {
	j := 0
	for ; j+4 <= len(sums); j += 4 {
		x0, x1, x2, x3 := x[j*n:][:n], x[(j+1)*n:][:n], x[(j+2)*n:][:n], x[(j+3)*n:][:n]
		s0, s1, s2, s3 := sums[j], sums[j+1], sums[j+2], sums[j+3]
		for i, v := range x0 {
			s0, s1, s2, s3 = s0+v, s1+x1[i], s2+x2[i], s3+x3[i]
		}
		sums[j], sums[j+1], sums[j+2], sums[j+3] = s0, s1, s2, s3
	}
	for ; j < len(sums); j++ {
		for _, v := range x[j*n:][:n] {
			sums[j] += v
		}
	}
}
