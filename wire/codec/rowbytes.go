package codec

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
)

// Long is the size of a row from which its memory is charged.
const Long = 1 << 20

// long reports whether rows of b may be long.
func long(b *batch.Batch) bool { return b.Bytes() > Long/2 }

// rowBytes bounds the bytes of a row's message, and of the memory for making it.
func rowBytes(cols []arrow.Array, row int) int64 {
	n := int64(0)
	for _, c := range cols {
		n += 4 + valueBytes(c, row)
	}
	return n
}

func valueBytes(c arrow.Array, row int) int64 {
	switch a := c.(type) {
	case *array.String:
		return int64(a.ValueLen(row))
	case *array.Binary:
		return 2*int64(a.ValueLen(row)) + 2 // hex; digits of a numeric
	case *array.Dictionary:
		if s, ok := a.Dictionary().(*array.String); ok && a.IsValid(row) {
			return int64(s.ValueLen(a.GetValueIndex(row)))
		}
	case *array.List:
		// a datum for each element, and text that may be quoted
		from, to := a.ValueOffsets(row)
		elem := batch.ArrayBytes(a.ListValues()) / int64(max(a.ListValues().Len(), 1))
		return (to - from) * (48 + 4*elem)
	case *array.Struct:
		n := int64(0)
		for i := range a.NumField() {
			n += 48 + 4*valueBytes(a.Field(i), row)
		}
		return n
	}
	return 64
}
