package kernel

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Integer are the Go types of the integer columns of Arrow.
type Integer interface {
	~int16 | ~int32 | ~int64 | ~uint32
}

// IntRange returns the least and the greatest value of an integer column; false
// if all are NULL or arr is none.
func IntRange(arr arrow.Array) (lo, hi int64, ok bool) {
	switch a := arr.(type) {
	case *array.Int64:
		return RangeOf(a.Int64Values(), arr)
	case *array.Int32:
		return RangeOf(a.Int32Values(), arr)
	case *array.Int16:
		return RangeOf(a.Int16Values(), arr)
	case *array.Date32:
		return RangeOf(a.Date32Values(), arr)
	case *array.Uint32:
		return RangeOf(a.Uint32Values(), arr)
	}
	return 0, 0, false
}

// RangeOf returns the least and the greatest of vals, the values of arr, that are
// not NULL; false if all are.
func RangeOf[T Integer](vals []T, arr arrow.Array) (lo, hi int64, ok bool) {
	if len(vals) == arr.NullN() {
		return 0, 0, false
	}
	if arr.NullN() > 0 {
		lo, hi = 1<<63-1, -1<<63
		for i, v := range vals {
			if arr.IsValid(i) {
				lo, hi = min(lo, int64(v)), max(hi, int64(v))
			}
		}
		return lo, hi, true
	}
	l, m := extremes(vals, vals[0], vals[0])
	return int64(l), int64(m), true
}

// NonZero returns 1 unless v is 0, without a branch.
func NonZero(v uint32) int { return int((v | -v) >> 31) }

// Consecutive is the first value of an int4 or int8 column in which each is by one more
// than the one before; false for others, and where there is none.
func Consecutive(arr arrow.Array) (first int64, ok bool) {
	if arr.Len() == 0 || arr.NullN() > 0 {
		return 0, false
	}
	switch a := arr.(type) {
	case *array.Int64:
		return consecutive(a.Int64Values())
	case *array.Int32:
		return consecutive(a.Int32Values())
	}
	return 0, false
}

func consecutive[T int32 | int64](vals []T) (first int64, ok bool) {
	from, n := vals[0], len(vals)-1
	// After the greatest number there is comes the least, of a sequence that begins
	// again: the sum below is right, but it is not more.
	if vals[n]-from != T(n) || vals[n] < from {
		return 0, false
	}
	for i, v := range vals {
		if v != from+T(i) {
			return 0, false
		}
	}
	return int64(from), true
}
