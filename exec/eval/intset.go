package eval

import (
	"encoding/binary"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/vector"
)

// intSet answers membership by a scan of few values, a bitmap of a dense range
// or a hash table.
type intSet struct {
	few   []int64
	lo    int64
	dense []uint64
	span  uint64
	many  map[int64]struct{}
}

// fewInts is up to how many values a scan is quicker than a hash table. It is even.
const fewInts = 8

func newIntSet(v []int64) *intSet {
	s := &intSet{}
	if len(v) <= fewInts {
		s.few = v
		return s
	}
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	if span := uint64(hi) - uint64(lo); span < 1<<20 {
		s.lo, s.span, s.dense = lo, span, make([]uint64, span/64+1)
		for _, x := range v {
			d := uint64(x) - uint64(lo)
			s.dense[d/64] |= 1 << (d % 64)
		}
		return s
	}
	s.many = make(map[int64]struct{}, len(v))
	for _, x := range v {
		s.many[x] = struct{}{}
	}
	return s
}

func inInts[T compare.Integer](s *intSet, out []uint8, v []T) {
	switch {
	case s.dense != nil:
		for i, x := range v {
			d := uint64(int64(x)) - uint64(s.lo)
			out[i] = 0
			if d <= s.span {
				out[i] = uint8(s.dense[d/64] >> (d % 64) & 1)
			}
		}
	case s.many != nil:
		for i, x := range v {
			_, ok := s.many[int64(x)]
			out[i] = vector.ByteOf(ok)
		}
	default:
		few := make([]T, 0, fewInts) // those that are in the range of T
		for _, k := range s.few {
			if int64(T(k)) == k {
				few = append(few, T(k))
			}
		}
		if len(few) == 0 {
			clear(out)
			return
		}
		if len(few)%2 == 1 {
			few = append(few, few[0])
		}
		a, b := few[0], few[1]
		for i, x := range v { // two values in one pass over the column: reading and writing it costs more than a comparison
			out[i] = vector.ByteOf(x == a) | vector.ByteOf(x == b)
		}
		for few = few[2:]; len(few) > 0; few = few[2:] {
			a, b := few[0], few[1]
			for i, x := range v {
				out[i] |= vector.ByteOf(x == a) | vector.ByteOf(x == b)
			}
		}
	}
}

// shortText is the most bytes of a string that a short key has room for.
const shortText = 7

// shortSet returns a set of strings as distinct integers; nil where one is too long.
func shortSet(strs map[string]struct{}) *intSet {
	keys := make([]int64, 0, len(strs))
	for s := range strs {
		if len(s) > shortText {
			return nil
		}
		keys = append(keys, shortKey(vector.StringBytes(s), 0, int32(len(s))))
	}
	return newIntSet(keys)
}

// shortKey returns a string's bytes and, in the uppermost byte, their number; for a longer one -1,
// which is no string's key.
func shortKey(data []byte, from, to int32) int64 {
	n := to - from
	if n > shortText {
		return -1
	}
	key := uint64(n) << 56
	if int(from)+8 <= len(data) {
		return int64(key | binary.LittleEndian.Uint64(data[from:])&(1<<(8*n)-1))
	}
	for i := range n {
		key |= uint64(data[from+i]) << (8 * i)
	}
	return int64(key)
}

// shortKeys writes the keys of all rows of a column of strings.
func shortKeys(out []int64, v *vector.Vec) []int64 {
	from := v.Off[0]
	for i, to := range v.Off[1 : len(out)+1] {
		out[i], from = shortKey(v.Data, from, to), to
	}
	return out
}
