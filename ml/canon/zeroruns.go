package canon

import (
	"encoding/binary"
	"math"
	"unsafe"
)

const (
	// Gap is the number of consecutive zeros from which they are only counted.
	Gap = 8
	// mostSparse bounds the length of a sparse list that is decoded without a charge: a
	// few malicious bytes can encode a long one.
	mostSparse = 1 << 26
)

// Run returns the next literal run of a list at or after a position: it begins and ends
// with a non-zero member, and has no more than Gap-1 consecutive zeros in it. It is
// empty, at the end, where only zeros are left.
func Run[T int64 | uint32 | uint64](v []T, at int) (from, to int) {
	for at < len(v) && v[at] == 0 {
		at++
	}
	from, to = at, at
	for i := from; i < len(v) && i-to < Gap; i++ {
		if v[i] != 0 {
			to = i + 1
		}
	}
	return from, to
}

// Sparse appends a list of n members, many of which may be zero; consecutive zeros are
// only counted. run is Run of the list, put appends members from … to-1.
func (e *E) Sparse(n int, run func(at int) (from, to int), put func(from, to int)) {
	e.count(n)
	for at := 0; at < n; {
		from, to := run(at)
		e.B = binary.AppendUvarint(e.B, uint64(from-at))
		e.B = binary.AppendUvarint(e.B, uint64(to-from))
		put(from, to)
		at = to
	}
}

// Sparse reads what E.Sparse wrote: room allocates a list of n zeros, of size bytes
// each, and get reads members from … to-1.
func (d *D) Sparse(size int, room func(n int), get func(from, to int)) {
	n := int(d.U32())
	if d.charge == nil && n > mostSparse {
		d.Fail()
	}
	if d.owe(n * size); d.bad {
		return
	}
	if n == 0 {
		room(0)
		return
	}
	for at := 0; ; {
		from := at + d.uvarint(n-at)
		to := from + d.uvarint(n-from)
		if to == from && to < n || at > 0 && from == at { // a non-final run is not empty, and runs are separated by zeros
			d.Fail()
		}
		if d.bad {
			return
		}
		if at == 0 { // allocate only once the first run has been checked
			room(n)
		}
		get(from, to)
		if at = to; at == n {
			return
		}
	}
}

// uvarint reads a number that is at most most.
func (d *D) uvarint(most int) int {
	v, n := binary.Uvarint(d.b)
	if d.bad || n <= 0 || n > 1 && d.b[n-1] == 0 || v > uint64(most) {
		d.Fail()
		return 0
	}
	d.b = d.b[n:]
	return int(v)
}

// bits32 and bits64 return numbers as their bits, so that a negative zero does not
// count as zero.
func bits32(v []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

func bits64(v []float64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// SparseF32s appends numbers of which many may be 0.
func (e *E) SparseF32s(v []float32) {
	e.Sparse(len(v), func(at int) (int, int) { return Run(bits32(v), at) }, func(from, to int) { e.f32s(v[from:to]) })
}

// SparseF32s reads numbers; nil for none.
func (d *D) SparseF32s() (v []float32) {
	d.Sparse(4, func(n int) {
		if n > 0 {
			v = make([]float32, n)
		}
	}, func(from, to int) {
		b := d.take(4 * (to - from))
		for i := range len(b) / 4 {
			v[from+i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	})
	return v
}

// SparseI64s appends numbers of which many may be 0.
func (e *E) SparseI64s(v []int64) {
	e.Sparse(len(v), func(at int) (int, int) { return Run(v, at) }, func(from, to int) { e.i64s(v[from:to]) })
}

// SparseI64s reads numbers; nil for none.
func (d *D) SparseI64s() (v []int64) {
	d.Sparse(8, func(n int) {
		if n > 0 {
			v = make([]int64, n)
		}
	}, func(from, to int) {
		b := d.take(8 * (to - from))
		for i := range len(b) / 8 {
			v[from+i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	})
	return v
}

// SparseF64s appends numbers of which many may be 0.
func (e *E) SparseF64s(v []float64) {
	e.Sparse(len(v), func(at int) (int, int) { return Run(bits64(v), at) }, func(from, to int) { e.f64s(v[from:to]) })
}

// SparseF64s reads numbers; nil for none.
func (d *D) SparseF64s() (v []float64) {
	d.Sparse(8, func(n int) {
		if n > 0 {
			v = make([]float64, n)
		}
	}, func(from, to int) {
		b := d.take(8 * (to - from))
		for i := range len(b) / 8 {
			v[from+i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	})
	return v
}
