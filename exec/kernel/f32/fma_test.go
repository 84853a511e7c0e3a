package f32

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestFMA: the result is rounded once, also where the sum in float64 lies halfway between two
// float32s and would be rounded twice.
func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func() float32 {
		return float32(math.Ldexp(1+float64(r.IntN(1<<23))/(1<<23), r.IntN(40)-20)) * float32(1-2*r.IntN(2))
	}
	for range 200_000 {
		a, b, c := draw(), draw(), draw()
		x := new(big.Float).SetPrec(200).Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
		want, _ := x.Add(x, big.NewFloat(float64(c))).Float32()
		if got := fma(a, b, c); got != want {
			t.Fatalf("%x·%x+%x = %x, not %x", a, b, c, got, want)
		}
	}
}
