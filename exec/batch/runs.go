package batch

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// ValidRuns calls f for each longest run of rows [from, to) that are not NULL,
// in order: a word of the bitmap at a time, and not a row.
func ValidRuns(arr arrow.Array, f func(from, to int)) {
	n := arr.Len()
	if arr.NullN() == 0 && arr.DataType().ID() != arrow.NULL {
		if n > 0 {
			f(0, n)
		}
		return
	}
	buf := arr.Data().Buffers()[0]
	if buf == nil {
		return // of type null
	}
	bm, off := buf.Bytes(), arr.Data().Offset()
	from := -1 // where the run began that is not at its end
	for at := 0; at < n; at += 64 {
		w, have := bitsAt(bm, off+at), min(n-at, 64)
		for i := 0; i < have; {
			rest := w >> i
			if from < 0 {
				skip := bits.TrailingZeros64(rest)
				if i += skip; i >= have {
					break
				}
				from = at + i
				continue
			}
			if i += bits.TrailingZeros64(^rest); i < have {
				f(from, at+i)
				from = -1
			}
		}
	}
	if from >= 0 {
		f(from, n)
	}
}

// bitsAt returns 64 bits of a bitmap from bit i on, zeros beyond its end.
func bitsAt(bm []byte, i int) uint64 {
	b, shift := bm[i>>3:], i&7
	if len(b) < 9 {
		b = append(make([]byte, 0, 9), b...)[:9]
	}
	return binary.LittleEndian.Uint64(b)>>shift | uint64(b[8])<<(64-shift) // a shift by 64 yields 0
}

// Trues appends the rows of arr that are true, and neither false nor NULL.
func Trues(rows []int32, arr *array.Boolean) []int32 {
	d := arr.Data()
	bufs, off, n := d.Buffers(), d.Offset(), arr.Len()
	if n == 0 {
		return rows
	}
	vals := bufs[1].Bytes()
	var valid []byte
	if arr.NullN() > 0 {
		valid = bufs[0].Bytes()
	}
	for at := 0; at < n; at += 64 {
		w := bitsAt(vals, off+at)
		if valid != nil {
			w &= bitsAt(valid, off+at)
		}
		if n-at < 64 {
			w &= 1<<(n-at) - 1
		}
		for ; w != 0; w &= w - 1 {
			rows = append(rows, int32(at+bits.TrailingZeros64(w)))
		}
	}
	return rows
}
