package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// labels numbers the values of a column of labels. Their keys (kernel.AppendKey)
// order as the values do.
type labels struct {
	typ   types.Type
	ids   map[string]uint32
	keys  []string
	buf   []byte
	small [256]uint32 // of whole numbers below 256: the label's number and 1
	all   []uint32    // of the rows of a batch
	bytes int64
}

// of gives the number of row i of arr.
func (l *labels) of(arr arrow.Array, i int) uint32 {
	l.buf = kernel.AppendKey(l.buf[:0], l.typ, arr, i)
	return l.number(l.buf)
}

// rows gives the numbers of all rows of arr, good until the next call; those of
// NULLs mean nothing.
func (l *labels) rows(arr arrow.Array) []uint32 {
	if n := arr.Len(); cap(l.all) < n {
		l.all = make([]uint32, n)
	}
	out := l.all[:arr.Len()]
	switch a := arr.(type) {
	case *array.Int64:
		smallLabels(l, out, a, a.Int64Values())
	case *array.Int32:
		smallLabels(l, out, a, a.Int32Values())
	case *array.Int16:
		smallLabels(l, out, a, a.Int16Values())
	case *array.Float64:
		smallLabels(l, out, a, a.Float64Values())
	default:
		for i := range out {
			if !arr.IsNull(i) {
				out[i] = l.of(arr, i)
			}
		}
	}
	return out
}

// smallLabels finds the labels that are small whole numbers in a table.
func smallLabels[T int16 | int32 | int64 | float64](l *labels, out []uint32, arr arrow.Array, vals []T) {
	for i, v := range vals {
		at := uint8(int64(v)) // what no int64 holds is some number, and differs
		small := T(at) == v
		if small {
			if k := l.small[at]; k > 0 {
				out[i] = k - 1
				continue
			}
		}
		if arr.IsNull(i) {
			continue
		}
		if out[i] = l.of(arr, i); small {
			l.small[at] = out[i] + 1
		}
	}
}

func (l *labels) number(key []byte) uint32 {
	for id, k := range l.keys[:min(len(l.keys), 4)] { // mostly there are few, and no hash is faster
		if k == string(key) {
			return uint32(id)
		}
	}
	if id, ok := l.ids[string(key)]; ok {
		return id
	}
	if l.ids == nil {
		l.ids = map[string]uint32{}
	}
	id, k := uint32(len(l.keys)), string(key)
	l.ids[k], l.keys = id, append(l.keys, k)
	l.bytes += int64(len(k)) + 64
	return id
}
