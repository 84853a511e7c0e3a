package net

import (
	"math"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/optim"
)

// TestMoveInParts: an optimizer step divided among any number of threads equals the definition; a
// gradient that is not finite somewhere is an error.
func TestMoveInParts(t *testing.T) {
	n := newNet(shape{1, 300}, 0, pointwise(squaredError), &dense{in: shape{1, 300}, width: 200, first: true}, &dense{in: shape{1, 200}, width: 7})
	const weight, rate, l2, decay = 96.0, 0.125, 0.01, 0.5
	r := &rng{key: 9}
	first, sum := n.init(3), make([]float32, n.params())
	r.fill(sum, 50)
	for _, clip := range []float64{0, 0.75} {
		want := slices.Clone(first)
		g, squares := make([]float32, len(sum)), [4]float64{}
		n.weights(func(from, to int) {
			for i := from; i < to; i++ {
				g[i] = float32(l2 * float64(first[i]))
				want[i] = float32(float64(first[i]) * (1 - float64(rate*decay)))
			}
		})
		for i, v := range sum {
			mean := float32(float64(v) * (1 / weight))
			if g[i] != 0 {
				mean = float32(float64(mean) + float64(l2*float64(first[i])))
			}
			g[i] = mean
			squares[i%4] += float64(float64(mean) * float64(mean))
		}
		norm := math.Sqrt((squares[0] + squares[1]) + (squares[2] + squares[3]))
		for i, v := range g {
			if clip > 0 && norm > clip {
				v = float32(float64(v) * (clip / norm))
			}
			want[i] = float32(float64(want[i]) - float64(rate*float64(v)))
		}
		for _, threads := range []int{1, 2, 3} {
			d := &driver{net: n, threads: threads, cut: optim.Epoch{Steps: 1}, t: training{rate: rate, l2: l2, decay: decay, clip: clip, epochs: 1}}
			d.s.params = slices.Clone(first)
			if err := d.move(slices.Clone(sum), weight); err != nil {
				t.Fatal(err)
			}
			for i, v := range d.s.params {
				if v != want[i] {
					t.Fatalf("%d threads, clipped to %v: parameter %d is %v, not %v", threads, clip, i, v, want[i])
				}
			}
			for _, bad := range []int{0, len(sum) / 2, len(sum) - 1} {
				wrong := slices.Clone(sum)
				wrong[bad] = float32(math.Inf(1))
				if d.move(wrong, weight) == nil {
					t.Errorf("%d threads: a gradient that is infinite at %d is no error", threads, bad)
				}
			}
		}
	}
}
