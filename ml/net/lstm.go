package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f32"
	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// lstm is long short-term memory (Hochreiter and Schmidhuber 1997) with forget
// gates (Gers, Schmidhuber and Cummins 2000). For each step of a sample
//
//	[i f o g] = x·Wx + h·Wh + b     h and c of the step before, 0 at first
//	c = sigmoid(f)·c + sigmoid(i)·tanh(g)
//	h = sigmoid(o)·tanh(c)
//
// and h of every step, or of the last one alone, is the output. Its parameters
// are Wx, a row an input, Wh, a row a unit, and b, each 4·units wide.
type lstm struct {
	in        shape
	units     int
	sequences bool // every step is put out
	first     bool // nobody needs the input's gradient
}

func (l *lstm) params() int { return (l.in.width + l.units + 1) * 4 * l.units }

// weights is without the biases.
func (l *lstm) weights() int { return l.params() - 4*l.units }

func (l *lstm) out() shape {
	if l.sequences {
		return shape{l.in.steps, l.units}
	}
	return shape{1, l.units}
}

// The steps of a sample keep their gates, c, tanh(c) and the h before them; back
// go the gradients of one step's h and c.
func (l *lstm) scratch(n int) int {
	s := n * (l.in.steps*7*l.units + l.out().size() + 2*l.units)
	if !l.first {
		s += n * l.in.size()
	}
	return s
}

// init is Keras's: Wx uniform by Glorot and Bengio (2010) over the inputs and all
// four gates, Wh of orthonormal rows (Saxe et al. 2014), b 0 but 1 for the forget
// gate (Jozefowicz et al. 2015).
func (l *lstm) init(p []float32, r *rng) {
	wide := 4 * l.units
	wx, wh, b := l.split(p)
	r.fill(wx, math.Sqrt(6/float64(l.in.width+wide)))
	orthonormal(wh, wide, r)
	clear(b)
	for j := range l.units {
		b[l.units+j] = 1
	}
}

func (l *lstm) split(p []float32) (wx, wh, b []float32) {
	wide := 4 * l.units
	return p[:l.in.width*wide], p[l.in.width*wide : (l.in.width+l.units)*wide], p[(l.in.width+l.units)*wide:]
}

// orthonormalRows bounds what the first recurrent weights cost: rows of more are
// orthonormal in groups of so many.
const orthonormalRows = 256

// orthonormal draws rows of this width, at most as many, by Gram and Schmidt's
// process, twice for the sake of rounding.
func orthonormal(p []float32, width int, r *rng) {
	if most := orthonormalRows * width; len(p) > most {
		orthonormal(p[:most], width, r)
		orthonormal(p[most:], width, r)
		return
	}
	rows := make([][]float64, len(p)/width)
	for i := range rows {
		x := make([]float64, width)
		for j := range x {
			x[j] = float64(r.uniform(1))
		}
		for range 2 {
			for _, y := range rows[:i] {
				f64.Axpy(x, -f64.Dot(x, y), y)
			}
			f64.Scale(x, 1/math.Sqrt(f64.Dot(x, x)))
		}
		rows[i] = x
		for j, v := range x {
			p[i*width+j] = float32(v)
		}
	}
}

func (l *lstm) forward(p []float32, in *tensor, t *tape) *tensor {
	u, steps := l.units, l.in.steps
	wide, each := 4*u, shape{steps, u}
	wx, wh, b := l.split(p)
	gates := t.tensor(in.n, shape{steps, wide})
	c, th, before := t.tensor(in.n, each), t.tensor(in.n, each), t.tensor(in.n, each)
	out := t.tensor(in.n, l.out())
	for i := range gates.rows() {
		copy(gates.row(i), b)
	}
	f32.Gemm(false, false, in.rows(), wide, l.in.width, in.v, l.in.width, wx, wide, gates.v, wide, true)
	for s := range steps {
		if s > 0 {
			f32.Gemm(false, false, in.n, wide, u, before.v[s*u:], steps*u, wh, wide, gates.v[s*wide:], steps*wide, true)
		}
		for i := range in.n {
			at := i*steps + s
			z, cs, ths := gates.row(at), c.row(at), th.row(at)
			f32.Sigmoid(z[:3*u], z[:3*u])
			f32.Tanh(z[3*u:], z[3*u:])
			ig, fg, og, g := z[:u], z[u:2*u], z[2*u:3*u], z[3*u:]
			if s == 0 {
				clear(before.row(at))
				for j := range cs {
					cs[j] = ig[j] * g[j]
				}
			} else {
				was := c.row(at - 1)
				for j := range cs {
					cs[j] = float32(fg[j]*was[j]) + float32(ig[j]*g[j])
				}
			}
			f32.Tanh(ths, cs)
			var h []float32
			switch {
			case l.sequences:
				h = out.row(at)
			case s == steps-1:
				h = out.row(i)
			default:
				h = before.row(at + 1)
			}
			for j := range h {
				h[j] = og[j] * ths[j]
			}
			if l.sequences && s < steps-1 {
				copy(before.row(at+1), h)
			}
		}
	}
	for _, x := range []*tensor{in, gates, c, th, before} {
		t.push(x)
	}
	return out
}

// backward goes through all steps of the window. The gradients of the gates
// before their functions take the gates' place.
func (l *lstm) backward(p, g []float32, dout *tensor, t *tape) *tensor {
	before, th, c, gates, in := t.pop(), t.pop(), t.pop(), t.pop(), t.pop()
	u, steps := l.units, l.in.steps
	wide := 4 * u
	wx, wh, _ := l.split(p)
	dwx, dwh, db := l.split(g)
	dh, dc := t.tensor(in.n, shape{1, u}), t.tensor(in.n, shape{1, u})
	clear(dc.v)
	for s := steps - 1; s >= 0; s-- {
		switch {
		case l.sequences:
			for i := range in.n {
				copy(dh.row(i), dout.row(i*steps+s))
			}
		case s == steps-1:
			copy(dh.v, dout.v)
		}
		if s < steps-1 {
			f32.Gemm(false, true, in.n, u, wide, gates.v[(s+1)*wide:], steps*wide, wh, wide, dh.v, u, l.sequences)
		}
		for i := range in.n {
			at := i*steps + s
			var was []float32
			if s > 0 {
				was = c.row(at - 1)
			}
			cellBackward(gates.row(at), was, th.row(at), dh.row(i), dc.row(i))
		}
	}
	f32.Gemm(true, false, l.in.width, wide, in.rows(), in.v, l.in.width, gates.v, wide, dwx, wide, true)
	f32.Gemm(true, false, u, wide, in.rows(), before.v, u, gates.v, wide, dwh, wide, true)
	for i := range gates.rows() {
		for j, v := range gates.row(i) {
			db[j] += v
		}
	}
	if l.first {
		return nil
	}
	din := t.tensor(in.n, l.in)
	f32.Gemm(false, true, in.rows(), l.in.width, wide, gates.v, wide, wx, wide, din.v, l.in.width, false)
	return din
}

// cellBackward turns a step's gates into the gradients of what they are made of,
// and dc, the gradient of c from later steps, into that for the step before, whose
// c is was, nil at first.
func cellBackward(z, was, th, dh, dc []float32) {
	u := len(th)
	ig, fg, og, g := z[:u], z[u:2*u], z[2*u:3*u], z[3*u:]
	dh, dc = dh[:u], dc[:u]
	for j, tc := range th {
		i, f, o, gj := ig[j], fg[j], og[j], g[j]
		d := dc[j] + float32(float32(dh[j]*o)*(1-float32(tc*tc)))
		og[j] = float32(dh[j]*tc) * float32(o*(1-o))
		ig[j] = float32(d*gj) * float32(i*(1-i))
		g[j] = float32(d*i) * (1 - float32(gj*gj))
		dc[j] = d * f
		if was == nil {
			fg[j] = 0
		} else {
			fg[j] = float32(d*was[j]) * float32(f*(1-f))
		}
	}
}
