package vector

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

// Take returns rows sel of a column.
func Take(a *Arena, arr arrow.Array, sel []int32, t types.Type) (*Vec, error) {
	if b, ok := arr.(*array.Boolean); ok {
		// straight from the bits, rather than unpacking rows that do not count
		v := &Vec{Kind: Bool, N: len(sel)}
		out := Alloc[uint8](a, len(sel))
		d := b.Data()
		bits, o := d.Buffers()[1].Bytes(), d.Offset()
		for i, r := range sel {
			j := int(r) + o
			out[i] = bits[j>>3] >> (j & 7) & 1
		}
		v.P = unsafe.Pointer(unsafe.SliceData(out))
		if b.NullN() > 0 {
			v.Valid = takeBits(a, d.Buffers()[0].Bytes(), o, sel)
		}
		return v, nil
	}
	return TakeVec(a, FromArrow(a, arr), sel, t)
}

// TakeVec returns rows sel of a vec.
func TakeVec(a *Arena, v *Vec, sel []int32, t types.Type) (*Vec, error) {
	n := len(sel)
	if v.One {
		out := *v
		out.N = n
		return &out, nil
	}
	out := &Vec{Kind: v.Kind, N: n, Dict: v.Dict, Key: v.Key}
	if v.Valid != nil {
		out.Valid = takeBits(a, v.Valid, 0, sel)
	}
	switch v.Kind {
	case Null:
		return NewNull(n), nil
	case Bool:
		gather[uint8](a, out, v, sel)
	case I16:
		gather[int16](a, out, v, sel)
	case I32, U32, F32, Dict:
		gather[int32](a, out, v, sel)
	case I64, F64:
		gather[int64](a, out, v, sel)
	case F12:
		gather[[12]byte](a, out, v, sel)
	case F16:
		gather[[16]byte](a, out, v, sel)
	case Str, Bin:
		off := Alloc[int32](a, n+1)
		total := 0
		for i, r := range sel {
			off[i] = int32(total)
			total += int(v.Off[r+1] - v.Off[r])
		}
		if err := TooLarge(n, total); err != nil {
			return nil, err
		}
		off[n] = int32(total)
		data := a.Bytes(total)
		for i, r := range sel {
			copy(data[off[i]:], v.Data[v.Off[r]:v.Off[r+1]])
		}
		out.Off, out.Data = off, data
	case Arr:
		arr, err := TakeArrow(a, v.Arr, sel)
		if err != nil {
			return nil, err
		}
		out.Arr = arr
	}
	return out, nil
}

func gather[T any](a *Arena, out, v *Vec, sel []int32) {
	src := Values[T](v)
	dst := Alloc[T](a, len(sel))
	for i, r := range sel {
		dst[i] = src[r]
	}
	out.P = unsafe.Pointer(unsafe.SliceData(dst))
}

func takeBits(a *Arena, b []byte, off int, sel []int32) []byte {
	out := Alloc[byte](a, batch.BitmapBytes(len(sel)))
	clear(out)
	for i, r := range sel {
		j := int(r) + off
		out[i>>3] |= (b[j>>3] >> (j & 7) & 1) << (i & 7)
	}
	return out
}

// TakeArrow gathers rows of lists and structs.
func TakeArrow(a *Arena, arr arrow.Array, sel []int32) (arrow.Array, error) {
	n := len(sel)
	var valid []byte
	if arr.NullN() > 0 {
		valid = a.Lasting(batch.BitmapBytes(n))
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
			all += ListLen(x, int(r))
		}
		a.Meter().Charge(int64(4 * (n + all)))
		idx := make([]int32, 0, all)
		for i, r := range sel {
			from, to := x.ValueOffsets(int(r))
			for j := from; j < to; j++ {
				idx = append(idx, int32(j))
			}
			off[i+1] = int32(len(idx))
		}
		kids, err := TakeArrow(a, x.ListValues(), idx)
		if err != nil {
			return nil, err
		}
		ob := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(off))
		return array.NewListData(array.NewData(x.DataType(), n, []*memory.Buffer{vbuf, ob}, []arrow.ArrayData{kids.Data()}, nulls, 0)), nil
	case *array.Struct:
		kids := make([]arrow.ArrayData, x.NumField())
		for f := range kids {
			k, err := TakeArrow(a, x.Field(f), sel)
			if err != nil {
				return nil, err
			}
			kids[f] = k.Data()
		}
		return array.NewStructData(array.NewData(x.DataType(), n, []*memory.Buffer{vbuf}, kids, nulls, 0)), nil
	case *array.Null:
		return array.NewNull(n), nil
	}
	a = a.Fresh()
	v := FromArrow(a, arr)
	if v.Kind == Arr {
		return nil, pgerr.Internal("cannot take rows of %s", arr.DataType())
	}
	out, err := TakeVec(a, v, sel, types.Type{})
	if err != nil {
		return nil, err
	}
	out.Arr = nil
	return out.asArrow(arr.DataType())
}

// asArrow makes an array of an Arrow type that v's kind can represent.
func (v *Vec) asArrow(dt arrow.DataType) (arrow.Array, error) {
	switch v.Kind {
	case Null:
		return batch.Nulls(dt, v.N), nil
	case Bool:
		return batch.FromBits(PackBits(nil, Values[uint8](v)), v.Valid, v.N), nil
	case Str, Bin:
		return batch.FromOffsets(dt, v.Off, v.Data, v.Valid), nil
	case Dict:
		values, err := v.Dict.asArrow(arrow.BinaryTypes.String)
		if err != nil {
			return nil, err
		}
		return batch.FromIndices(types.DictArrow, Values[int32](v), v.Valid, values), nil
	case I16:
		return batch.FromSlice(dt, Values[int16](v), v.Valid), nil
	case I32, U32, F32:
		return batch.FromSlice(dt, Values[int32](v), v.Valid), nil
	case I64, F64:
		return batch.FromSlice(dt, Values[int64](v), v.Valid), nil
	case F12, F16:
		return batch.FromBytes(dt.(*arrow.FixedSizeBinaryType), unsafe.Slice((*byte)(v.P), v.N*v.Kind.Width()), v.Valid, v.N), nil
	case Arr:
		return v.Arr, nil
	}
	return nil, pgerr.Internal("no array for kind %d", v.Kind)
}

// Part is the result of an expression for some rows of a larger column.
type Part struct {
	Rows []int32 // ascending
	V    *Vec    // as many rows
}

// Scatter makes a column of n rows of t from parts; rows in no part are NULL.
func Scatter(a *Arena, n int, t types.Type, parts []Part) (*Vec, error) {
	if len(parts) == 1 && len(parts[0].Rows) == n {
		return parts[0].V, nil
	}
	k := t.Form()
	valid := Alloc[byte](a, batch.BitmapBytes(n))
	clear(valid)
	total := 0
	for _, p := range parts {
		for i, r := range p.Rows {
			if !p.V.Null(i) {
				valid[r>>3] |= 1 << (r & 7)
				total++
			}
		}
	}
	out := &Vec{Kind: k, N: n, Valid: valid}
	if total == n {
		out.Valid = nil
	}
	switch k {
	case Null:
		return NewNull(n), nil
	case Bool:
		scatterFixed[uint8](a, out, parts)
	case I16:
		scatterFixed[int16](a, out, parts)
	case I32, U32, F32:
		scatterFixed[int32](a, out, parts)
	case I64, F64:
		scatterFixed[int64](a, out, parts)
	case F12:
		scatterFixed[[12]byte](a, out, parts)
	case F16:
		scatterFixed[[16]byte](a, out, parts)
	case Str:
		return out, scatterStrings(a, out, parts)
	case Bin:
		return out, scatterBytes(a, out, parts, (*Vec).Bytes)
	default:
		arr, err := scatterArrow(a, out, t.Arrow(), parts)
		if err != nil {
			return nil, err
		}
		out.Arr = arr
	}
	return out, nil
}

// scatterArrow concatenates a NULL and the parts' arrays, and takes each row from its place there.
func scatterArrow(a *Arena, out *Vec, dt arrow.DataType, parts []Part) (arrow.Array, error) {
	from := make([]int32, out.N)
	all := []arrow.Array{batch.Nulls(dt, 1)}
	base := int32(1)
	for _, p := range parts {
		if p.V.AllNull() || len(p.Rows) == 0 {
			continue
		}
		for i, r := range p.Rows {
			switch {
			case p.V.Null(i):
			case p.V.One:
				from[r] = base
			default:
				from[r] = base + int32(i)
			}
		}
		a.Meter().Charge(batch.ArrayBytes(p.V.Arr)) // for the copy
		all = append(all, p.V.Arr)
		base += int32(p.V.Arr.Len())
	}
	return TakeArrow(a, kernel.Concat(dt, all), from)
}

func scatterFixed[T any](a *Arena, out *Vec, parts []Part) {
	dst := Alloc[T](a, out.N)
	clear(dst)
	for _, p := range parts {
		if p.V.Kind == Null {
			continue
		}
		src := Values[T](p.V)
		if p.V.One {
			if len(src) == 0 {
				continue
			}
			x := src[0]
			for _, r := range p.Rows {
				dst[r] = x
			}
			continue
		}
		for i, r := range p.Rows {
			dst[r] = src[i]
		}
	}
	out.P = unsafe.Pointer(unsafe.SliceData(dst))
}

// scatterStrings makes a dictionary where all parts are single strings, as in
// CASE … THEN 'a' ELSE 'b'.
func scatterStrings(a *Arena, out *Vec, parts []Part) error {
	for _, p := range parts {
		if !p.V.One {
			return scatterBytes(a, out, parts, func(v *Vec, i int) []byte { return StringBytes(v.Str(i)) })
		}
	}
	idx := Alloc[int32](a, out.N)
	clear(idx)
	d := &Vec{Kind: Str, Off: []int32{0}}
	data := Text{M: a.Meter(), rows: len(parts)}
	for pi, p := range parts {
		if !p.V.AllNull() {
			data.WriteString(p.V.Str(0))
		}
		d.Data = data.Bytes()
		d.Off = append(d.Off, int32(len(d.Data)))
		d.N++
		for _, r := range p.Rows {
			idx[r] = int32(pi)
		}
	}
	if d.N == 0 {
		d.N, d.Off = 1, []int32{0, 0}
	}
	out.Kind, out.Dict, out.P = Dict, d, unsafe.Pointer(unsafe.SliceData(idx))
	return nil
}

func scatterBytes(a *Arena, out *Vec, parts []Part, get func(*Vec, int) []byte) error {
	at := Alloc[[2]int32](a, out.N)
	clear(at)
	size := 0
	for pi, p := range parts {
		for i, r := range p.Rows {
			if !p.V.Null(i) {
				at[r] = [2]int32{int32(pi) + 1, int32(i)}
				size += len(get(p.V, i))
			}
		}
	}
	off := Alloc[int32](a, out.N+1)
	if err := TooLarge(out.N, size); err != nil {
		return err
	}
	data := a.Bytes(size)[:0]
	for r, s := range at {
		off[r] = int32(len(data))
		if s[0] > 0 {
			data = append(data, get(parts[s[0]-1].V, int(s[1]))...)
		}
	}
	off[out.N] = int32(len(data))
	out.Off, out.Data = off, data
	return nil
}

// TakeEntries is TakeVec for indices some of which may be NULL; strings stay a dictionary.
func TakeEntries(a *Arena, res *Vec, idx []int32, valid []byte, t types.Type) (*Vec, error) {
	if res.Kind == Null {
		return NewNull(len(idx)), nil
	}
	if valid != nil {
		// indices of NULL rows may be anything
		clean := Alloc[int32](a, len(idx))
		for i, x := range idx {
			if valid[i>>3]>>(i&7)&1 == 0 {
				x = 0
			}
			clean[i] = x
		}
		idx = clean
		if res.N == 0 {
			return NewNull(len(idx)), nil
		}
	}
	var out *Vec
	if res.Kind == Str {
		out = NewFixed(Dict, idx, nil)
		out.Dict = res
		if res.Valid != nil {
			out.Valid = takeBits(a, res.Valid, 0, idx)
			out.Dict = &Vec{Kind: Str, N: res.N, Off: res.Off, Data: res.Data}
		}
	} else {
		v, err := TakeVec(a, res, idx, t)
		if err != nil {
			return nil, err
		}
		out = v
	}
	out.Valid = AndBits(a, out.Valid, valid, len(idx))
	return out, nil
}
