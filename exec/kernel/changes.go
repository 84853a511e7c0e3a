package kernel

import (
	"bytes"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// Changes sets out[i], for rows from 1 on, where row i of a column and the row before it have different keys. Of most
// types it need not make the keys.
func (s *KeySpec) Changes(arr arrow.Array, out []bool) {
	d := arr.Data()
	bits, off := valid(arr)
	switch a := arr.(type) {
	case *array.Int64, *array.Timestamp, *array.Time64:
		changes(values[uint64](d), bits, off, out, func(a, b uint64) bool { return a != b })
	case *array.Int32, *array.Date32, *array.Uint32:
		changes(values[uint32](d), bits, off, out, func(a, b uint32) bool { return a != b })
	case *array.Int16:
		changes(a.Int16Values(), bits, off, out, func(a, b int16) bool { return a != b })
	case *array.Float64:
		changes(a.Float64Values(), bits, off, out, func(a, b float64) bool { return floatKey(a) != floatKey(b) })
	case *array.String, *array.Dictionary:
		t, ok := textsOf(arr)
		if !ok || s.Type.OID != types.TextOID && s.Type.OID != types.VarcharOID {
			s.keyChanges(arr, out)
			return
		}
		at := func(i int) []byte {
			if t.index != nil {
				i = int(t.index[i])
			}
			return t.data[t.offs[i]:t.offs[i+1]]
		}
		for i := 1; i < len(out); i++ {
			was, is := bits == nil || batch.Bit(bits, off+i-1), bits == nil || batch.Bit(bits, off+i)
			if was != is || is && (t.index == nil || t.index[i] != t.index[i-1]) && !bytes.Equal(at(i-1), at(i)) {
				out[i] = true
			}
		}
	default:
		s.keyChanges(arr, out)
	}
}

func changes[T any](vals []T, bits []byte, off int, out []bool, differ func(a, b T) bool) {
	if bits == nil {
		for i := 1; i < len(vals); i++ {
			if differ(vals[i-1], vals[i]) {
				out[i] = true
			}
		}
		return
	}
	for i := 1; i < len(vals); i++ {
		was, is := batch.Bit(bits, off+i-1), batch.Bit(bits, off+i)
		if was != is || is && differ(vals[i-1], vals[i]) {
			out[i] = true
		}
	}
}

func (s *KeySpec) keyChanges(arr arrow.Array, out []bool) {
	keys := &Keys{}
	NewKeyEncoder([]KeySpec{*s}).Append(keys, []arrow.Array{arr}, len(out))
	for i := 1; i < len(out); i++ {
		if !bytes.Equal(keys.At(i-1), keys.At(i)) {
			out[i] = true
		}
	}
}
