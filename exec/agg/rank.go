package agg

import (
	"math"
	"math/bits"
	"slices"
)

// sortScores sorts scores as slices.Sort does, in place: by the bits of the range that they
// span, eight at a time from the highest (American flag sort, McIlroy, Bostic and
// McIlroy, "Engineering radix sort", 1993).
func sortScores(v []float64) {
	const few = 64
	if len(v) <= few {
		slices.Sort(v)
		return
	}
	least, most := ^uint64(0), uint64(0)
	for _, x := range v {
		k := scoreKey(x)
		least, most = min(least, k), max(most, k)
	}
	shift := max(bits.Len64(least^most)-8, 0)
	if least == most {
		return
	}
	var ends [257]int
	digit := func(x float64) int { return int(scoreKey(x) >> shift & 255) }
	for _, x := range v {
		ends[digit(x)+1]++
	}
	for i := range 256 {
		ends[i+1] += ends[i]
	}
	next := ends
	for d := range 256 {
		for next[d] < ends[d+1] {
			x := v[next[d]]
			for k := digit(x); k != d; k = digit(x) {
				x, v[next[k]] = v[next[k]], x
				next[k]++
			}
			v[next[d]] = x
			next[d]++
		}
	}
	if shift == 0 {
		return
	}
	for d := range 256 {
		sortScores(v[ends[d]:ends[d+1]])
	}
}

// scoreKey orders as the numbers do, NaNs first.
func scoreKey(x float64) uint64 {
	if x != x {
		return 0
	}
	b := math.Float64bits(x)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}
