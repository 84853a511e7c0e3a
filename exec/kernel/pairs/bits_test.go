package pairs

import (
	"math/rand"
	"slices"
	"testing"
)

// TestPairsByBits counts pairs by bits of their keys and compares with testing every pair: keys
// that seldom, often and always share a bucket. Where keys are too close together for that, byBits
// returns false and leaves them unchanged.
func TestPairsByBits(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	counted, gaveUp := 0, 0
	for _, wide := range []int{4, 9, 12, 16, 24, 40, 62} {
		for _, n := range []int{2, 3, 10, 300, 1500} {
			for _, firsts := range []int{1, n / 2, n - 1} {
				keys := make([]uint64, n)
				base := r.Uint64() >> 1
				for i := range keys {
					keys[i] = base + uint64(r.Int63n(1<<wide))
					if i%5 == 4 {
						keys[i] = keys[r.Intn(i)] // equal keys, of one side or of both
					}
				}
				least, most := span(keys, ^uint64(0), 0)
				if wide == 24 { // a range much wider than the keys
					least, most = 0, ^uint64(0)
				}
				var want uint64
				for _, k := range keys[:firsts] {
					want += uint64(wins(k, keys[firsts:]))
				}
				was := slices.Clone(keys)
				var c Counter
				switch ok := c.byBits(keys[:firsts], keys[firsts:], least, most, make([]uint64, n)); {
				case !ok:
					if gaveUp++; !slices.Equal(keys, was) || c.low != 0 {
						t.Errorf("%d keys of %d bits were changed", n, wide)
					}
				case c.low != want || c.high != 0:
					t.Errorf("%d and %d keys of %d bits: %d, want %d", firsts, n-firsts, wide, c.low, want)
				default:
					counted++
				}
			}
		}
	}
	if counted < 80 || gaveUp < 4 {
		t.Errorf("counted by bits %d times, gave up %d times", counted, gaveUp)
	}
}
