package f64

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestChances compares what runs here with Sigmoid1 of each number.
func TestChances(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	z := make([]float64, 1032)
	for i := range z {
		z[i] = math.Ldexp(r.NormFloat64(), r.IntN(20)-10)
	}
	copy(z, []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 800, -800, 1e-300})
	want := make([]float64, len(z))
	for i, v := range z {
		want[i] = Sigmoid1(v)
	}
	Chances(z)
	sameBits(t, "chances", z, want)
}
