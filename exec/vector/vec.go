package vector

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Kind is the representation of a vec's values: the form of its type, or a dictionary.
type Kind = types.Form

const (
	Null = types.FormNull // every row NULL, no values
	Bool = types.FormBool // a byte a row, 0 or 1, of a NULL row any
	I16  = types.FormInt16
	I32  = types.FormInt32
	I64  = types.FormInt64
	U32  = types.FormUint32
	F32  = types.FormFloat32
	F64  = types.FormFloat64
	Str  = types.FormString // offsets and bytes
	Dict = types.FormDict   // int32 indices into Vec.Dict (a Str)
	Bin  = types.FormBinary // offsets and bytes
	F12  = types.FormFixed12
	F16  = types.FormFixed16
	Arr  = types.FormNested // an Arrow array: lists, structs
)

// Vec is a column of N rows. With One set, a single value (row 0) stands for all of them. Valid is an Arrow bitmap from bit 0 on, nil where no
// row is NULL; it alone determines which rows are, whatever the bitmap of Arr says. A vec may alias the batch, the arena or the heap; it is not
// changed once it is returned.
type Vec struct {
	Kind  Kind
	One   bool
	N     int
	Valid []byte
	P     unsafe.Pointer // values of fixed width; indices of Dict
	Off   []int32        // Str, Bin: rows+1 offsets into Data
	Data  []byte
	Dict  *Vec            // kDict
	Key   arrow.ArrayData // identity of the dictionary across batches; may be nil
	Arr   arrow.Array     // of kind Arr; else the array this came from, if any
}

// Stored returns how many values are stored.
func (v *Vec) Stored() int {
	if v.One {
		return min(v.N, 1)
	}
	return v.N
}

// Values views the values of a fixed-width vec.
func Values[T any](v *Vec) []T {
	if v.P == nil {
		return nil
	}
	return unsafe.Slice((*T)(v.P), v.Stored())
}

// At returns where the value of row i is stored.
func (v *Vec) At(i int) int {
	if v.One {
		return 0
	}
	return i
}

// Null reports whether row i is NULL.
func (v *Vec) Null(i int) bool {
	if v.One {
		i = 0
	}
	return v.Kind == Null || v.Valid != nil && v.Valid[i>>3]>>(i&7)&1 == 0
}

// AllNull reports whether v is a single NULL for all rows, or of the null type.
func (v *Vec) AllNull() bool { return v.Kind == Null || v.One && v.N > 0 && v.Null(0) }

// Str returns the string of row i of a Str or Dict; "" for NULL is not promised.
func (v *Vec) Str(i int) string {
	if v.One {
		i = 0
	}
	if v.Kind == Dict {
		i = int(Values[int32](v)[i])
		v = v.Dict
	}
	return BytesString(v.Data[v.Off[i]:v.Off[i+1]])
}

// Bytes returns row i of a Bin.
func (v *Vec) Bytes(i int) []byte {
	if v.One {
		i = 0
	}
	return v.Data[v.Off[i]:v.Off[i+1]:v.Off[i+1]]
}

// FixedBytes returns row i of an F16.
func (v *Vec) FixedBytes(i int) []byte {
	if v.One {
		i = 0
	}
	w := v.Kind.Width()
	return unsafe.Slice((*byte)(unsafe.Add(v.P, i*w)), w)
}

// BytesString returns b as a string that shares its memory.
func BytesString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// StringBytes returns s as bytes that share its memory; they must not be written to.
func StringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// NewNull makes a vec of n NULLs.
func NewNull(n int) *Vec { return &Vec{Kind: Null, One: true, N: n} }

// FromArrow views a whole array.
func FromArrow(a *Arena, arr arrow.Array) *Vec {
	d := arr.Data()
	n, o := d.Len(), d.Offset()
	v := &Vec{N: n, Arr: arr}
	bufs := d.Buffers()
	// Not arr.NullN, which computes and caches the count: threads share constant arrays.
	if d.NullN() != 0 && len(bufs) > 0 && bufs[0] != nil {
		v.Valid = BitsFrom(a, bufs[0].Bytes(), o, n)
	}
	fixed := func(k Kind) *Vec {
		v.Kind = k
		if n > 0 {
			v.P = unsafe.Pointer(unsafe.SliceData(bufs[1].Bytes()[o*k.Width():]))
		}
		return v
	}
	switch x := arr.(type) {
	case *array.Boolean:
		v.Kind = Bool
		out := Alloc[uint8](a, n)
		v.P = unsafe.Pointer(unsafe.SliceData(out))
		if n > 0 {
			unpackBits(out, bufs[1].Bytes(), o)
		}
		return v
	case *array.Int16:
		return fixed(I16)
	case *array.Int32, *array.Date32:
		return fixed(I32)
	case *array.Int64, *array.Time64, *array.Timestamp:
		return fixed(I64)
	case *array.Uint32:
		return fixed(U32)
	case *array.Float32:
		return fixed(F32)
	case *array.Float64:
		return fixed(F64)
	case *array.FixedSizeBinary:
		switch x.DataType().(*arrow.FixedSizeBinaryType).ByteWidth {
		case 12:
			return fixed(F12)
		case 16:
			return fixed(F16)
		}
	case *array.String, *array.Binary:
		v.Kind = Str
		if _, ok := arr.(*array.Binary); ok {
			v.Kind = Bin
		}
		if n == 0 || bufs[1] == nil {
			v.Off = make([]int32, n+1)
			return v
		}
		v.Off = arrow.Int32Traits.CastFromBytes(bufs[1].Bytes())[o : o+n+1]
		if bufs[2] != nil {
			v.Data = bufs[2].Bytes()
		}
		return v
	case *array.Dictionary:
		if s, ok := x.Dictionary().(*array.String); ok {
			idx := x.Indices().(*array.Int32).Int32Values()
			v.Kind = Dict
			v.P = unsafe.Pointer(unsafe.SliceData(idx))
			v.Dict = FromArrow(a, s)
			v.Key = s.Data()
			return v
		}
	case *array.Null:
		return NewNull(n)
	}
	v.Kind = Arr
	return v
}

// ToArrow makes the array of a type from a vec. The array aliases the vec's
// memory.
func (v *Vec) ToArrow(t types.Type) (arrow.Array, error) {
	if v.One {
		v = v.Spread(nil)
	}
	n := v.N
	dt := t.Arrow()
	if v.Arr != nil && v.Arr.Len() == n && sameForm(v.Arr.DataType(), dt) {
		return withNulls(v.Arr, v.Valid), nil
	}
	if n == 0 {
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		return b.NewArray(), nil
	}
	switch v.Kind {
	case Null:
		return batch.Nulls(dt, n), nil
	case Bool:
		return batch.FromBits(PackBits(nil, Values[uint8](v)), v.Valid, n), nil
	case I16:
		return batch.FromSlice(dt, Values[int16](v), v.Valid), nil
	case I32:
		return batch.FromSlice(dt, Values[int32](v), v.Valid), nil
	case I64:
		return batch.FromSlice(dt, Values[int64](v), v.Valid), nil
	case U32:
		return batch.FromSlice(dt, Values[uint32](v), v.Valid), nil
	case F32:
		return batch.FromSlice(dt, Values[float32](v), v.Valid), nil
	case F64:
		return batch.FromSlice(dt, Values[float64](v), v.Valid), nil
	case F12, F16:
		w := v.Kind.Width()
		return batch.FromBytes(dt.(*arrow.FixedSizeBinaryType), unsafe.Slice((*byte)(v.P), n*w), v.Valid, n), nil
	case Str, Bin:
		return batch.FromOffsets(dt, v.Off, v.Data, v.Valid), nil
	case Dict:
		values, err := v.Dict.ToArrow(types.Text)
		if err != nil {
			return nil, err
		}
		return batch.FromIndices(types.DictArrow, Values[int32](v), v.Valid, values), nil
	}
	return nil, pgerr.Internal("no array for kind %d", v.Kind)
}

// withNulls returns an array with the NULLs of valid, which may be more than its own.
func withNulls(arr arrow.Array, valid []byte) arrow.Array {
	n := arr.Len()
	if valid == nil || n-batch.CountBits(valid, n) == arr.NullN() {
		return arr
	}
	d := arr.Data()
	bits := make([]byte, batch.BitmapBytes(d.Offset()+n))
	if d.Offset() == 0 {
		copy(bits, valid)
	} else {
		for i := range n {
			j := i + d.Offset()
			bits[j>>3] |= valid[i>>3] >> (i & 7) & 1 << (j & 7)
		}
	}
	bufs := slices.Clone(d.Buffers())
	bufs[0] = memory.NewBufferBytes(bits)
	if x, ok := arr.(*array.Dictionary); ok {
		return array.NewDictionaryData(array.NewDataWithDictionary(d.DataType(), n, bufs, n-batch.CountBits(valid, n), d.Offset(), x.Dictionary().Data().(*array.Data)))
	}
	return array.MakeFromData(array.NewData(d.DataType(), n, bufs, d.Children(), n-batch.CountBits(valid, n), d.Offset()))
}

// sameForm reports whether an array of type have is a column of type want.
func sameForm(have, want arrow.DataType) bool {
	switch have.ID() {
	case arrow.DICTIONARY:
		return want.ID() == arrow.STRING
	case arrow.TIMESTAMP:
		return arrow.TypeEqual(have, want)
	}
	return have.ID() == want.ID()
}

// Spread writes a single value out as n rows. Strings become a dictionary.
func (v *Vec) Spread(a *Arena) *Vec {
	if !v.One {
		return v
	}
	n := v.N
	if v.AllNull() {
		return &Vec{Kind: Null, N: n}
	}
	out := &Vec{Kind: v.Kind, N: n}
	switch v.Kind {
	case Str, Dict:
		d := v
		if v.Kind == Dict {
			d = &Vec{Kind: Str, N: 1}
			s := v.Str(0)
			d.Off, d.Data = []int32{0, int32(len(s))}, StringBytes(s)
		} else {
			d = &Vec{Kind: Str, N: 1, Off: v.Off, Data: v.Data}
		}
		out.Kind, out.Dict = Dict, d
		idx := Alloc[int32](a, n)
		clear(idx)
		out.P = unsafe.Pointer(unsafe.SliceData(idx))
	case Bin:
		b := v.Bytes(0)
		if err := TooLarge(n, Product(int64(len(b)), int64(n))); err != nil {
			panic(halt{err})
		}
		data := a.Bytes(len(b) * n)[:0]
		off := Alloc[int32](a, n+1)
		for i := range n {
			off[i] = int32(len(data))
			data = append(data, b...)
		}
		off[n] = int32(len(data))
		out.Off, out.Data = off, data
	case Arr:
		if err := TooLarge(n, Product(batch.ArrayBytes(v.Arr), int64(n))); err != nil {
			panic(halt{err})
		}
		arr, err := repeated(v.Arr, n, a.Allocator())
		if err != nil {
			return &Vec{Kind: Null, N: n}
		}
		out.Arr = arr
	default:
		w := v.Kind.Width()
		buf := Alloc[byte](a, n*w)
		src := unsafe.Slice((*byte)(v.P), w)
		copy(buf, src)
		for done := w; done < len(buf); done *= 2 {
			copy(buf[done:], buf[:done])
		}
		if n > 0 {
			out.P = unsafe.Pointer(unsafe.SliceData(buf))
		}
	}
	return out
}

// repeated returns an array of one row n times over. It concatenates about 16 arrays, themselves
// made so: an array costs much more than copying a short row.
func repeated(row arrow.Array, n int, m memory.Allocator) (arrow.Array, error) {
	part, each := row, max(1, (n+15)/16)
	if each > 1 {
		var err error
		if part, err = repeated(row, each, m); err != nil {
			return nil, err
		}
	}
	parts := slices.Repeat([]arrow.Array{part}, n/each)
	if rest := n % each; rest > 0 {
		parts = append(parts, array.NewSlice(part, 0, int64(rest)))
	}
	return array.Concatenate(parts, m)
}

// NewFixed makes a vec over values of fixed width.
func NewFixed[T any](k Kind, v []T, valid []byte) *Vec {
	return &Vec{Kind: k, N: len(v), P: unsafe.Pointer(unsafe.SliceData(v)), Valid: valid}
}
