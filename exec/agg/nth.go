package agg

import (
	"math"
	"math/bits"
	"slices"
)

// keysBetween writes those of the keys that are between lo and hi, and returns how many these are and how
// many are below. out is as long as keys.
func keysBetween(keys []uint64, lo, hi uint64, out []uint64) (in, below int) {
	for _, x := range keys {
		out[in] = x
		is, less := 0, 0
		if x-lo <= hi-lo {
			is = 1
		}
		if x < lo {
			less = 1
		}
		in, below = in+is, below+less
	}
	return in, below
}

// placeKey partitions keys so that keys[k] is what it would be if they were sorted: none before it is
// greater, none after it less (Hoare, "Algorithm 65: Find", 1961; the partition is Lomuto's, without a branch on
// how numbers compare, which is mispredicted for every other one).
func placeKey(keys []uint64, k int) {
	for turns := 2 * bits.Len(uint(len(keys))); len(keys) > 16 && turns > 0; turns-- {
		mid := median(keys[0], keys[len(keys)/2], keys[len(keys)-1])
		below := lessFirst(keys, mid)
		if k < below {
			keys = keys[:below]
			continue
		}
		keys, k = keys[below:], k-below
		if mid == math.MaxUint64 { // all are equal
			return
		}
		if below > len(keys)/8 {
			continue
		}
		above := lessFirst(keys, mid+1) // it is among the least, and may be there many times
		if k < above {
			return
		}
		keys, k = keys[above:], k-above
	}
	slices.Sort(keys)
}

// lessFirst puts the numbers below mid first, and returns how many they are.
func lessFirst(keys []uint64, mid uint64) int {
	n := 0
	for i, x := range keys {
		_, less := bits.Sub64(x, mid, 0)
		keys[i], keys[n] = keys[n], x
		n += int(less)
	}
	return n
}

func median(a, b, c uint64) uint64 { return max(min(a, b), min(max(a, b), c)) }
