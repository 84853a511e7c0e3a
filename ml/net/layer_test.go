package net

import (
	"fmt"
	"math"
	"testing"
)

// numeric is the gradient of f with respect to v[i], by central differences.
func numeric(v []float32, i int, f func() float64) float64 {
	const h = 1.0 / 256
	was := v[i]
	v[i] = was + h
	up := f()
	v[i] = was - h
	down := f()
	v[i] = was
	return (up - down) / (2 * h)
}

// near fails unless two gradients agree within the precision of float32 differences.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 2e-3*(1+math.Abs(want)) {
		t.Fatalf("%s: the gradient is %v, by differences %v", what, got, want)
	}
}

// TestLayers: the gradients of every layer agree with differences of its output and are added to
// existing ones; the tape of the size that the layer states is filled exactly.
func TestLayers(t *testing.T) {
	in := shape{2, 3}
	for name, l := range map[string]layer{
		"dense":     &dense{in: in, width: 4},
		"relu":      &activation{in, relu},
		"gelu":      &activation{in, gelu},
		"tanh":      &activation{in, tanh},
		"sigmoid":   &activation{in, sigmoid},
		"dropout":   &dropout{in: in, rate: 0.5, id: 3},
		"layernorm": &layerNorm{in},
		"embedding": &embedding{in: in, sizes: []int{3, 2}, wide: []int{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 5
			r := &rng{key: 7}
			p, g := make([]float32, l.params()), make([]float32, l.params())
			l.init(p, r)
			x := &tensor{n, in, make([]float32, n*in.size())}
			r.fill(p[:len(p):len(p)], 1)
			r.fill(x.v, 2)
			for i, v := range x.v { // not near 0, where ReLU has no derivative
				x.v[i] = v + float32(math.Copysign(0.1, float64(v)))
			}
			along := make([]float32, n*l.out().size())
			r.fill(along, 1)
			tp := newTape(l.scratch(n))
			tp.train, tp.key = true, 99
			for range n * in.steps { // codes of the two columns, one missing
				tp.codes = append(tp.codes, int32(r.next()%3), int32(r.next()%3)+2)
			}
			tp.codes[0], tp.codes[3] = -1, 3
			for i, c := range tp.codes {
				if i%2 == 1 && c == 2 {
					tp.codes[i] = 4
				}
			}
			value := func() float64 {
				tp.reset()
				s := 0.0
				for i, v := range l.forward(p, x, tp).v {
					s += float64(v) * float64(along[i])
				}
				return s
			}
			value()
			for i := range g {
				g[i] = 1
			}
			dout := &tensor{n, l.out(), append([]float32{}, along...)}
			dx := l.backward(p, g, dout, tp)
			if tp.used != l.scratch(n) || len(tp.stack) != 0 {
				t.Fatalf("%d of %d numbers used, %d tensors left", tp.used, l.scratch(n), len(tp.stack))
			}
			if dx != nil {
				got := append([]float32{}, dx.v...)
				for i := range x.v {
					near(t, fmt.Sprint("input ", i), float64(got[i]), numeric(x.v, i, value))
				}
			}
			for i := range p {
				near(t, fmt.Sprint("parameter ", i), float64(g[i]-1), numeric(p, i, value))
			}
		})
	}
}

// TestLosses: the gradient of a loss agrees with differences of the loss.
func TestLosses(t *testing.T) {
	for _, c := range []struct {
		name  string
		l     loss
		width int
		y     []float32
	}{
		{"mse", pointwise(squaredError), 2, []float32{0.5, -1, 2, 0.1, 0, 3}},
		{"mae", pointwise(absoluteError), 2, []float32{9, -9, 9, -9, 9, 9}},
		{"huber", huber(0.7), 2, []float32{9, -9, 0.1, 0.1, 9, 9}},
		{"softmax", softmax{}, 3, []float32{2, 0, 1}},
		{"sigmoid", softmax{}, 1, []float32{1, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := &tensor{3, shape{1, c.width}, make([]float32, 3*c.width)}
			(&rng{key: 5}).fill(z.v, 1)
			y := &tensor{3, shape{1, len(c.y) / 3}, c.y}
			w := []float64{1, 2, 0.5}
			d := &tensor{3, z.shape, make([]float32, len(z.v))}
			sum := c.l.eval(z, y, w, d)
			if got := c.l.eval(z, y, w, nil); got != sum {
				t.Fatalf("%v with a gradient, %v without", sum, got)
			}
			for i := range z.v {
				near(t, fmt.Sprint(i), float64(d.v[i]), numeric(z.v, i, func() float64 { return c.l.eval(z, y, w, nil) }))
			}
		})
	}
}

// TestNet: layers find their parameters in the vector, and the gradient of the whole net is right,
// with dropout and categories.
func TestNet(t *testing.T) {
	in := shape{1, 3}
	e := &embedding{in: in, sizes: []int{3}, wide: []int{2}}
	h := shape{1, 6}
	m := newNet(in, 1, pointwise(squaredError), e, &dense{in: e.out(), width: 6}, &layerNorm{h}, &activation{h, gelu},
		&dropout{in: h, rate: 0.3, id: 4}, &dense{in: h, width: 2})
	const n = 4
	p, g := m.init(1), make([]float32, m.params())
	x, y := &tensor{n, in, make([]float32, n*3)}, &tensor{n, shape{1, 2}, make([]float32, n*2)}
	r := &rng{key: 3}
	r.fill(x.v, 1)
	r.fill(y.v, 1)
	w := []float64{1, 2, 0, 0.5}
	tp := newTape(m.scratch(n))
	tp.train, tp.codes = true, []int32{0, 1, 2, -1}
	sum := m.learn(p, g, m.forward(p, x, tp), y, w, tp)
	value := func() float64 {
		tp.reset()
		return m.learn(p, make([]float32, len(p)), m.forward(p, x, tp), y, w, tp)
	}
	if again := value(); again != sum {
		t.Fatalf("the loss is %v, then %v", sum, again)
	}
	for i := range p {
		near(t, fmt.Sprint("parameter ", i), float64(g[i]), numeric(p, i, value))
	}
}
