package exact

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestErrorsAddAll: adding many rows at once gives the sums of adding them one by one, however they
// are divided: labels that are exactly float32s and others, some very large or not finite.
func TestErrorsAddAll(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for round := range 60 {
		n := r.IntN(2000)
		y, p := make([]float64, n), make([]float64, n)
		for i := range y {
			if y[i] = r.NormFloat64(); round%2 == 0 {
				y[i] = float64(float32(y[i]))
			}
			p[i] = y[i] + r.NormFloat64()/10
			if round%3 == 0 && r.IntN(200) == 0 {
				y[i] *= math.Ldexp(1, r.IntN(400)-200)
			}
			if round%10 == 9 && r.IntN(500) == 0 {
				y[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
			}
		}
		var one, all Errors
		var s ErrorsScratch
		for i, v := range y {
			one.Add(v, p[i])
		}
		for from := 0; from < n; {
			to := min(n, from+r.IntN(900))
			all.AddAll(y[from:to], p[from:to], &s)
			from = to
		}
		for i, want := range one.Parts() {
			if got := all.Parts()[i]; got.N() != want.N() || math.Float64bits(got.Value()) != math.Float64bits(want.Value()) {
				t.Fatalf("round %d: sum %d of %d rows is %v, not %v of %d", round, i, got.N(), got.Value(), want.Value(), want.N())
			}
		}
	}
}
