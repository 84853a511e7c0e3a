package kernel

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// Concat joins arrays whose SQL type is represented as dt. Strings become plain
// unless all arrays share a dictionary or have small ones. The result must not
// pass 2 GiB of string bytes: callers keep chunks where it might.
func Concat(dt arrow.DataType, arrs []arrow.Array) arrow.Array {
	switch len(arrs) {
	case 0:
		return array.MakeFromData(Take(batch.Nulls(dt, 1), nil).Data())
	case 1:
		return arrs[0]
	}
	dicts, plain := 0, 0
	for _, a := range arrs {
		if a.DataType().ID() == arrow.DICTIONARY {
			dicts++
		} else {
			plain++
		}
	}
	if dicts > 0 && plain == 0 {
		if one := unify(arrs); one != nil {
			return concatDict(one)
		}
	}
	if dicts > 0 {
		arrs = slices.Clone(arrs)
		for i, a := range arrs {
			arrs[i] = Flatten(a)
		}
	}
	out, err := array.Concatenate(arrs, memory.DefaultAllocator)
	if err != nil {
		panic("BUG: kernel: " + err.Error())
	}
	return out
}

// Copy returns an array of its own memory, but that a dictionary is shared.
func Copy(arr arrow.Array) arrow.Array {
	out, err := array.Concatenate([]arrow.Array{arr}, memory.DefaultAllocator)
	if err != nil {
		panic("BUG: kernel: " + err.Error())
	}
	return out
}

// CopyOver returns a dictionary column of its own memory over values, which are equal to those of its dictionary.
func CopyOver(arr *array.Dictionary, values arrow.Array) arrow.Array {
	d := Copy(arr).Data()
	return types.Shareable(array.MakeFromData(array.NewDataWithDictionary(d.DataType(), d.Len(), d.Buffers(), d.NullN(), d.Offset(), values.Data().(*array.Data))))
}

func concatDict(arrs []arrow.Array) arrow.Array {
	n, nulls := 0, false
	for _, a := range arrs {
		n += a.Len()
		nulls = nulls || a.NullN() > 0
	}
	index := make([]int32, 0, n)
	var bits []byte
	if nulls {
		bits = make([]byte, batch.BitmapBytes(n))
	}
	at := 0
	for _, a := range arrs {
		index = append(index, values[int32](a.Data())...)
		if nulls {
			for i := 0; i < a.Len(); i++ {
				if a.IsValid(i) {
					batch.SetBit(bits, at+i)
				}
			}
		}
		at += a.Len()
	}
	return makeDict(index, bits, dictOf(arrs[0]))
}

// unify returns the arrays, all dictionary columns, over one dictionary; nil
// where some are not or where the dictionary would be large for their rows.
func unify(arrs []arrow.Array) []arrow.Array {
	rows, size := 0, 0
	seen := map[*array.Data]int{}
	var order []*array.Data
	for _, a := range arrs {
		if a.DataType().ID() != arrow.DICTIONARY {
			return nil
		}
		rows += a.Len()
		d := dictOf(a)
		if _, ok := seen[d]; !ok && d != nil {
			seen[d] = len(order)
			order = append(order, d)
			size += d.Len()
		}
	}
	if len(order) == 1 {
		return arrs
	}
	if len(order) == 0 || size > max(rows/2, 256) {
		return nil
	}
	merged := map[string]int32{}
	offs := []int32{0}
	var data []byte
	maps := make([][]int32, len(order))
	for i, d := range order {
		o, b := offsets(d), bytesOf(d)
		maps[i] = make([]int32, d.Len())
		for j := range maps[i] {
			s := str(b[o[j]:o[j+1]])
			to, ok := merged[s]
			if !ok {
				to = int32(len(merged))
				merged[s] = to
				if len(data)+len(s) > 1<<31-1 {
					return nil
				}
				data = append(data, s...)
				offs = append(offs, int32(len(data)))
			}
			maps[i][j] = to
		}
	}
	all := makeVar(arrow.BinaryTypes.String, offs, data, nil).Data().(*array.Data)
	out := make([]arrow.Array, len(arrs))
	for i, a := range arrs {
		index := make([]int32, a.Len())
		if d := dictOf(a); d != nil {
			m := maps[seen[d]]
			for j, k := range values[int32](a.Data()) {
				if a.IsValid(j) {
					index[j] = m[k]
				}
			}
		}
		out[i] = makeDict(index, takeValidAll(a), all)
	}
	return out
}

// takeValidAll copies a validity bitmap to start at bit 0; nil for no NULLs.
func takeValidAll(a arrow.Array) []byte {
	bm, off := valid(a)
	if bm == nil {
		return nil
	}
	out := make([]byte, batch.BitmapBytes(a.Len()))
	for i := 0; i < a.Len(); i++ {
		if batch.Bit(bm, off+i) {
			batch.SetBit(out, i)
		}
	}
	return out
}
