package kernel

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// layout is the physical form of an array: what its buffers look like.
type layout uint8

const (
	layNull   layout = iota
	layBit           // Boolean
	layFixed         // values of a fixed number of bytes
	layVar           // String, Binary: int32 offsets and bytes
	layDict          // Dictionary(int32, String)
	layList          // int32 offsets and a child
	layStruct        // children
)

// layoutOf returns the layout of dt and, for layFixed, the bytes of a value.
func layoutOf(dt arrow.DataType) (layout, int) {
	switch t := dt.(type) {
	case *arrow.NullType:
		return layNull, 0
	case *arrow.BooleanType:
		return layBit, 0
	case *arrow.StringType, *arrow.BinaryType:
		return layVar, 0
	case *arrow.DictionaryType:
		return layDict, 0
	case *arrow.ListType:
		return layList, 0
	case *arrow.StructType:
		return layStruct, 0
	case arrow.FixedWidthDataType:
		return layFixed, t.BitWidth() / 8
	}
	panic("BUG: kernel: no layout for " + dt.String())
}

type (
	bytes12 [12]byte
	bytes16 [16]byte
)

// view returns buffer b as values of T.
func view[T any](b *memory.Buffer) []T {
	if b == nil || b.Len() == 0 {
		return nil
	}
	raw := b.Bytes()
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/int(unsafe.Sizeof(z)))
}

// raw views a slice of fixed-size values as its bytes.
func raw[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

// values returns the rows of a fixed-width array.
func values[T any](d arrow.ArrayData) []T {
	if d.Len() == 0 {
		return nil
	}
	return view[T](d.Buffers()[1])[d.Offset() : d.Offset()+d.Len()]
}

// offsets returns the n+1 offsets of a String, Binary or List array's rows.
func offsets(d arrow.ArrayData) []int32 {
	if d.Len() == 0 {
		return []int32{0}
	}
	return view[int32](d.Buffers()[1])[d.Offset() : d.Offset()+d.Len()+1]
}

func bytesOf(d arrow.ArrayData) []byte {
	if b := d.Buffers()[2]; b != nil {
		return b.Bytes()
	}
	return nil
}

// valid returns an array's validity bitmap and the bit of its first row; nil where no row is known
// to be NULL. It does not call NullN: a slice of an array counts on the first call and caches the
// answer, which is a data race among threads that share it.
func valid(arr arrow.Array) ([]byte, int) {
	d := arr.Data()
	if b := d.Buffers()[0]; b != nil && d.NullN() != 0 {
		return b.Bytes(), d.Offset()
	}
	return nil, 0
}

func buffer(b []byte) *memory.Buffer {
	if b == nil {
		return nil
	}
	return memory.NewBufferBytes(b)
}

// nullCount counts the zeros among the first n bits.
func nullCount(bits []byte, n int) int {
	if bits == nil {
		return 0
	}
	return n - batch.CountBits(bits, n)
}

func makeFixed[T any](dt arrow.DataType, vals []T, bits []byte) arrow.Array {
	n := len(vals)
	b := raw(vals)
	if b == nil {
		b = []byte{}
	}
	return array.MakeFromData(array.NewData(dt, n, []*memory.Buffer{buffer(bits), memory.NewBufferBytes(b)}, nil, nullCount(bits, n), 0))
}

func makeVar(dt arrow.DataType, offs []int32, data, bits []byte) arrow.Array {
	n := len(offs) - 1
	return array.MakeFromData(array.NewData(dt, n, []*memory.Buffer{buffer(bits), memory.NewBufferBytes(raw(offs)), memory.NewBufferBytes(data)}, nil, nullCount(bits, n), 0))
}

func makeBits(dt arrow.DataType, vals, bits []byte, n int) arrow.Array {
	return array.MakeFromData(array.NewData(dt, n, []*memory.Buffer{buffer(bits), memory.NewBufferBytes(vals)}, nil, nullCount(bits, n), 0))
}

// makeDict makes a dictionary column over values that it shares.
func makeDict(index []int32, bits []byte, values *array.Data) arrow.Array {
	if values == nil {
		values = noStrings
	}
	b := raw(index)
	if b == nil {
		b = []byte{}
	}
	return types.Shareable(array.MakeFromData(array.NewDataWithDictionary(types.DictArrow, len(index),
		[]*memory.Buffer{buffer(bits), memory.NewBufferBytes(b)}, nullCount(bits, len(index)), 0, values)))
}

var noStrings = makeVar(arrow.BinaryTypes.String, []int32{0}, nil, nil).Data().(*array.Data)

// dictOf returns the values of a dictionary column, nil where it has none.
func dictOf(arr arrow.Array) *array.Data {
	d, _ := arr.Data().Dictionary().(*array.Data)
	return d
}

// List makes a column of lists of child: that of row i are its elements [offs[i], offs[i+1]). bits are the rows that
// are not NULL, nil for all.
func List(dt arrow.DataType, offs []int32, child arrow.Array, bits []byte) arrow.Array {
	n := len(offs) - 1
	return array.MakeFromData(array.NewData(dt, n, []*memory.Buffer{buffer(bits), memory.NewBufferBytes(raw(offs))}, []arrow.ArrayData{child.Data()}, nullCount(bits, n), 0))
}

func makeStruct(dt arrow.DataType, kids []arrow.Array, bits []byte, n int) arrow.Array {
	ds := make([]arrow.ArrayData, len(kids))
	for i, k := range kids {
		ds[i] = k.Data()
	}
	return array.MakeFromData(array.NewData(dt, n, []*memory.Buffer{buffer(bits)}, ds, nullCount(bits, n), 0))
}

// str views bytes as a string, without copying.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
