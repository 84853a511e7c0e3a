package vector

import (
	"unsafe"

	"github.com/tributarydb/tributary/exec/batch"
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
		for i, x := range Values[uint8](v) {
			ok := v.Valid[i>>3] >> (i & 7) & 1
			t[i], f[i] = x&ok, (1-x)&ok
		}
	}
	return t, f
}

// True is the first of Truth; it may be the values of v.
func True(a *Arena, v *Vec) []uint8 {
	if v.Kind == Bool && !v.One && v.Valid == nil {
		return Values[uint8](v)
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
	n := len(t)
	known := 0
	for i := range t {
		known += int(t[i] | f[i])
	}
	if known == n {
		return NewBool(t, nil)
	}
	valid := Alloc[byte](a, batch.BitmapBytes(n))
	clear(valid)
	for i := range t {
		valid[i>>3] |= (t[i] | f[i]) << (i & 7)
	}
	return NewBool(t, valid)
}
