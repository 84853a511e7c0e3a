package kernel

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
)

// Take returns the rows idx of arr, in the order of idx; -1 yields NULL.
func Take(arr arrow.Array, idx []int32) arrow.Array {
	var signs int32
	for _, j := range idx {
		signs |= j
	}
	return take(arr, idx, signs < 0)
}

func take(arr arrow.Array, idx []int32, neg bool) arrow.Array {
	dt, d := arr.DataType(), arr.Data()
	lay, width := layoutOf(dt)
	if lay == layNull {
		return batch.Nulls(dt, len(idx))
	}
	bits := takeValid(arr, idx, neg)
	switch lay {
	case layBit:
		var src []byte
		if arr.Len() > 0 {
			src = d.Buffers()[1].Bytes()
		}
		out := make([]byte, batch.BitmapBytes(len(idx)))
		off := int32(d.Offset())
		for i, j := range idx {
			if j >= 0 {
				j += off
				out[i>>3] |= (src[j>>3] >> (j & 7) & 1) << (i & 7)
			}
		}
		return makeBits(dt, out, bits, len(idx))
	case layFixed:
		return takeFixed(dt, d, width, idx, neg, bits)
	case layVar:
		offs, data := takeVar(offsets(d), bytesOf(d), idx)
		return makeVar(dt, offs, data, bits)
	case layDict:
		return makeDict(pick(values[int32](d), idx, neg), bits, dictOf(arr))
	case layList:
		src := offsets(d)
		var child arrow.Array = array.MakeFromData(d.Children()[0])
		offs := make([]int32, len(idx)+1)
		var rows []int32
		for i, j := range idx {
			if j >= 0 {
				for k := src[j]; k < src[j+1]; k++ {
					rows = append(rows, k)
				}
			}
			offs[i+1] = int32(len(rows))
		}
		return List(dt, offs, take(child, rows, false), bits)
	default: // layStruct
		a := arr.(*array.Struct)
		kids := make([]arrow.Array, a.NumField())
		for f := range kids {
			kids[f] = take(a.Field(f), idx, neg)
		}
		return makeStruct(dt, kids, bits, len(idx))
	}
}

func takeFixed(dt arrow.DataType, d arrow.ArrayData, width int, idx []int32, neg bool, bits []byte) arrow.Array {
	switch width {
	case 1:
		return makeFixed(dt, pick(values[uint8](d), idx, neg), bits)
	case 2:
		return makeFixed(dt, pick(values[uint16](d), idx, neg), bits)
	case 4:
		return makeFixed(dt, pick(values[uint32](d), idx, neg), bits)
	case 8:
		return makeFixed(dt, pick(values[uint64](d), idx, neg), bits)
	case 12:
		return makeFixed(dt, pick(values[bytes12](d), idx, neg), bits)
	case 16:
		return makeFixed(dt, pick(values[bytes16](d), idx, neg), bits)
	}
	panic("BUG: kernel: a fixed width that no type has: " + dt.String())
}

func pick[T any](src []T, idx []int32, neg bool) []T {
	out := make([]T, len(idx))
	if neg {
		for i, j := range idx {
			if j >= 0 {
				out[i] = src[j]
			}
		}
		return out
	}
	for i, j := range idx {
		out[i] = src[j]
	}
	return out
}

func takeValid(arr arrow.Array, idx []int32, neg bool) []byte {
	src, off := valid(arr)
	if src == nil && !neg {
		return nil
	}
	out := make([]byte, batch.BitmapBytes(len(idx)))
	if src == nil {
		for i, j := range idx {
			if j >= 0 {
				out[i>>3] |= 1 << (i & 7)
			}
		}
		return out
	}
	for i, j := range idx {
		if j >= 0 {
			k := int(j) + off
			out[i>>3] |= (src[k>>3] >> (k & 7) & 1) << (i & 7)
		}
	}
	return out
}

func takeVar(src []int32, data []byte, idx []int32) ([]int32, []byte) {
	offs := make([]int32, len(idx)+1)
	total := int32(0)
	for i, j := range idx {
		if j >= 0 {
			total += src[j+1] - src[j]
		}
		offs[i+1] = total
	}
	out := make([]byte, total)
	at := int32(0)
	for _, j := range idx {
		if j >= 0 {
			at += int32(copy(out[at:], data[src[j]:src[j+1]]))
		}
	}
	return offs, out
}

// Compact returns b without a selection: its columns hold exactly the rows that count. A batch
// without a selection is returned as it is.
func Compact(b *batch.Batch) *batch.Batch {
	if b.Sel == nil {
		return b
	}
	cols := make([]arrow.Array, len(b.Cols))
	for i, c := range b.Cols {
		cols[i] = take(c, b.Sel, false)
	}
	return &batch.Batch{Cols: cols, N: len(b.Sel), Seq: -1}
}

// Flatten returns a dictionary column as plain strings, others as they are.
func Flatten(arr arrow.Array) arrow.Array {
	if arr.DataType().ID() != arrow.DICTIONARY {
		return arr
	}
	d := arr.Data()
	index := values[int32](d)
	bits := []byte(nil)
	if arr.NullN() > 0 {
		// the index of a NULL may be anything
		clean := make([]int32, len(index))
		for i := range index {
			clean[i] = -1
			if arr.IsValid(i) {
				clean[i] = index[i]
			}
		}
		index, bits = clean, takeValid(arr, iota32(arr.Len()), false)
	}
	offs, data := []int32{0}, []byte(nil)
	if dict := dictOf(arr); dict != nil {
		offs, data = takeVar(offsets(dict), bytesOf(dict), index)
	}
	return makeVar(arrow.BinaryTypes.String, offs, data, bits)
}

// allRows are the numbers of all rows that a chunk may have. Nobody changes them.
var allRows = iota32(ChunkRows)

// iota32 returns 0..n-1.
func iota32(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}
