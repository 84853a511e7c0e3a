package agg

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlace: placeKey (quickselect) finds any position in many or few numbers, all different or not,
// sorted or not.
func TestPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 400 {
		n = 1 + n*n/100
		keys := make([]uint64, n)
		for i := range keys {
			switch n % 5 {
			case 0:
				keys[i] = r.Uint64()
			case 1:
				keys[i] = r.Uint64N(3)
			case 2:
				keys[i] = uint64(i)
			case 3:
				keys[i] = uint64(min(i, n-i)) // the worst case of a pivot by median of three
			case 4:
				keys[i] = ^uint64(0) - r.Uint64N(2)
			}
		}
		want := slices.Sorted(slices.Values(keys))
		k := r.IntN(n)
		placeKey(keys, k)
		if keys[k] != want[k] || k > 0 && slices.Max(keys[:k]) > want[k] || slices.Min(keys[k:]) < want[k] {
			t.Fatalf("place %d of %d has %d, not %d", k, n, keys[k], want[k])
		}
		slices.Sort(keys)
		if !slices.Equal(keys, want) {
			t.Fatal("the numbers are others")
		}
	}
}

// TestPlaces: placeKeys finds several positions, near each other, the same or at the ends.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 3000; n += 1 + n/3 {
		for most := range 6 {
			keys := make([]uint64, n)
			for i := range keys {
				keys[i] = r.Uint64N(uint64(n))
			}
			wanted := make([]int, most)
			for i := range wanted {
				wanted[i] = min(max(r.IntN(n+20)-10, 0), n-1)
			}
			want := slices.Sorted(slices.Values(keys))
			placeKeys(keys, slices.Clone(wanted))
			for _, k := range wanted {
				if keys[k] != want[k] {
					t.Errorf("%d of %d keys, place %d: %d, not %d", len(wanted), n, k, keys[k], want[k])
				}
			}
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, lists = 600, 1000 // of many lists a processor does not learn how numbers compare
	from, keys := make([]uint64, n*lists), make([]uint64, n)
	for i := range from {
		from[i] = r.Uint64()
	}
	for i := 0; b.Loop(); i = (i + 1) % lists {
		copy(keys, from[i*n:])
		placeKey(keys, n/2)
	}
}
