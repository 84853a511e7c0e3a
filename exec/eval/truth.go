package eval

import (
	"unsafe"

	"github.com/tributarydb/tributary/exec/batch"
)

func boolVec(v []uint8, valid []byte) *vec { return fixedVec(kBool, v, valid) }

func boolConst(b bool, n int) *vec {
	x := []uint8{b2u(b)}
	return &vec{kind: kBool, one: true, n: n, p: unsafe.Pointer(unsafe.SliceData(x))}
}

// truth writes a boolean vec out as two byte columns: is true, is false.
func truth(a *arena, v *vec) (t, f []uint8) {
	n := v.n
	t, f = alloc[uint8](a, n), alloc[uint8](a, n)
	switch {
	case v.allNull():
		clear(t)
		clear(f)
	case v.one:
		x := vals[uint8](v)[0]
		for i := range t {
			t[i], f[i] = x, 1-x
		}
	case v.valid == nil:
		for i, x := range vals[uint8](v) {
			t[i], f[i] = x, 1-x
		}
	default:
		for i, x := range vals[uint8](v) {
			ok := v.valid[i>>3] >> (i & 7) & 1
			t[i], f[i] = x&ok, (1-x)&ok
		}
	}
	return t, f
}

// fromTruth is the reverse of truth.
func fromTruth(a *arena, t, f []uint8) *vec {
	n := len(t)
	known := 0
	for i := range t {
		known += int(t[i] | f[i])
	}
	if known == n {
		return boolVec(t, nil)
	}
	valid := alloc[byte](a, batch.BitmapBytes(n))
	clear(valid)
	for i := range t {
		valid[i>>3] |= (t[i] | f[i]) << (i & 7)
	}
	return boolVec(t, valid)
}
