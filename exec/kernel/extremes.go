package kernel

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
)

// Extremes returns the rows of the least and of the greatest integer, the first of each, of those
// whose bit of valid, from bit off on, is set; nil: all. It returns -1 where there is none.
func Extremes[T Integer](v []T, valid []byte, off int) (lo, hi int) {
	const some = 256 // rows between two looks at where a bound lies
	from := firstValid(len(v), valid, off)
	if from < 0 {
		return -1, -1
	}
	lo, hi = from, from
	least, most := v[from], v[from]
	for ; from < len(v); from += some {
		part := v[from:min(from+some, len(v))]
		var l, m T
		if valid == nil {
			l, m = extremes(part, least, most)
		} else {
			l, m = validExtremes(part, valid, off+from, least, most)
		}
		if l < least {
			least, lo = l, from+rowOf(part, l, valid, off+from)
		}
		if m > most {
			most, hi = m, from+rowOf(part, m, valid, off+from)
		}
	}
	return lo, hi
}

// extremes returns the least of v and least, and the greatest of v and most, in four lanes: a minimum
// waits for the one before.
func extremes[T Integer](v []T, least, most T) (T, T) {
	l, m := [4]T{least, least, least, least}, [4]T{most, most, most, most}
	for ; len(v) >= 4; v = v[4:] {
		a, b, c, d := v[0], v[1], v[2], v[3]
		l[0], m[0] = min(l[0], a), max(m[0], a)
		l[1], m[1] = min(l[1], b), max(m[1], b)
		l[2], m[2] = min(l[2], c), max(m[2], c)
		l[3], m[3] = min(l[3], d), max(m[3], d)
	}
	for _, x := range v {
		l[0], m[0] = min(l[0], x), max(m[0], x)
	}
	return min(l[0], l[1], l[2], l[3]), max(m[0], m[1], m[2], m[3])
}

// validExtremes is extremes of those that are not NULL, for which a bound so far stands.
func validExtremes[T Integer](v []T, valid []byte, off int, least, most T) (T, T) {
	first := least
	for i, x := range v {
		if !batch.Bit(valid, off+i) {
			x = first
		}
		least, most = min(least, x), max(most, x)
	}
	return least, most
}

func rowOf[T comparable](v []T, x T, valid []byte, off int) int {
	for i, y := range v {
		if x == y && (valid == nil || batch.Bit(valid, off+i)) {
			return i
		}
	}
	return -1
}

// firstValid returns the first of n rows that is not NULL, -1 for none.
func firstValid(n int, valid []byte, off int) int {
	for i := range n {
		if valid == nil || batch.Bit(valid, off+i) {
			return i
		}
	}
	return -1
}

// FloatExtremes is Extremes of floats. NaN comes after everything, as in SQL.
func FloatExtremes[T float32 | float64](v []T, valid []byte, off int) (lo, hi int) {
	lo, hi, nan := -1, -1, -1
	var least, most T
	for i, x := range v {
		if lo >= 0 && x >= least && x <= most || valid != nil && !batch.Bit(valid, off+i) {
			continue
		}
		switch {
		case x != x:
			if nan < 0 {
				nan = i
			}
		case lo < 0:
			lo, hi, least, most = i, i, x, x
		case x < least:
			lo, least = i, x
		default:
			hi, most = i, x
		}
	}
	if nan >= 0 {
		if hi = nan; lo < 0 {
			lo = nan
		}
	}
	return lo, hi
}

// TextExtremes is Extremes of texts by their bytes: few are compared beyond their heads.
func TextExtremes(a *array.String, valid []byte, off int) (lo, hi int) {
	lo, hi = -1, -1
	offs, data := a.ValueOffsets(), a.ValueBytes()
	var least, most uint64
	for i := range a.Len() {
		h := textHead(data, offs[i]-offs[0], offs[i+1]-offs[0])
		if lo >= 0 && h > least && h < most || valid != nil && !batch.Bit(valid, off+i) {
			continue
		}
		if lo < 0 {
			lo, hi, least, most = i, i, h, h
			continue
		}
		if h < least || h == least && a.Value(i) < a.Value(lo) {
			lo, least = i, h
		}
		if h > most || h == most && a.Value(i) > a.Value(hi) {
			hi, most = i, h
		}
	}
	return lo, hi
}

// textHead returns the first eight bytes of the text data[from:to] as a number that orders as they
// do: a text is less than another if its head is.
func textHead(data []byte, from, to int32) uint64 {
	if int(from)+8 > len(data) {
		var last [8]byte
		copy(last[:], data[from:to])
		return binary.BigEndian.Uint64(last[:])
	}
	h := binary.BigEndian.Uint64(data[from:])
	if n := to - from; n < 8 {
		h &= ^(^uint64(0) >> (8 * uint32(n)))
	}
	return h
}
