package aft

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// durations are of a log-linear model, two in three of them seen to their end.
func durations(seed uint64, n int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 3))
	d := &familytest.Data{Cats: []int{3}}
	for range n {
		x := []float64{r.NormFloat64(), r.NormFloat64()}
		c := int32(r.IntN(3))
		t := math.Exp(1 + 0.7*x[0] - 0.4*float64(c) + 0.5*r.NormFloat64())
		if r.IntN(3) == 0 {
			t = -t * r.Float64()
		}
		d.X, d.Code, d.Y = append(d.X, x), append(d.Code, []int32{c}), append(d.Y, t)
	}
	return d
}

// TestSameModel: on any nodes, from any checkpoint.
func TestSameModel(t *testing.T) {
	for _, dist := range distributions {
		t.Run(dist.name, func(t *testing.T) {
			d := durations(1, 300)
			d.Held = make([]bool, len(d.X))
			for i := range d.Held {
				d.Held[i] = i%7 == 0
			}
			if got := familytest.Same(t, Families()[0], d, "distribution", dist.name); !got.State.Converged || got.State.Iteration > 12 {
				t.Errorf("%d iterations, %s", got.State.Iteration, got.State.Stopped)
			}
		})
	}
}

// TestDerivatives compares the derivatives of each distribution with differences, and the logarithm of the survival with
// that of the survival, far out too.
func TestDerivatives(t *testing.T) {
	const step = 1e-4
	for _, d := range distributions {
		for kind, f := range []func(float64) (float64, float64, float64){d.event, d.after} {
			for _, z := range []float64{-20, -3, -0.5, 0, 0.7, 2.5, 5} {
				low, _, _ := f(z - step)
				at, g, h := f(z)
				high, _, _ := f(z + step)
				scale := math.Max(1, math.Abs(h))
				if got := (high - low) / (2 * step); math.Abs(got-g) > 1e-5*math.Max(scale, math.Abs(g)) {
					t.Errorf("%s, %d: first derivative at %v is %v, differences say %v", d.name, kind, z, g, got)
				}
				if got := (high - 2*at + low) / (step * step); math.Abs(got-h) > 1e-3*scale {
					t.Errorf("%s, %d: second derivative at %v is %v, differences say %v", d.name, kind, z, h, got)
				}
				if s := d.survival(z); kind == 1 && math.Abs(math.Exp(at)-s) > 1e-12 {
					t.Errorf("%s: survival at %v is %v, its logarithm says %v", d.name, z, s, math.Exp(at))
				}
			}
		}
		for _, p := range []float64{0.01, 0.3, 0.5, 0.9} {
			if got := 1 - d.survival(d.quantile(p)); math.Abs(got-p) > 1e-12 {
				t.Errorf("%s: %v have had the event by the quantile of %v", d.name, got, p)
			}
		}
	}
	near, _, _ := normalAfter(24.999999)
	far, _, _ := normalAfter(25.000001)
	if math.Abs(near-far-25*2e-6) > 1e-7 {
		t.Errorf("the asymptotic series does not join: %v and %v", near, far)
	}
}
