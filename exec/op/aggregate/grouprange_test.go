package aggregate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestGroupRangeInAnyOrder: keys that come in no order keep their range, whichever end
// grows and however much room was made beyond it, and each key its place.
func TestGroupRangeInAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		const keys, batch = 150000, 8192
		from := []int64{0, -keys / 2, math.MaxInt64 - keys, math.MinInt64}[seed%4]
		r, seen := &groupRange{}, map[int64]uint32{}
		for range 30 {
			list := make([]int64, batch)
			lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
			for i := range list {
				list[i] = from + rnd.Int64N(keys)
				lo, hi = min(lo, list[i]), max(hi, list[i])
			}
			if !r.cover(lo, hi, len(seen)+batch, nil) {
				t.Fatalf("seed %d: %d to %d given up after %d keys", seed, lo, hi, len(seen))
			}
			for _, k := range list {
				if r.at[k-r.base] != seen[k] {
					t.Fatalf("seed %d: key %d is group %d, not %d", seed, k, r.at[k-r.base], seen[k])
				}
				if seen[k] == 0 {
					seen[k] = uint32(len(seen)) // the length with the new key, as it is made first
					seen[k] = uint32(len(seen))
					r.at[k-r.base] = seen[k]
				}
			}
		}
		if len(r.at) > 4*keys {
			t.Errorf("seed %d: %d places for %d keys", seed, len(r.at), keys)
		}
	}
}

// TestGroupRangeGivenUp: keys far apart are for hashes.
func TestGroupRangeGivenUp(t *testing.T) {
	r := &groupRange{}
	if r.cover(0, 100*rangeSpread, 10, nil) {
		t.Error("a range for few keys far apart")
	}
	if r.cover(0, 2*firstSpread*8192, 8192, nil) {
		t.Error("a range for a batch far apart")
	}
	if !r.cover(5, 900, 10, nil) || r.cover(math.MinInt64, 900, 10, nil) || r.cover(0, math.MaxInt64, 10, nil) {
		t.Error("a range as far as integers go")
	}
}
