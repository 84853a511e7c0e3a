package eval

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// take gives rows sel of a column.
func take(a *arena, arr arrow.Array, sel []int32, t types.Type) (*vec, error) {
	if b, ok := arr.(*array.Boolean); ok {
		// straight from the bits, rather than unpacking rows that do not count
		v := &vec{kind: kBool, n: len(sel)}
		out := alloc[uint8](a, len(sel))
		d := b.Data()
		bits, o := d.Buffers()[1].Bytes(), d.Offset()
		for i, r := range sel {
			j := int(r) + o
			out[i] = bits[j>>3] >> (j & 7) & 1
		}
		v.p = unsafe.Pointer(unsafe.SliceData(out))
		if b.NullN() > 0 {
			v.valid = takeBits(a, d.Buffers()[0].Bytes(), o, sel)
		}
		return v, nil
	}
	return takeVec(a, fromArrow(a, arr), sel, t)
}

// takeVec gives rows sel of a vec.
func takeVec(a *arena, v *vec, sel []int32, t types.Type) (*vec, error) {
	n := len(sel)
	if v.one {
		out := *v
		out.n = n
		return &out, nil
	}
	out := &vec{kind: v.kind, n: n, dict: v.dict, key: v.key}
	if v.valid != nil {
		out.valid = takeBits(a, v.valid, 0, sel)
	}
	switch v.kind {
	case kNull:
		return nullVec(n), nil
	case kBool:
		gather[uint8](a, out, v, sel)
	case kI16:
		gather[int16](a, out, v, sel)
	case kI32, kU32, kF32, kDict:
		gather[int32](a, out, v, sel)
	case kI64, kF64:
		gather[int64](a, out, v, sel)
	case kF12:
		gather[[12]byte](a, out, v, sel)
	case kF16:
		gather[[16]byte](a, out, v, sel)
	case kStr, kBin:
		off := alloc[int32](a, n+1)
		total := 0
		for i, r := range sel {
			off[i] = int32(total)
			total += int(v.off[r+1] - v.off[r])
		}
		if err := tooLarge(n, total); err != nil {
			return nil, err
		}
		off[n] = int32(total)
		data := a.bytes(total)
		for i, r := range sel {
			copy(data[off[i]:], v.data[v.off[r]:v.off[r+1]])
		}
		out.off, out.data = off, data
	case kArr:
		arr, err := takeArrow(a, v.arr, sel)
		if err != nil {
			return nil, err
		}
		out.arr = arr
	}
	return out, nil
}

func gather[T any](a *arena, out, v *vec, sel []int32) {
	src := vals[T](v)
	dst := alloc[T](a, len(sel))
	for i, r := range sel {
		dst[i] = src[r]
	}
	out.p = unsafe.Pointer(unsafe.SliceData(dst))
}

func takeBits(a *arena, b []byte, off int, sel []int32) []byte {
	out := alloc[byte](a, batch.BitmapBytes(len(sel)))
	clear(out)
	for i, r := range sel {
		j := int(r) + off
		out[i>>3] |= (b[j>>3] >> (j & 7) & 1) << (i & 7)
	}
	return out
}

// takeArrow gathers rows of lists and structs.
func takeArrow(a *arena, arr arrow.Array, sel []int32) (arrow.Array, error) {
	n := len(sel)
	var valid []byte
	if arr.NullN() > 0 {
		valid = a.lasting(batch.BitmapBytes(n))
		for i, r := range sel {
			if arr.IsValid(int(r)) {
				valid[i>>3] |= 1 << (i & 7)
			}
		}
	}
	var vbuf *memory.Buffer
	nulls := 0
	if valid != nil {
		vbuf = memory.NewBufferBytes(valid)
		nulls = n - batch.CountBits(valid, n)
	}
	switch x := arr.(type) {
	case *array.List:
		off := make([]int32, n+1)
		all := 0
		for _, r := range sel {
			all += listLen(x, int(r))
		}
		a.meter().charge(int64(4 * (n + all)))
		idx := make([]int32, 0, all)
		for i, r := range sel {
			from, to := x.ValueOffsets(int(r))
			for j := from; j < to; j++ {
				idx = append(idx, int32(j))
			}
			off[i+1] = int32(len(idx))
		}
		kids, err := takeArrow(a, x.ListValues(), idx)
		if err != nil {
			return nil, err
		}
		ob := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(off))
		return array.NewListData(array.NewData(x.DataType(), n, []*memory.Buffer{vbuf, ob}, []arrow.ArrayData{kids.Data()}, nulls, 0)), nil
	case *array.Struct:
		kids := make([]arrow.ArrayData, x.NumField())
		for f := range kids {
			k, err := takeArrow(a, x.Field(f), sel)
			if err != nil {
				return nil, err
			}
			kids[f] = k.Data()
		}
		return array.NewStructData(array.NewData(x.DataType(), n, []*memory.Buffer{vbuf}, kids, nulls, 0)), nil
	case *array.Null:
		return array.NewNull(n), nil
	}
	a = a.fresh()
	v := fromArrow(a, arr)
	if v.kind == kArr {
		return nil, pgerr.Internal("cannot take rows of %s", arr.DataType())
	}
	out, err := takeVec(a, v, sel, types.Type{})
	if err != nil {
		return nil, err
	}
	out.arr = nil
	return out.asArrow(arr.DataType())
}

// asArrow makes an array of an Arrow type that v's kind can carry.
func (v *vec) asArrow(dt arrow.DataType) (arrow.Array, error) {
	switch v.kind {
	case kNull:
		return batch.Nulls(dt, v.n), nil
	case kBool:
		return batch.FromBits(packBits(vals[uint8](v)), v.valid, v.n), nil
	case kStr, kBin:
		return batch.FromOffsets(dt, v.off, v.data, v.valid), nil
	case kDict:
		values, err := v.dict.asArrow(arrow.BinaryTypes.String)
		if err != nil {
			return nil, err
		}
		return batch.FromIndices(types.DictArrow, vals[int32](v), v.valid, values), nil
	case kI16:
		return batch.FromSlice(dt, vals[int16](v), v.valid), nil
	case kI32, kU32, kF32:
		return batch.FromSlice(dt, vals[int32](v), v.valid), nil
	case kI64, kF64:
		return batch.FromSlice(dt, vals[int64](v), v.valid), nil
	case kF12, kF16:
		return batch.FromBytes(dt.(*arrow.FixedSizeBinaryType), unsafe.Slice((*byte)(v.p), v.n*v.kind.width()), v.valid, v.n), nil
	case kArr:
		return v.arr, nil
	}
	return nil, pgerr.Internal("no array for kind %d", v.kind)
}

// part is the result of an expression for some rows of a larger column.
type part struct {
	rows []int32 // ascending
	v    *vec    // as many rows
}

// scatter makes a column of n rows of t from parts; rows in no part are NULL.
func scatter(a *arena, n int, t types.Type, parts []part) (*vec, error) {
	if len(parts) == 1 && len(parts[0].rows) == n {
		return parts[0].v, nil
	}
	k := kindOf(t)
	valid := alloc[byte](a, batch.BitmapBytes(n))
	clear(valid)
	total := 0
	for _, p := range parts {
		for i, r := range p.rows {
			if !p.v.null(i) {
				valid[r>>3] |= 1 << (r & 7)
				total++
			}
		}
	}
	out := &vec{kind: k, n: n, valid: valid}
	if total == n {
		out.valid = nil
	}
	switch k {
	case kNull:
		return nullVec(n), nil
	case kBool:
		scatterFixed[uint8](a, out, parts)
	case kI16:
		scatterFixed[int16](a, out, parts)
	case kI32, kU32, kF32:
		scatterFixed[int32](a, out, parts)
	case kI64, kF64:
		scatterFixed[int64](a, out, parts)
	case kF12:
		scatterFixed[[12]byte](a, out, parts)
	case kF16:
		scatterFixed[[16]byte](a, out, parts)
	case kStr:
		return out, scatterStrings(a, out, parts)
	case kBin:
		return out, scatterBytes(a, out, parts, (*vec).bytes)
	default:
		arr, err := scatterArrow(a, out, t.Arrow(), parts)
		if err != nil {
			return nil, err
		}
		out.arr = arr
	}
	return out, nil
}

// scatterArrow lays the parts' arrays end to end behind a NULL and takes each
// row from where it came to lie.
func scatterArrow(a *arena, out *vec, dt arrow.DataType, parts []part) (arrow.Array, error) {
	from := make([]int32, out.n)
	all := []arrow.Array{batch.Nulls(dt, 1)}
	base := int32(1)
	for _, p := range parts {
		if p.v.allNull() || len(p.rows) == 0 {
			continue
		}
		for i, r := range p.rows {
			switch {
			case p.v.null(i):
			case p.v.one:
				from[r] = base
			default:
				from[r] = base + int32(i)
			}
		}
		a.meter().charge(batch.ArrayBytes(p.v.arr)) // for the copy
		all = append(all, p.v.arr)
		base += int32(p.v.arr.Len())
	}
	return takeArrow(a, kernel.Concat(dt, all), from)
}

func scatterFixed[T any](a *arena, out *vec, parts []part) {
	dst := alloc[T](a, out.n)
	clear(dst)
	for _, p := range parts {
		if p.v.kind == kNull {
			continue
		}
		src := vals[T](p.v)
		if p.v.one {
			if len(src) == 0 {
				continue
			}
			x := src[0]
			for _, r := range p.rows {
				dst[r] = x
			}
			continue
		}
		for i, r := range p.rows {
			dst[r] = src[i]
		}
	}
	out.p = unsafe.Pointer(unsafe.SliceData(dst))
}

// scatterStrings makes a dictionary where all parts are single strings, as in
// CASE … THEN 'a' ELSE 'b'.
func scatterStrings(a *arena, out *vec, parts []part) error {
	for _, p := range parts {
		if !p.v.one {
			return scatterBytes(a, out, parts, func(v *vec, i int) []byte { return stringBytes(v.str(i)) })
		}
	}
	idx := alloc[int32](a, out.n)
	clear(idx)
	d := &vec{kind: kStr, off: []int32{0}}
	data := text{m: a.meter(), rows: len(parts)}
	for pi, p := range parts {
		if !p.v.allNull() {
			data.WriteString(p.v.str(0))
		}
		d.data = data.Bytes()
		d.off = append(d.off, int32(len(d.data)))
		d.n++
		for _, r := range p.rows {
			idx[r] = int32(pi)
		}
	}
	if d.n == 0 {
		d.n, d.off = 1, []int32{0, 0}
	}
	out.kind, out.dict, out.p = kDict, d, unsafe.Pointer(unsafe.SliceData(idx))
	return nil
}

func scatterBytes(a *arena, out *vec, parts []part, get func(*vec, int) []byte) error {
	at := alloc[[2]int32](a, out.n)
	clear(at)
	size := 0
	for pi, p := range parts {
		for i, r := range p.rows {
			if !p.v.null(i) {
				at[r] = [2]int32{int32(pi) + 1, int32(i)}
				size += len(get(p.v, i))
			}
		}
	}
	off := alloc[int32](a, out.n+1)
	if err := tooLarge(out.n, size); err != nil {
		return err
	}
	data := a.bytes(size)[:0]
	for r, s := range at {
		off[r] = int32(len(data))
		if s[0] > 0 {
			data = append(data, get(parts[s[0]-1].v, int(s[1]))...)
		}
	}
	off[out.n] = int32(len(data))
	out.off, out.data = off, data
	return nil
}

// takeEntries is takeVec for indices some of which may be NULL; strings stay a
// dictionary.
func takeEntries(a *arena, res *vec, idx []int32, valid []byte, t types.Type) (*vec, error) {
	if res.kind == kNull {
		return nullVec(len(idx)), nil
	}
	if valid != nil {
		// indices of NULL rows may be anything
		clean := alloc[int32](a, len(idx))
		for i, x := range idx {
			if valid[i>>3]>>(i&7)&1 == 0 {
				x = 0
			}
			clean[i] = x
		}
		idx = clean
		if res.n == 0 {
			return nullVec(len(idx)), nil
		}
	}
	var out *vec
	if res.kind == kStr {
		out = fixedVec(kDict, idx, nil)
		out.dict = res
		if res.valid != nil {
			out.valid = takeBits(a, res.valid, 0, idx)
			out.dict = &vec{kind: kStr, n: res.n, off: res.off, data: res.data}
		}
	} else {
		v, err := takeVec(a, res, idx, t)
		if err != nil {
			return nil, err
		}
		out = v
	}
	out.valid = andBits(a, out.valid, valid, len(idx))
	return out, nil
}
