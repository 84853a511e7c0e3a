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
	sequences bool // the output has every step, not only the last
	first     bool // the input's gradient is not needed
}

func (l *lstm) params() int { return (l.in.width + l.units + 1) * 4 * l.units }

// weights is the number of parameters without the biases.
func (l *lstm) weights() int { return l.params() - 4*l.units }

func (l *lstm) out() shape {
	if l.sequences {
		return shape{l.in.steps, l.units}
	}
	return shape{1, l.units}
}

// For each step the tape keeps the gates, c and tanh(c), and the step's input: x,
// h of the step before, and 1, whose weights are the biases, so that all
// parameters are one matrix. A step is computed for all samples at once.
func (l *lstm) scratch(n int) int {
	of, wide, u, steps := l.of(), 4*l.units, l.units, l.in.steps
	s := n*(steps*(wide+u)+(steps+1)*(of+u)+l.out().size()) + packedSize(n, wide, of)
	s += n * u
	if !l.first {
		s += n * l.in.size()
	}
	return s
}

// of is the number of inputs of a gate.
func (l *lstm) of() int { return l.in.width + l.units + 1 }

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

// orthonormalRows bounds the time of initialising the recurrent weights, which
// grows with the square of the rows: more rows are orthonormal in groups of this
// many.
const orthonormalRows = 256

// orthonormal draws at most width orthonormal rows of this width, by the
// Gram-Schmidt process, done twice against rounding.
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

// stepsSamples is about how many samples' steps the parameters' gradient is computed for at
// once: each product reads and writes the whole gradient, and the steps' tensors must still
// be in the cache.
const stepsSamples = 256

// A matrix is packed once for all steps if there are enough samples to pay for it,
// and if it is not larger than this: for a larger one packing takes much memory and
// saves little time.
const (
	packedSamples = 8
	packedNumbers = 1 << 19
)

func packedSize(samples, m, k int) int {
	if s := f32.PackedSize(m, k); samples >= packedSamples && s <= packedNumbers {
		return s
	}
	return 0
}

func (l *lstm) forward(p []float32, in *tensor, t *tape) *tensor {
	n, u, steps, wide, of := in.n, l.units, l.in.steps, 4*l.units, l.of()
	kept := steps
	if t.once {
		kept = 1
	}
	gates, th := t.take(n*kept*wide), t.take(n*kept*u)
	from, c := t.take(n*(kept+1)*of), t.take(n*(kept+1)*u)
	out := t.tensor(n, l.out())
	weights := f32.Pack(true, wide, of, p, wide, t.take(packedSize(n, wide, of)))
	clear(c[:n*u])
	clear(from[n*l.in.width:][:n*u])
	for s := range steps {
		here, then := s%(kept+1)*n, (s+1)%(kept+1)*n
		z, x := gates[s%kept*n*wide:][:n*wide], from[here*of:][:n*of]
		copy(x, in.step(s))
		fill(x[n*(of-1):], 1)
		weights.Gemm(false, n, x, n, z, n, false)
		h := from[then*of+n*l.in.width:][:n*u]
		to := h
		switch {
		case l.sequences:
			to = out.step(s)
		case s == steps-1:
			to = out.v
		}
		f32.CellForward(z, c[here*u:][:n*u], c[then*u:][:n*u], th[s%kept*n*u:][:n*u], h, to)
	}
	for _, v := range [][]float32{gates, th, from, c} {
		t.push(t.of(n, shape{}, v))
	}
	return out
}

// backward goes through all steps of the window. The gradients of the gates
// overwrite the gates, those of a step's h the gradient of its output.
func (l *lstm) backward(p, g []float32, dout *tensor, t *tape) *tensor {
	c, from, th, gates := t.pop().v, t.pop().v, t.pop().v, t.pop().v
	n, u, steps, wide, of := dout.n, l.units, l.in.steps, 4*l.units, l.of()
	wx, wh, _ := l.split(p)
	dc, dh := t.take(n*u), dout.step(l.out().steps-1)
	var din *tensor
	if !l.first {
		din = t.tensor(n, l.in)
	}
	clear(dc)
	for s, done := steps-1, steps; s >= 0; s-- {
		z := gates[s*n*wide:][:n*wide]
		f32.CellBackward(z, c[s*n*u:][:n*u], th[s*n*u:][:n*u], dh, dc)
		if s > 0 {
			if l.sequences { // each step's output has a gradient
				dh = dout.step(s - 1)
			}
			f32.Gemm(false, false, u, n, wide, wh, wide, z, n, dh, n, l.sequences)
		}
		if !l.first {
			f32.Gemm(false, false, l.in.width, n, wide, wx, wide, z, n, din.step(s), n, false)
		}
		if (done-s)*n >= stepsSamples || s == 0 {
			f32.GemmSteps(of, wide, n, done-s, from[s*n*of:], gates[s*n*wide:], g)
			done = s
		}
	}
	return din
}
