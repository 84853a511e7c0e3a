package f32

import (
	"fmt"
	"math"
	"testing"
)

// TestFunctions checks the stated error bound of each function, in units in the last place, over
// floats of all sizes, and its values at the ends.
func TestFunctions(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name   string
		f      func(float32) float32
		all    func(dst, src []float32)
		exact  func(float64) float64
		within float64
		low    float32 // the result is 0 below it
		ends   [2]float64
	}{
		{"exp", exp1, func(dst, src []float32) { each(dst, src, exp1) }, math.Exp, 1, expMin, [2]float64{0, inf}},
		{"tanh", tanh1, Tanh, math.Tanh, 2.5, float32(-inf), [2]float64{-1, 1}},
		{"sigmoid", sigmoid1, Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 2.5, expMin, [2]float64{0, 1}},
	} {
		worst, at := 0.0, float32(0)
		check := func(x float32) {
			got, want := float64(c.f(x)), c.exact(float64(x))
			switch {
			case x < c.low:
				want = 0
			case float32(want) == float32(inf):
				if !math.IsInf(got, 1) {
					t.Errorf("%s(%g) = %g, not Inf", c.name, x, got)
				}
				return
			}
			if err := math.Abs(got-want) / ulp(want); !(err <= worst) {
				worst, at = err, x
			}
		}
		for b := uint32(0); b < 0x7f800000; b += 2503 {
			check(math.Float32frombits(b))
			check(math.Float32frombits(b | signBit))
		}
		for x := float32(-100); x <= 100; x += 0.00037 {
			check(x)
		}
		if !(worst <= c.within) {
			t.Errorf("%s(%g) is wrong by %g units in the last place, not at most %g", c.name, at, worst, c.within)
		}
		for _, x := range []float32{expMin, expMax, math.Nextafter32(expMax, 100), -tanhMax, tanhMax} {
			check(x)
		}
		for i, x := range []float64{-inf, inf} {
			if got := c.f(float32(x)); float64(got) != c.ends[i] {
				t.Errorf("%s(%g) = %g", c.name, x, got)
			}
		}
		src := []float32{float32(math.NaN()), -1, 0, float32(math.Copysign(0, -1)), 3, -200, 200, 1e-42, 7, 8, 9, expMin, expMax, -87.4, 88.8, float32(inf), float32(-inf), -8, 0.1, 0.2}
		for n := range len(src) + 1 {
			dst := make([]float32, len(src))
			c.all(dst[:n], src[:n])
			for i, x := range src {
				if i < n {
					same(t, c.name, dst[i], c.f(x))
				} else {
					same(t, c.name, dst[i], 0)
				}
			}
		}
		if c.f(src[0]) == c.f(src[0]) {
			t.Errorf("%s(NaN) is a number", c.name)
		}
	}
}

// TestLoops: every kernel has the bits of the definition in Go, and writes nothing behind the end
// of its slices.
func TestLoops(t *testing.T) {
	inf := float32(math.Inf(1))
	src := []float32{float32(math.NaN()), -float32(math.NaN()), 0, float32(math.Copysign(0, -1)), 3, -3, 1e-42, -1e-42, inf, -inf, 5, 0, -7, 8, 0.5, -0.5, 2, 0, 1}
	for _, c := range []struct{ all, twin func(dst, src []float32) }{{Relu, reluGo}, {ReluBack, reluBackGo}, {Add, addGo}} {
		for n := range len(src) + 1 {
			got, want := make([]float32, len(src)), make([]float32, len(src))
			for i := range got {
				got[i] = float32(i) - 4.5
				want[i] = got[i]
			}
			c.all(got[:n], src[:n])
			c.twin(want[:n], src[:n])
			for i := range got {
				same(t, fmt.Sprintf("number %d of %d", i, n), got[i], want[i])
			}
		}
	}
}

// ulp is the unit in the last place of float32 at x.
func ulp(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e, -125)-24)
}

func same(t *testing.T, what string, got, want float32) {
	t.Helper()
	if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
		t.Errorf("%s: %x, not %x", what, got, want)
	}
}
