package vector

import (
	"unsafe"
)

// NewBool makes a column of booleans, a byte a row.
func NewBool(v []uint8, valid []byte) *Vec { return NewFixed(Bool, v, valid) }

// NewBoolConst makes n rows of b.
func NewBoolConst(b bool, n int) *Vec {
	x := []uint8{ByteOf(b)}
	return &Vec{Kind: Bool, One: true, N: n, P: unsafe.Pointer(unsafe.SliceData(x))}
}

// Truth writes a boolean vec out as two byte columns: is true, is false.
func Truth(a *Arena, v *Vec) (t, f []uint8) {
	n := v.N
	t, f = Alloc[uint8](a, n), Alloc[uint8](a, n)
	switch {
	case v.AllNull():
		clear(t)
		clear(f)
	case v.One:
		x := Values[uint8](v)[0]
		for i := range t {
			t[i], f[i] = x, 1-x
		}
	case v.Valid == nil:
		for i, x := range Values[uint8](v) {
			t[i], f[i] = x, 1-x
		}
	default:
		known(t, f, Values[uint8](v), v.Valid)
	}
	return t, f
}

// True is the first of Truth; it may be the values of v.
func True(a *Arena, v *Vec) []uint8 {
	if v.Kind == Bool && !v.One && v.Valid == nil {
		return Values[uint8](v)
	}
	if v.Kind == Bool && !v.One {
		t := Alloc[uint8](a, v.N)
		known(t, nil, Values[uint8](v), v.Valid)
		return t
	}
	t, _ := Truth(a, v)
	return t
}

// Where is v with NULL in the rows that are not among those of a bitmap. It must not be a single value.
func (v *Vec) Where(a *Arena, rows []byte) *Vec {
	out := *v
	out.Valid = AndBits(a, v.Valid, rows, v.N)
	return &out
}

// FromTruth is the inverse of Truth.
func FromTruth(a *Arena, t, f []uint8) *Vec {
	some := Alloc[uint8](a, len(t)) // t or f
	for i := range some {
		some[i] = t[i] | f[i]
	}
	if CountBytes(some) == len(t) {
		return NewBool(t, nil)
	}
	return NewBool(t, PackBits(a, some))
}
