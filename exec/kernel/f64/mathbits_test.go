package f64

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMathBits compares LogAll, ExpAll, SinAll and CosAll with the functions of package math, near the ends of their ranges too.
func TestMathBits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	odd := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64,
		0x1p-1022, 0x1p-1023, 1, 2, 0.5, math.Sqrt2, math.Sqrt2 / 2, math.Nextafter(math.Sqrt2/2, 0), math.Nextafter(math.Sqrt2/2, 1), math.Nextafter(1, 0), math.Nextafter(1, 2), -1, 1 << 29, -1 << 29, math.Nextafter(1<<29, 0)}
	for v := 704.0; v < 750; v += 0.25 {
		odd = append(odd, v, -v)
	}
	for _, n := range []int{0, 1, 7, 8, 9, 100, 8192, 200_000} {
		x := make([]float64, n)
		for i := range x {
			switch r.IntN(4) {
			case 0:
				x[i] = odd[r.IntN(len(odd))]
			case 1:
				x[i] = math.Float64frombits(r.Uint64())
			case 2:
				x[i] = 1 + r.NormFloat64()
			default:
				x[i] = 1000 * r.NormFloat64()
			}
		}
		got, want := make([]float64, n), make([]float64, n)
		for i, v := range x {
			want[i] = math.Log(v)
		}
		LogAll(got, x)
		sameBits(t, "logarithms", got, want)
		for i, v := range x {
			want[i] = math.Exp(v)
		}
		ExpAll(got, x)
		sameBits(t, "exponentials", got, want)
		for i, v := range x {
			if r.IntN(4) == 0 {
				x[i] = float64(r.IntN(1000)) * (math.Pi / 4) // next to where octants meet
			} else if r.IntN(4) == 0 {
				x[i] = v * 1e5
			}
		}
		for i, v := range x {
			want[i] = math.Sin(v)
		}
		SinAll(got, x)
		sameBits(t, "sines", got, want)
		for i, v := range x {
			want[i] = math.Cos(v)
		}
		CosAll(got, x)
		sameBits(t, "cosines", got, want)
	}
}
