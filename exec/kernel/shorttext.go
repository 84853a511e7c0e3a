package kernel

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// shortText is a string of at most 15 bytes: the bytes, and their number + 1 in the uppermost one. So
// two are compared directly, without reading the strings (as the inlined strings of Neumann and
// Freitag, "Umbra", 2020).
type shortText struct{ lo, hi uint64 }

// longText stands for a longer string; it equals no short one.
var longText = shortText{hi: ^uint64(0)}

// shortOf returns data[from:to] as a shortText, and whether it is one.
func shortOf(data []byte, from, to int32) (shortText, bool) {
	n := to - from
	if n > 15 {
		return longText, false
	}
	var s shortText
	if int(from)+16 <= len(data) {
		b := data[from : from+16]
		s.lo, s.hi = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if n < 8 {
			s.lo, s.hi = s.lo&(1<<(8*n)-1), 0
		} else {
			s.hi &= 1<<(8*(n-8)) - 1
		}
	} else {
		var b [16]byte
		copy(b[:], data[from:to])
		s.lo, s.hi = binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
	}
	s.hi |= uint64(n+1) << 56
	return s, true
}

// texts reads the strings of an array, those of a dictionary through index.
type texts struct {
	index, offs []int32
	data        []byte
}

// textsOf returns false for an array of anything else.
func textsOf(arr arrow.Array) (texts, bool) {
	switch a := arr.(type) {
	case *array.String, *array.Binary:
		return texts{offs: offsets(a.Data()), data: bytesOf(a.Data())}, true
	case *array.Dictionary:
		if d := dictOf(a); d != nil {
			return texts{index: values[int32](a.Data()), offs: offsets(d), data: bytesOf(d)}, true
		}
	}
	return texts{}, false
}

func (t *texts) short(i int) (shortText, bool) {
	if t.index != nil {
		i = int(t.index[i])
	}
	return shortOf(t.data, t.offs[i], t.offs[i+1])
}
