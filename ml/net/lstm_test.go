package net

import (
	"fmt"
	"math"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/feature"
)

// reference is an LSTM in float64 by its equations, for one sample.
func (l *lstm) reference(p []float64, x []float64) []float64 {
	u, wide := l.units, 4*l.units
	wh, b := p[l.in.width*wide:], p[(l.in.width+u)*wide:]
	sigmoid := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	h, c := make([]float64, u), make([]float64, u)
	var out []float64
	for s := range l.in.steps {
		gate := func(k, j int) float64 {
			z := b[k*u+j]
			for i := range l.in.width {
				z += x[s*l.in.width+i] * p[i*wide+k*u+j]
			}
			for i := range u {
				z += h[i] * wh[i*wide+k*u+j]
			}
			return z
		}
		next := make([]float64, u)
		for j := range u {
			c[j] = sigmoid(gate(1, j))*c[j] + sigmoid(gate(0, j))*math.Tanh(gate(3, j))
			next[j] = sigmoid(gate(2, j)) * math.Tanh(c[j])
		}
		h = next
		if l.sequences || s == l.in.steps-1 {
			out = append(out, h...)
		}
	}
	return out
}

// TestLSTM: outputs and gradients agree with the equations in float64, whose differences are
// precise enough to check every gradient.
func TestLSTM(t *testing.T) {
	for _, in := range []shape{{1, 3}, {6, 2}} {
		for _, sequences := range []bool{false, true} {
			for _, units := range []int{1, 5, 9} {
				l := &lstm{in: in, units: units, sequences: sequences}
				t.Run(fmt.Sprint(in, sequences, units), func(t *testing.T) {
					n := 5 + units // and so with packed weights and without
					r := &rng{key: 17}
					p, g := make([]float32, l.params()), make([]float32, l.params())
					l.init(p, r)
					x := &tensor{n, in, make([]float32, n*in.size())}
					r.fill(x.v, 2)
					along := make([]float32, n*l.out().size())
					r.fill(along, 1)
					wideP := widened(p)
					var wideX []float64 // one sample after the other
					for i := range n {
						wideX = append(wideX, widened(x.sample(i, nil))...)
					}
					value := func() (sum float64) {
						for i := range n {
							for j, v := range l.reference(wideP, wideX[i*in.size():][:in.size()]) {
								sum += v * float64(along[j*n+i])
							}
						}
						return sum
					}
					tp := newTape(l.scratch(n))
					out := l.forward(p, x, tp)
					out.v = append([]float32{}, out.v...)
					for i := range n {
						for j, want := range l.reference(wideP, wideX[i*in.size():][:in.size()]) {
							if got := float64(out.v[j*n+i]); math.Abs(got-want) > 1e-6 {
								t.Fatalf("sample %d, output %d is %v, not %v", i, j, got, want)
							}
						}
					}
					dx := l.backward(p, g, &tensor{n, l.out(), append([]float32{}, along...)}, tp)
					if tp.used != l.scratch(n) || len(tp.stack) != 0 {
						t.Fatalf("%d of %d numbers used, %d tensors left", tp.used, l.scratch(n), len(tp.stack))
					}
					check := func(what string, got []float32, by []float64) {
						for i := range by {
							const h = 1e-5
							was := by[i]
							by[i] = was + h
							up := value()
							by[i] = was - h
							want := (up - value()) / (2 * h)
							by[i] = was
							if math.Abs(float64(got[i])-want) > 1e-5*(1+math.Abs(want)) {
								t.Fatalf("%s %d: the gradient is %v, by differences %v", what, i, got[i], want)
							}
						}
					}
					var gradX []float32
					for i := range n {
						gradX = append(gradX, dx.sample(i, nil)...)
					}
					check("input", gradX, wideX)
					check("parameter", g, wideP)
					tp.reset()
					tp.once = true
					for i, v := range l.forward(p, x, tp).v {
						if v != out.v[i] {
							t.Fatalf("output %d is %v where no gradient is asked for, not %v", i, v, out.v[i])
						}
					}
				})
			}
		}
	}
}

func widened(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// TestLSTMStart: recurrent weights are initialised with orthonormal rows, and forget gates with a
// bias of 1.
func TestLSTMStart(t *testing.T) {
	l := &lstm{in: shape{4, 3}, units: 20}
	p := make([]float32, l.params())
	l.init(p, &rng{key: 1})
	_, wh, b := l.split(p)
	w := widened(wh)
	for i := range l.units {
		for k := range l.units {
			want := 0.0
			if i == k {
				want = 1
			}
			if got := f64.Dot(w[i*80:][:80], w[k*80:][:80]); math.Abs(got-want) > 1e-6 {
				t.Fatalf("rows %d and %d: %v", i, k, got)
			}
		}
	}
	for j, v := range b {
		if want := float32(0); j/20 == 1 {
			if v != 1 {
				t.Fatalf("bias %d of the forget gate is %v", j, v)
			}
		} else if v != want {
			t.Fatalf("bias %d is %v", j, v)
		}
	}
}

// TestAutoencoderOfSequences: the gradient of the whole net is right for encoder, repeat, decoder
// and a dense layer at every step, with dropout.
func TestAutoencoderOfSequences(t *testing.T) {
	in := shape{4, 2}
	enc := &lstm{in: in, units: 3, first: true}
	rep := &repeat{enc.out(), in.steps}
	dec := &lstm{in: rep.out(), units: 3, sequences: true}
	m := newNet(in, 0, pointwise(squaredError), enc, rep, &dropout{in: rep.out(), rate: 0.3, id: 2}, dec, &dense{in: dec.out(), width: 2})
	const n = 5
	p, g := m.init(1), make([]float32, m.params())
	x := &tensor{n, in, make([]float32, n*in.size())}
	(&rng{key: 3}).fill(x.v, 1)
	w := []float64{1, 2, 0, 0.5, 3}
	tp := newTape(m.scratch(n))
	tp.train = true
	m.learn(p, g, m.forward(p, x, tp), x, w, tp)
	value := func() float64 {
		tp.reset()
		return m.learn(p, make([]float32, len(p)), m.forward(p, x, tp), x, w, tp)
	}
	for i := range p {
		near(t, fmt.Sprint("parameter ", i), float64(g[i]), numeric(p, i, value))
	}
}

// TestFilled: samples are padded with zeros of weight 0 to whole registers, which changes no bit of
// the results of the others.
func TestFilled(t *testing.T) {
	for _, sequences := range []bool{false, true} {
		sp := &spec{loss: lossMAE, windows: &recurrent{steps: 20, units: []int{12, 7}, sequences: sequences, self: true}}
		net := sp.build(&feature.Fitted{Dense: 5}, 5)
		for _, n := range []int{1, 4, 5, 13, 16} {
			full := net.filled(n)
			if full < n || n > fewSamples && full%f64.Lanes != 0 || n <= fewSamples && full != n {
				t.Errorf("%d samples are filled up to %d", n, full)
			}
			p := net.init(3)
			learn := func(rows int) ([]float32, float64) {
				in, weight := &tensor{rows, net.in, make([]float32, rows*net.in.size())}, make([]float64, rows)
				r := &rng{key: 9}
				for i := range n {
					weight[i] = float64(1 + i%3)
					for j := range net.in.size() {
						in.v[j*rows+i] = r.uniform(1)
					}
				}
				g, tp := make([]float32, net.params()), newTape(newFeed(net, true).numbers())
				return g, net.learn(p, g, net.forward(p, in, tp), in, weight, tp)
			}
			want, loss := learn(n)
			got, same := learn(full)
			if loss != same {
				t.Errorf("%d samples lose %v, filled up %v", n, loss, same)
			}
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("gradient %d of %d samples is %v, filled up %v", i, n, want[i], got[i])
				}
			}
		}
	}
}
