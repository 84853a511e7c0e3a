package f64

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCrossEntropy compares the kernel in use with its Go version, and that with package math, over
// probabilities of all sizes.
func TestCrossEntropy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	edge := []float64{0, 1, -1, 2, 0.5, math.Sqrt2 / 2, math.Nextafter(math.Sqrt2/2, 0), 1 - math.Sqrt2/2, math.Nextafter(1, 0), math.Nextafter(0.5, 0),
		0x1p-52, 0x1p-53, 0x1.fp-53, 1e-300, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}
	const n = 4099
	p, y, got, want := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range p {
		switch p[i], y[i] = r.Float64(), float64(r.IntN(2)); i % 4 {
		case 0:
			p[i] = math.Ldexp(p[i], -r.IntN(60))
		case 1:
			p[i] = 1 - math.Ldexp(p[i], -r.IntN(60))
		}
	}
	for i, v := range edge {
		p[2*i], y[2*i], p[2*i+1], y[2*i+1] = v, 0, v, 1
	}
	CrossEntropy(got, p, y)
	crossEntropyGo(want, p, y)
	sameBits(t, "cross entropy", got, want)
	for i, v := range p {
		v = min(max(v, leastProbability), 1-leastProbability)
		exact := -math.Log(v)
		if y[i] == 0 {
			exact = -math.Log1p(-v)
		}
		if d := math.Abs(got[i] - exact); !(d <= 4e-16*exact) && v == v {
			t.Errorf("p %v y %v: %v, want %v", v, y[i], got[i], exact)
		}
		if v != v && got[i] == got[i] {
			t.Errorf("p NaN y %v: %v", y[i], got[i])
		}
	}
}

// TestLossParts compares the kernel in use with its Go version.
func TestLossParts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{8, 16, 1000, LossRows} {
		loss := make([]float64, n)
		for i := range loss {
			loss[i] = math.Ldexp(1+r.Float64(), 5-r.IntN(57))
		}
		var got, want [3 * Lanes]float64
		lossParts(&got, loss)
		lossPartsGo(&want, loss)
		sameBits(t, "parts of losses", got[:], want[:])
	}
}
