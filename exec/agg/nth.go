package agg

import (
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
// greater, none after it less (Hoare, "Algorithm 65: Find", 1961).
func placeKey(keys []uint64, k int) {
	for turns := 2 * bits.Len(uint(len(keys))); len(keys) > 16 && turns > 0; turns-- {
		mid := median(keys[0], keys[len(keys)/2], keys[len(keys)-1])
		below, above := 0, len(keys) // keys[:below] are less, keys[above:] greater
		for i := 0; i < above; {
			switch x := keys[i]; {
			case x < mid:
				keys[i], keys[below] = keys[below], x
				below++
				i++
			case x > mid:
				above--
				keys[i], keys[above] = keys[above], x
			default:
				i++
			}
		}
		switch {
		case k < below:
			keys = keys[:below]
		case k >= above:
			keys, k = keys[above:], k-above
		default:
			return
		}
	}
	slices.Sort(keys)
}

func median(a, b, c uint64) uint64 { return max(min(a, b), min(max(a, b), c)) }
