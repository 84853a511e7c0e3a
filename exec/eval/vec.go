package eval

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

// kind is how a vec holds its values.
type kind uint8

const (
	kNull kind = iota // every row NULL, no values
	kBool             // a byte a row, 0 or 1, of a NULL row any
	kI16              // int16 …
	kI32              // int4, date
	kI64              // int8, time, timestamps, fixed numerics
	kU32              // oid and its like
	kF32              //
	kF64              //
	kStr              // offsets and bytes
	kDict             // int32 indices into dict (a kStr)
	kBin              // bytea and variable numerics: offsets and bytes
	kF12              // timetz
	kF16              // interval, uuid
	kArr              // an Arrow array: lists, structs
)

// kindOf gives the kind that carries a type.
func kindOf(t types.Type) kind {
	if t.IsArray() {
		return kArr
	}
	switch t.OID {
	case types.BoolOID:
		return kBool
	case types.Int2OID:
		return kI16
	case types.Int4OID, types.DateOID:
		return kI32
	case types.Int8OID, types.TimeOID, types.TimestampOID, types.TimestamptzOID:
		return kI64
	case types.Float4OID:
		return kF32
	case types.Float8OID:
		return kF64
	case types.NumericOID:
		if t.Prec > 0 {
			return kI64
		}
		return kBin
	case types.ByteaOID:
		return kBin
	case types.TimetzOID:
		return kF12
	case types.IntervalOID, types.UUIDOID:
		return kF16
	case types.VoidOID:
		return kNull
	case types.RecordOID:
		return kArr
	}
	if t.IsString() {
		return kStr
	}
	return kU32
}

func (k kind) width() int {
	switch k {
	case kBool:
		return 1
	case kI16:
		return 2
	case kI32, kU32, kF32, kDict:
		return 4
	case kI64, kF64:
		return 8
	case kF12:
		return 12
	case kF16:
		return 16
	}
	return 0
}

// vec is a column of n rows. With one set, a single value (row 0) stands for
// all of them. valid is an Arrow bitmap from bit 0 on, nil where no row is
// NULL; it alone says which rows are, whatever the bitmap of arr says. A vec may alias the batch, the arena or the heap; it is not changed once
// it is returned.
type vec struct {
	kind  kind
	one   bool
	n     int
	valid []byte
	p     unsafe.Pointer // values of fixed width; indices of kDict
	off   []int32        // kStr, kBin: rows+1 offsets into data
	data  []byte
	dict  *vec            // kDict
	key   arrow.ArrayData // identity of the dictionary across batches; may be nil
	arr   arrow.Array     // kArr; else the array this came from, if any
}

// stored is how many values there are.
func (v *vec) stored() int {
	if v.one {
		return min(v.n, 1)
	}
	return v.n
}

// vals views the values of a fixed-width vec.
func vals[T any](v *vec) []T {
	if v.p == nil {
		return nil
	}
	return unsafe.Slice((*T)(v.p), v.stored())
}

// at is where the value of row i is stored.
func (v *vec) at(i int) int {
	if v.one {
		return 0
	}
	return i
}

func (v *vec) null(i int) bool {
	if v.one {
		i = 0
	}
	return v.kind == kNull || v.valid != nil && v.valid[i>>3]>>(i&7)&1 == 0
}

// allNull tells of a single NULL for all rows, or the null type.
func (v *vec) allNull() bool { return v.kind == kNull || v.one && v.n > 0 && v.null(0) }

// str is the string of row i of a kStr or kDict; "" for NULL is not promised.
func (v *vec) str(i int) string {
	if v.one {
		i = 0
	}
	if v.kind == kDict {
		i = int(vals[int32](v)[i])
		v = v.dict
	}
	return bytesString(v.data[v.off[i]:v.off[i+1]])
}

// bytes is row i of a kBin.
func (v *vec) bytes(i int) []byte {
	if v.one {
		i = 0
	}
	return v.data[v.off[i]:v.off[i+1]:v.off[i+1]]
}

// fixedBytes is row i of a kF12 or kF16.
func (v *vec) fixedBytes(i int) []byte {
	if v.one {
		i = 0
	}
	w := v.kind.width()
	return unsafe.Slice((*byte)(unsafe.Add(v.p, i*w)), w)
}

func bytesString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func stringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// nullVec is n NULLs.
func nullVec(n int) *vec { return &vec{kind: kNull, one: true, n: n} }

// fromArrow views a whole array.
func fromArrow(a *arena, arr arrow.Array) *vec {
	d := arr.Data()
	n, o := d.Len(), d.Offset()
	v := &vec{n: n, arr: arr}
	bufs := d.Buffers()
	// Not arr.NullN, which counts and notes it: lanes share constant arrays.
	if d.NullN() != 0 && len(bufs) > 0 && bufs[0] != nil {
		v.valid = bitsFrom(a, bufs[0].Bytes(), o, n)
	}
	fixed := func(k kind) *vec {
		v.kind = k
		if n > 0 {
			v.p = unsafe.Pointer(unsafe.SliceData(bufs[1].Bytes()[o*k.width():]))
		}
		return v
	}
	switch x := arr.(type) {
	case *array.Boolean:
		v.kind = kBool
		out := alloc[uint8](a, n)
		v.p = unsafe.Pointer(unsafe.SliceData(out))
		if n > 0 {
			unpackBits(out, bufs[1].Bytes(), o)
		}
		return v
	case *array.Int16:
		return fixed(kI16)
	case *array.Int32, *array.Date32:
		return fixed(kI32)
	case *array.Int64, *array.Time64, *array.Timestamp:
		return fixed(kI64)
	case *array.Uint32:
		return fixed(kU32)
	case *array.Float32:
		return fixed(kF32)
	case *array.Float64:
		return fixed(kF64)
	case *array.FixedSizeBinary:
		switch x.DataType().(*arrow.FixedSizeBinaryType).ByteWidth {
		case 12:
			return fixed(kF12)
		case 16:
			return fixed(kF16)
		}
	case *array.String, *array.Binary:
		v.kind = kStr
		if _, ok := arr.(*array.Binary); ok {
			v.kind = kBin
		}
		if n == 0 || bufs[1] == nil {
			v.off = make([]int32, n+1)
			return v
		}
		v.off = arrow.Int32Traits.CastFromBytes(bufs[1].Bytes())[o : o+n+1]
		if bufs[2] != nil {
			v.data = bufs[2].Bytes()
		}
		return v
	case *array.Dictionary:
		if s, ok := x.Dictionary().(*array.String); ok {
			idx := x.Indices().(*array.Int32).Int32Values()
			v.kind = kDict
			v.p = unsafe.Pointer(unsafe.SliceData(idx))
			v.dict = fromArrow(a, s)
			v.key = s.Data()
			return v
		}
	case *array.Null:
		return nullVec(n)
	}
	v.kind = kArr
	return v
}

// toArrow makes the array of a type from a vec. The array aliases the vec's
// memory.
func (v *vec) toArrow(t types.Type) (arrow.Array, error) {
	if v.one {
		v = v.spread(nil)
	}
	n := v.n
	dt := t.Arrow()
	if v.arr != nil && v.arr.Len() == n && sameForm(v.arr.DataType(), dt) {
		return withNulls(v.arr, v.valid), nil
	}
	if n == 0 {
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		return b.NewArray(), nil
	}
	switch v.kind {
	case kNull:
		return batch.Nulls(dt, n), nil
	case kBool:
		return batch.FromBits(packBits(vals[uint8](v)), v.valid, n), nil
	case kI16:
		return batch.FromSlice(dt, vals[int16](v), v.valid), nil
	case kI32:
		return batch.FromSlice(dt, vals[int32](v), v.valid), nil
	case kI64:
		return batch.FromSlice(dt, vals[int64](v), v.valid), nil
	case kU32:
		return batch.FromSlice(dt, vals[uint32](v), v.valid), nil
	case kF32:
		return batch.FromSlice(dt, vals[float32](v), v.valid), nil
	case kF64:
		return batch.FromSlice(dt, vals[float64](v), v.valid), nil
	case kF12, kF16:
		w := v.kind.width()
		return batch.FromBytes(dt.(*arrow.FixedSizeBinaryType), unsafe.Slice((*byte)(v.p), n*w), v.valid, n), nil
	case kStr, kBin:
		return batch.FromOffsets(dt, v.off, v.data, v.valid), nil
	case kDict:
		values, err := v.dict.toArrow(types.Text)
		if err != nil {
			return nil, err
		}
		return batch.FromIndices(types.DictArrow, vals[int32](v), v.valid, values), nil
	}
	return nil, pgerr.Internal("no array for kind %d", v.kind)
}

// withNulls gives an array the NULLs that valid tells of, which may be more than
// its own.
func withNulls(arr arrow.Array, valid []byte) arrow.Array {
	n := arr.Len()
	if valid == nil || n-batch.CountBits(valid, n) == arr.NullN() {
		return arr
	}
	d := arr.Data()
	bits := make([]byte, batch.BitmapBytes(d.Offset()+n))
	for i := range n {
		j := i + d.Offset()
		bits[j>>3] |= valid[i>>3] >> (i & 7) & 1 << (j & 7)
	}
	bufs := slices.Clone(d.Buffers())
	bufs[0] = memory.NewBufferBytes(bits)
	return array.MakeFromData(array.NewData(d.DataType(), n, bufs, d.Children(), n-batch.CountBits(valid, n), d.Offset()))
}

// sameForm tells whether an array of type have is a column of type want.
func sameForm(have, want arrow.DataType) bool {
	switch have.ID() {
	case arrow.DICTIONARY:
		return want.ID() == arrow.STRING
	case arrow.TIMESTAMP:
		return arrow.TypeEqual(have, want)
	}
	return have.ID() == want.ID()
}

// spread writes a single value out as n rows. Strings become a dictionary.
func (v *vec) spread(a *arena) *vec {
	if !v.one {
		return v
	}
	n := v.n
	if v.allNull() {
		return &vec{kind: kNull, n: n}
	}
	out := &vec{kind: v.kind, n: n}
	switch v.kind {
	case kStr, kDict:
		d := v
		if v.kind == kDict {
			d = &vec{kind: kStr, n: 1}
			s := v.str(0)
			d.off, d.data = []int32{0, int32(len(s))}, stringBytes(s)
		} else {
			d = &vec{kind: kStr, n: 1, off: v.off, data: v.data}
		}
		out.kind, out.dict = kDict, d
		idx := alloc[int32](a, n)
		clear(idx)
		out.p = unsafe.Pointer(unsafe.SliceData(idx))
	case kBin:
		b := v.bytes(0)
		if err := tooLarge(n, product(int64(len(b)), int64(n))); err != nil {
			panic(halt{err})
		}
		data := a.bytes(len(b) * n)[:0]
		off := alloc[int32](a, n+1)
		for i := range n {
			off[i] = int32(len(data))
			data = append(data, b...)
		}
		off[n] = int32(len(data))
		out.off, out.data = off, data
	case kArr:
		// one-row arrays repeat by concatenation of slices
		parts := make([]arrow.Array, n)
		for i := range parts {
			parts[i] = v.arr
		}
		if err := tooLarge(n, product(batch.ArrayBytes(v.arr), int64(n))); err != nil {
			panic(halt{err})
		}
		arr, err := array.Concatenate(parts, a.allocator())
		if err != nil {
			return &vec{kind: kNull, n: n}
		}
		out.arr = arr
	default:
		w := v.kind.width()
		buf := alloc[byte](a, n*w)
		src := unsafe.Slice((*byte)(v.p), w)
		copy(buf, src)
		for done := w; done < len(buf); done *= 2 {
			copy(buf[done:], buf[:done])
		}
		if n > 0 {
			out.p = unsafe.Pointer(unsafe.SliceData(buf))
		}
	}
	return out
}

// fixedVec makes a vec over values of fixed width.
func fixedVec[T any](k kind, v []T, valid []byte) *vec {
	return &vec{kind: k, n: len(v), p: unsafe.Pointer(unsafe.SliceData(v)), valid: valid}
}
