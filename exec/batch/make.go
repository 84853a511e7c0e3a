package batch

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/types"
)

// Fixed are the Go types whose slices have the layout of Arrow value buffers.
type Fixed interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// bytesOf views a slice as its bytes, without copying.
func bytesOf[T Fixed](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

// FromSlice makes a column of type dt over vals, which it takes over. valid is
// an Arrow bitmap (1 = not NULL), or nil where no value is NULL.
func FromSlice[T Fixed](dt arrow.DataType, vals []T, valid []byte) arrow.Array {
	return array.MakeFromData(array.NewData(dt, len(vals),
		[]*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(bytesOf(vals))}, nil, nulls(valid, len(vals)), 0))
}

// FromBits makes a boolean column of n rows over a value bitmap, which it
// takes over.
func FromBits(values []byte, valid []byte, n int) *array.Boolean {
	return array.NewBooleanData(array.NewData(arrow.FixedWidthTypes.Boolean, n,
		[]*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(values)}, nil, nulls(valid, n), 0))
}

// FromOffsets makes a String or Binary column (dt) of len(offsets)-1 rows over
// offsets and bytes, which it takes over.
func FromOffsets(dt arrow.DataType, offsets []int32, data []byte, valid []byte) arrow.Array {
	n := len(offsets) - 1
	return array.MakeFromData(array.NewData(dt, n,
		[]*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(bytesOf(offsets)), memory.NewBufferBytes(data)}, nil, nulls(valid, n), 0))
}

// FromIndices makes a dictionary column over index, which it takes over, and
// the dictionary values, which it shares.
func FromIndices(dt *arrow.DictionaryType, index []int32, valid []byte, values arrow.Array) arrow.Array {
	idx := array.NewData(dt.IndexType, len(index),
		[]*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(bytesOf(index))}, nil, nulls(valid, len(index)), 0)
	return types.Shareable(array.NewDictionaryArray(dt, array.MakeFromData(idx), values))
}

// FromBytes makes a column of fixed-size binary values over data.
func FromBytes(dt *arrow.FixedSizeBinaryType, data []byte, valid []byte, n int) arrow.Array {
	return array.MakeFromData(array.NewData(dt, n,
		[]*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(data)}, nil, nulls(valid, n), 0))
}

// Nulls makes a column of n NULLs.
func Nulls(dt arrow.DataType, n int) arrow.Array {
	return array.MakeArrayOfNull(memory.DefaultAllocator, dt, n)
}

func bitmapBuffer(valid []byte) *memory.Buffer {
	if valid == nil {
		return nil
	}
	return memory.NewBufferBytes(valid)
}

func nulls(valid []byte, n int) int {
	if valid == nil {
		return 0
	}
	return n - CountBits(valid, n)
}

// BitmapBytes returns the length of a bitmap of n bits, in bytes.
func BitmapBytes(n int) int { return (n + 7) / 8 }

// CountBits counts the ones among the first n bits.
func CountBits(b []byte, n int) int {
	c, i := 0, 0
	for ; i+64 <= n; i += 64 {
		c += bits.OnesCount64(binary.LittleEndian.Uint64(b[i>>3:]))
	}
	for ; i+8 <= n; i += 8 {
		c += bits.OnesCount8(b[i>>3])
	}
	for ; i < n; i++ {
		c += int(b[i>>3]>>(i&7)) & 1
	}
	return c
}

// Bit returns bit i of an Arrow bitmap.
func Bit(b []byte, i int) bool { return b[i>>3]>>(i&7)&1 != 0 }

// SetBit sets bit i of an Arrow bitmap.
func SetBit(b []byte, i int) { b[i>>3] |= 1 << (i & 7) }

// ClearBit clears bit i of an Arrow bitmap.
func ClearBit(b []byte, i int) { b[i>>3] &^= 1 << (i & 7) }

// AllOnes makes a bitmap of n ones.
func AllOnes(n int) []byte {
	b := make([]byte, BitmapBytes(n))
	for i := range b {
		b[i] = 0xff
	}
	return b
}
