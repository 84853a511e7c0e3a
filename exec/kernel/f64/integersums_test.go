package f64

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAddWhole: the sums equal those of a plain loop that rounds each value to the nearest integer,
// ties to even, and are added to what the sums had before.
func TestAddWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 1))
	for _, d := range []int{1, 3, 10} {
		for _, tiles := range []int{1, 2, 9} {
			x, scale := make([]float64, tiles*Lanes*d), make([]float64, d)
			for j := range scale {
				scale[j] = math.Ldexp(1, r.IntN(40))
			}
			got, want := make([]int64, d), make([]int64, d)
			for j := range got {
				got[j] = int64(r.IntN(1000)) - 500
				want[j] = got[j]
			}
			for i := range x {
				j := i / Lanes % d
				if x[i] = r.NormFloat64() * 100; r.IntN(3) == 0 {
					x[i] = (float64(r.IntN(100)) - 50.5) / scale[j]
				}
				want[j] += int64(math.RoundToEven(x[i] * scale[j]))
			}
			AddWhole(got, x, scale)
			if !slices.Equal(got, want) {
				t.Fatalf("%d columns, %d tiles: %v, not %v", d, tiles, got, want)
			}
			one, two := make([]int64, d), make([]int64, d)
			addWhole(one, x, scale)
			if addWholeGo(two, x, scale); !slices.Equal(one, two) {
				t.Fatalf("%d columns, %d tiles: %v here, %v by its twin", d, tiles, one, two)
			}
		}
	}
}
