package kernel

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/types"
)

// KeySpec is one key of an ordering.
type KeySpec struct {
	Type       types.Type
	Desc       bool
	NullsFirst bool
}

// Keys are the keys of a set of rows: Width bytes each where that is fixed,
// else between offsets. A key column begins with a byte for NULL, 0 where NULLs
// come first and 2 where last, 1 for values.
type Keys struct {
	Width int // 0: not fixed
	N     int
	Data  []byte
	Offs  []uint64 // N+1 of them where Width is 0
}

// At returns the key of row i.
func (k *Keys) At(i int) []byte {
	if k.Width > 0 {
		return k.Data[i*k.Width : (i+1)*k.Width]
	}
	return k.Data[k.Offs[i]:k.Offs[i+1]]
}

// Bytes returns the memory that the keys hold.
func (k *Keys) Bytes() int64 { return int64(cap(k.Data)) + 8*int64(cap(k.Offs)) }

// Reset removes the rows but keeps the memory.
func (k *Keys) Reset() {
	k.N, k.Data, k.Offs = 0, k.Data[:0], k.Offs[:0]
}

// KeyEncoder makes keys.
type KeyEncoder struct {
	specs []KeySpec
	width int
}

// NewKeyEncoder makes the encoder of the ordering specs.
func NewKeyEncoder(specs []KeySpec) *KeyEncoder {
	e := &KeyEncoder{specs: specs}
	for _, s := range specs {
		w := keyWidth(s.Type)
		if w == 0 {
			e.width = 0
			return e
		}
		e.width += w + 1
	}
	return e
}

// Prefix returns the encoder of the first n specs, whose keys are prefixes of e's.
func (e *KeyEncoder) Prefix(n int) *KeyEncoder {
	p := NewKeyEncoder(e.specs[:n])
	if e.width == 0 {
		p.width = 0
	}
	return p
}

// keyWidth returns the bytes of a type's keys, 0 where they vary.
func keyWidth(t types.Type) int {
	return t.Form().Width()
}

// Width returns the bytes of a key where they are fixed, else 0.
func (e *KeyEncoder) Width() int { return e.width }

// Append adds the keys of the n rows of cols, which are parallel to the specs.
func (e *KeyEncoder) Append(k *Keys, cols []arrow.Array, n int) {
	if e.width > 0 {
		e.appendFixed(k, cols, n)
		return
	}
	if len(k.Offs) == 0 {
		k.Offs = append(k.Offs, uint64(len(k.Data)))
	}
	readers := make([]keyReader, len(cols))
	for c := range e.specs {
		readers[c] = newKeyReader(&e.specs[c], cols[c])
	}
	if need := 8 * n * len(cols); cap(k.Data)-len(k.Data) < need {
		k.Data = slices.Grow(k.Data, max(need, len(k.Data)))
	}
	dst := k.Data
	for i := 0; i < n; i++ {
		for c := range readers {
			dst = readers[c].append(dst, i)
		}
		k.Offs = append(k.Offs, uint64(len(dst)))
	}
	k.Data = dst
	k.N += n
}

func (s *KeySpec) append(dst []byte, arr arrow.Array, i int) []byte {
	if arr.IsNull(i) {
		if s.NullsFirst {
			return append(dst, 0)
		}
		return append(dst, 2)
	}
	dst = append(dst, 1)
	at := len(dst)
	dst = AppendKey(dst, s.Type, arr, i)
	if s.Desc {
		invert(dst[at:])
	}
	return dst
}

func (e *KeyEncoder) appendFixed(k *Keys, cols []arrow.Array, n int) {
	k.Width = e.width
	from := len(k.Data)
	need := from + n*e.width
	if cap(k.Data) < need {
		grown := make([]byte, from, max(need, 2*cap(k.Data)))
		copy(grown, k.Data)
		k.Data = grown
	}
	k.Data = k.Data[:need]
	dst := k.Data[from:]
	at := 0
	for c, s := range e.specs {
		s.fill(dst, at, e.width, cols[c], n)
		at += keyWidth(s.Type) + 1
	}
	k.N += n
}

// fill writes the keys of one column at offset at of each stride bytes.
func (s *KeySpec) fill(dst []byte, at, stride int, arr arrow.Array, n int) {
	var flip uint64
	if s.Desc {
		flip = ^uint64(0)
	}
	switch a := arr.(type) {
	case *array.Int64:
		fill64(dst, at, stride, a.Int64Values(), flip^1<<63)
	case *array.Timestamp:
		fill64(dst, at, stride, a.TimestampValues(), flip^1<<63)
	case *array.Time64:
		fill64(dst, at, stride, a.Time64Values(), flip^1<<63)
	case *array.Int32:
		fill32(dst, at, stride, a.Int32Values(), uint32(flip)^1<<31)
	case *array.Date32:
		fill32(dst, at, stride, a.Date32Values(), uint32(flip)^1<<31)
	case *array.Uint32:
		fill32(dst, at, stride, a.Uint32Values(), uint32(flip))
	case *array.Float64:
		p := at
		for _, v := range a.Float64Values() {
			dst[p] = 1
			binary.BigEndian.PutUint64(dst[p+1:], floatKey(v)^flip)
			p += stride
		}
	default:
		var tmp []byte
		w := keyWidth(s.Type)
		for i, p := 0, at; i < n; i, p = i+1, p+stride {
			dst[p] = 1
			if arr.IsNull(i) {
				continue
			}
			tmp = AppendKey(tmp[:0], s.Type, arr, i)
			if s.Desc {
				invert(tmp)
			}
			copy(dst[p+1:p+1+w], tmp)
		}
	}
	if arr.NullN() > 0 {
		w, null := keyWidth(s.Type), byte(2)
		if s.NullsFirst {
			null = 0
		}
		for i, p := 0, at; i < n; i, p = i+1, p+stride {
			if arr.IsNull(i) {
				dst[p] = null
				clear(dst[p+1 : p+1+w])
			}
		}
	}
}

func fill64[T ~int64](dst []byte, at, stride int, vals []T, flip uint64) {
	p := at
	for _, v := range vals {
		dst[p] = 1
		binary.BigEndian.PutUint64(dst[p+1:p+9], uint64(v)^flip)
		p += stride
	}
}

func fill32[T ~int32 | ~uint32](dst []byte, at, stride int, vals []T, flip uint32) {
	p := at
	for _, v := range vals {
		dst[p] = 1
		binary.BigEndian.PutUint32(dst[p+1:p+5], uint32(v)^flip)
		p += stride
	}
}

// Whole returns the value at which a key begins, as AppendKey wrote it: an integer, a date or a time. It is false for
// NULL and for other types.
func (s *KeySpec) Whole(key []byte) (v int64, ok bool) {
	switch s.Type.Form() {
	case types.FormInt16, types.FormInt32, types.FormInt64:
	default:
		return 0, false
	}
	w := keyWidth(s.Type)
	if len(key) <= w || key[0] != 1 {
		return 0, false
	}
	var u uint64
	for _, b := range key[1 : 1+w] {
		if s.Desc {
			b = ^b
		}
		u = u<<8 | uint64(b)
	}
	shift := 64 - 8*w
	return int64((u^1<<(8*w-1))<<shift) >> shift, true
}

// Leading appends to out the first eight bytes of the keys of numbers, as a number; NULLs tie with
// the least or the greatest. It returns false for other types.
func (s *KeySpec) Leading(arr arrow.Array, out *[]uint64) bool {
	var flip uint64
	if s.Desc {
		flip = ^uint64(0)
	}
	from := len(*out)
	switch a := arr.(type) {
	case *array.Int64:
		*out = leading(*out, a.Int64Values(), flip^1<<63)
	case *array.Timestamp:
		*out = leading(*out, a.TimestampValues(), flip^1<<63)
	case *array.Int32:
		*out = leading(*out, a.Int32Values(), flip^1<<63)
	case *array.Date32:
		*out = leading(*out, a.Date32Values(), flip^1<<63)
	case *array.Float64:
		vals := a.Float64Values()
		*out = slices.Grow(*out, len(vals))[:from+len(vals)]
		for i, v := range vals {
			(*out)[from+i] = floatKey(v) ^ flip
		}
	default:
		return false
	}
	if arr.NullN() > 0 {
		null := uint64(math.MaxUint64)
		if s.NullsFirst {
			null = 0
		}
		for i := range arr.Len() {
			if arr.IsNull(i) {
				(*out)[from+i] = null
			}
		}
	}
	return true
}

func leading[T ~int32 | ~int64](out []uint64, vals []T, flip uint64) []uint64 {
	from := len(out)
	out = slices.Grow(out, len(vals))[:from+len(vals)]
	for i, v := range vals {
		out[from+i] = uint64(int64(v)) ^ flip
	}
	return out
}
