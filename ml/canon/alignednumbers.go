package canon

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// Lent numbers are aligned to multiples of lentAt bytes from the start of the encoding,
// so that decoded slices can alias it. Numbers are little-endian, like the supported
// machines.
const lentAt = 8

// pad appends zeros up to where lent numbers may lie.
func (e *E) pad() { e.B = append(e.B, make([]byte, -(e.gone+len(e.B))&(lentAt-1))...) }

// LentF64s appends numbers for D.LentF64s.
func (e *E) LentF64s(v []float64) {
	e.count(len(v))
	e.pad()
	e.f64s(v)
}

// LentF32s appends numbers for D.LentF32s.
func (e *E) LentF32s(v []float32) {
	e.count(len(v))
	e.pad()
	e.f32s(v)
}

// lent reads a list of numbers of size bytes, and reports whether they can be aliased.
func (d *D) lent(size int) (b []byte, ok bool) {
	n := d.Count(size)
	for _, v := range d.take(-(d.size - len(d.b)) & (lentAt - 1)) {
		if v != 0 {
			d.Fail()
		}
	}
	if b = d.take(size * n); len(b) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%lentAt == 0 {
		return b, true
	}
	d.owe(len(b))
	return b, false
}

// LentF64s reads numbers; nil for none. They alias the input and are valid as long as
// it is, or are a copy where the input is not aligned to 8 bytes.
func (d *D) LentF64s() []float64 {
	b, ok := d.lent(8)
	switch {
	case len(b) == 0:
		return nil
	case ok:
		return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
	}
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

// LentF32s is LentF64s for float32.
func (d *D) LentF32s() []float32 {
	b, ok := d.lent(4)
	switch {
	case len(b) == 0:
		return nil
	case ok:
		return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
