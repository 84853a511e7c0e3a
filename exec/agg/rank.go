package agg

import (
	"math"
	"math/bits"
)

// sortScores sorts scores as slices.Sort does, with as many numbers of scratch space:
// by the bits of the range that they span, some at a time from the highest. The parts
// that the first bits make fit in a cache, and are copied there and back.
func sortScores(v, scratch []float64) {
	const few = 32
	if len(v) <= few {
		insertScores(v)
		return
	}
	least, most := ^uint64(0), uint64(0)
	for _, x := range v {
		k := scoreKey(x)
		least, most = min(least, k), max(most, k)
	}
	if least == most {
		return
	}
	const digits = 11 // bits
	at := bits.Len(uint(len(v) / few))
	shift := max(bits.Len64(least^most)-min(at+2, digits), 0)
	// The bits above are those of all.
	high := least >> shift
	var ends [1 << digits]int
	used := most>>shift - high + 1
	for _, x := range v {
		ends[scoreKey(x)>>shift-high]++
	}
	sum := 0
	for i, n := range ends[:used] {
		ends[i] = sum
		sum += n
	}
	scratch = scratch[:len(v)]
	for _, x := range v {
		to := &ends[scoreKey(x)>>shift-high]
		scratch[*to] = x
		*to++
	}
	copy(v, scratch)
	if shift == 0 {
		return
	}
	from := 0
	for _, to := range ends[:used] {
		sortScores(v[from:to], scratch)
		from = to
	}
}

// insertScores sorts a few.
func insertScores(v []float64) {
	for i := 1; i < len(v); i++ {
		x := v[i]
		k, j := scoreKey(x), i
		for ; j > 0 && scoreKey(v[j-1]) > k; j-- {
			v[j] = v[j-1]
		}
		v[j] = x
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
