package agg

import (
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
)

// Spanner is an Agg of successive rows whose states need not be merged. Sums can be subtracted: that of some rows is the
// sum of all up to the last less that of all before the first. UpdateSpans adds rows [spans[k][0], spans[k][1]) of args
// to group k, which is empty, for all groups. It does nothing and returns false if words do not hold the sums, or
// spans do not move on.
type Spanner interface {
	UpdateSpans(spans [][2]int32, args []arrow.Array) bool
}

// bounds returns the rows that spans have.
func bounds(spans [][2]int32) (lo, hi int32) {
	lo, hi = spans[0][0], spans[0][1]
	for _, s := range spans {
		lo, hi = min(lo, s[0]), max(hi, s[1])
	}
	return lo, hi
}

// spanCounts returns how many of the rows from lo on are not NULL, before each of them and at the end; nil if all are.
func spanCounts(arr arrow.Array, lo, hi int32) []int32 {
	if arr.NullN() == 0 {
		return nil
	}
	out := make([]int32, hi-lo+1)
	for i := range hi - lo {
		out[i+1] = out[i]
		if !arr.IsNull(int(lo + i)) {
			out[i+1]++
		}
	}
	return out
}

func spanCount(counts []int32, lo int32, s [2]int32) int64 {
	if counts == nil {
		return int64(s[1] - s[0])
	}
	return int64(counts[s[1]-lo] - counts[s[0]-lo])
}

// UpdateSpans implements Spanner.
func (c *count) UpdateSpans(spans [][2]int32, args []arrow.Array) bool {
	lo, hi := bounds(spans)
	var counts []int32
	switch {
	case c.star:
	case args[0].DataType().ID() == arrow.NULL:
		return true
	default:
		counts = spanCounts(args[0], lo, hi)
	}
	for k, s := range spans {
		c.n[k] = spanCount(counts, lo, s)
	}
	return true
}

// UpdateSpans implements Spanner.
func (s *intSum) UpdateSpans(spans [][2]int32, args []arrow.Array) bool {
	switch a := args[0].(type) {
	case *array.Int64:
		return sumSpans(s, spans, a.Int64Values(), a)
	case *array.Int32:
		return sumSpans(s, spans, a.Int32Values(), a)
	case *array.Int16:
		return sumSpans(s, spans, a.Int16Values(), a)
	}
	return false
}

func sumSpans[T int16 | int32 | int64](s *intSum, spans [][2]int32, vals []T, arr arrow.Array) bool {
	lo, hi := bounds(spans)
	sums, nulls := make([]int64, hi-lo+1), arr.NullN() > 0
	var sum, large int64
	for i, v := range vals[lo:hi] {
		x := int64(v)
		if nulls && arr.IsNull(int(lo)+i) {
			x = 0
		}
		sum += x
		large |= x ^ x>>63
		sums[i+1] = sum
	}
	if bits.Len64(uint64(large))+bits.Len32(uint32(hi-lo)) > 62 {
		return false
	}
	counts := spanCounts(arr, lo, hi)
	for k, x := range spans {
		*s.at(k) = intState{sums[x[1]-lo] - sums[x[0]-lo], spanCount(counts, lo, x)}
	}
	return true
}

// UpdateSpans implements Spanner.
func (v *intVariance) UpdateSpans(spans [][2]int32, args []arrow.Array) bool {
	if !v.sums.UpdateSpans(spans, args) {
		return false
	}
	switch a := args[0].(type) {
	case *array.Int64:
		squareSpans(v, spans, a.Int64Values(), a)
	case *array.Int32:
		squareSpans(v, spans, a.Int32Values(), a)
	case *array.Int16:
		squareSpans(v, spans, a.Int16Values(), a)
	}
	return true
}

// squareSpans sums squares of values whose sums words hold, so that two words hold those of their squares.
func squareSpans[T int16 | int32 | int64](v *intVariance, spans [][2]int32, vals []T, arr arrow.Array) {
	lo, hi := bounds(spans)
	type square struct{ lo, hi uint64 }
	sums, nulls := make([]square, hi-lo+1), arr.NullN() > 0
	var sum square
	for i, x := range vals[lo:hi] {
		if !nulls || !arr.IsNull(int(lo)+i) {
			size := magnitude(int64(x))
			h, l := bits.Mul64(size, size)
			var carry uint64
			sum.lo, carry = bits.Add64(sum.lo, l, 0)
			sum.hi += h + carry
		}
		sums[i+1] = sum
	}
	for k, s := range spans {
		from, to := sums[s[0]-lo], sums[s[1]-lo]
		low, borrow := bits.Sub64(to.lo, from.lo, 0)
		v.sums.s[2*k+1] = intState{int64(low), int64(to.hi - from.hi - borrow)}
	}
}

// UpdateSpans implements Spanner.
func (s *floatSum) UpdateSpans(spans [][2]int32, args []arrow.Array) bool {
	lo, hi := bounds(spans)
	counts := spanCounts(args[0], lo, hi)
	switch a := args[0].(type) {
	case *array.Float64:
		return exact.AddSpans(&s.s, spans, lo, a.Float64Values()[lo:hi], counts)
	case *array.Float32:
		return exact.AddSpans(&s.s, spans, lo, a.Float32Values()[lo:hi], counts)
	}
	return false
}

// UpdateSpans implements Spanner.
func (v *floatVariance) UpdateSpans(spans [][2]int32, args []arrow.Array) bool {
	lo, hi := bounds(spans)
	counts := spanCounts(args[0], lo, hi)
	switch a := args[0].(type) {
	case *array.Float64:
		return exact.AddSquareSpans(&v.s, spans, lo, a.Float64Values()[lo:hi], counts)
	case *array.Float32:
		return exact.AddSquareSpans(&v.s, spans, lo, a.Float32Values()[lo:hi], counts)
	}
	return false
}

// UpdateSpans implements Spanner, of spans that move on: of the rows of one, only those are kept that no later one is
// better than. The first of these is the extreme.
func (e *fixedExtreme[T]) UpdateSpans(spans [][2]int32, args []arrow.Array) bool {
	var last [2]int32
	for _, s := range spans {
		if s[0] < s[1] {
			if s[0] < last[0] || s[1] < last[1] {
				return false
			}
			last = s
		}
	}
	vals, nulls := e.vals(args[0]), args[0].NullN() > 0
	var kept []int32
	at := int32(0) // the row after the last one that was looked at
	for k, s := range spans {
		if s[0] >= s[1] {
			continue
		}
		for at = max(at, s[0]); at < s[1]; at++ {
			if nulls && args[0].IsNull(int(at)) {
				continue
			}
			for n := len(kept); n > 0 && e.better(vals[at], vals[kept[n-1]]); n-- {
				kept = kept[:n-1]
			}
			kept = append(kept, at)
		}
		for len(kept) > 0 && kept[0] < s[0] {
			kept = kept[1:]
		}
		if len(kept) > 0 {
			e.v[k], e.has[k] = vals[kept[0]], true
		}
	}
	return true
}
