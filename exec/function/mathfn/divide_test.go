package mathfn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDivisor compares division by a constant, done as a multiplication by its reciprocal, with
// true division: next to multiples of the divisor, where rounding could go wrong, and at the ends
// of the range.
func TestDivisor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() int64 { return int64(r.Uint64()) >> r.IntN(64) }
	check := func(x, d int64) {
		if x == math.MinInt64 || -1 <= d && d <= 1 {
			return
		}
		if v := NewDivisor(d); v.Quo(x) != x/d {
			t.Fatalf("%d / %d is %d, not %d", x, d, x/d, v.Quo(x))
		}
	}
	ends := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 62, math.MinInt32, math.MinInt16, -3, -2, 2, 3, 5, 7, 10, math.MaxInt16, math.MaxInt32, 1 << 32, 1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, d := range ends {
		for _, x := range ends {
			check(x, d)
		}
	}
	for range 300_000 {
		d, x := number(), number()
		check(x, d)
		if d != 0 {
			for near := int64(-1); near <= 1; near++ {
				check(x/d*d+near, d)
			}
		}
	}
}
