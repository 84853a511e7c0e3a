package vector

import (
	"bytes"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
)

// Arena hands out memory that lives until its next reset. It is not cleared. What it holds is
// charged to its meter; one without a meter is for memory that the caller bounds.
type Arena struct {
	chunks [][]uint64
	cur    int // chunk in use
	used   int // words used of it
	m      *Meter
	once   bool // for one call's values: charged with them, not kept
}

// NewArena makes an arena that charges m, which outlives it.
func NewArena(m *Meter) Arena { return Arena{m: m} }

// Once makes an arena for one call's values: charged with them, not kept.
func Once(m *Meter) *Arena { return &Arena{m: m, once: true} }

// Fresh makes an arena for what outlives the next reset of a.
func (a *Arena) Fresh() *Arena { return Once(a.Meter()) }

// Meter returns the meter that charges for a; nil for the heap.
func (a *Arena) Meter() *Meter {
	if a == nil {
		return nil
	}
	return a.m
}

// Allocator returns an allocator for Arrow's builders.
func (a *Arena) Allocator() memory.Allocator {
	if m := a.Meter(); m != nil {
		return m
	}
	return memory.DefaultAllocator
}

const (
	arenaFirst = 1 << 6  // words: 512 bytes
	arenaChunk = 1 << 15 // words: 256 KiB
	arenaKeep  = 8 << 20 // bytes: what is kept from one call for the next
	// LittleText is the length from which a text of an arena is not copied out of it.
	LittleText = 256
)

// Reset lets the next call reuse the memory.
func (a *Arena) Reset() {
	a.cur, a.used = 0, 0
	// one large chunk is better than many: the next call is likely to need as much
	if len(a.chunks) > 8 {
		total := 0
		for _, c := range a.chunks {
			total += len(c)
		}
		if 8*total > arenaKeep {
			a.Free()
			return
		}
		a.chunks = [][]uint64{make([]uint64, total)}
	}
}

// Free is Reset without keeping the memory for the next call.
func (a *Arena) Free() {
	total := 0
	for _, c := range a.chunks {
		total += len(c)
	}
	a.keep(-total)
	a.chunks, a.cur, a.used = nil, 0, 0
}

// Trim is Free, but for a little that the next use of the program begins with.
func (a *Arena) Trim() {
	if len(a.chunks) == 0 || len(a.chunks[0]) > arenaFirst {
		a.Free()
		return
	}
	first := a.chunks[0]
	a.Free()
	a.chunks = append(a.chunks, first)
}

// Mark is a place in an arena.
type Mark struct{ chunk, used int }

// Mark returns where the next memory will lie.
func (a *Arena) Mark() Mark { return Mark{a.cur, a.used} }

// Rewind lets what was handed out since the mark be reused.
func (a *Arena) Rewind(m Mark) { a.cur, a.used = m.chunk, m.used }

func (a *Arena) words(n int) []uint64 {
	n = (n + 7) &^ 7 // 64 bytes
	for a.cur < len(a.chunks) {
		c := a.chunks[a.cur]
		if a.used+n <= len(c) {
			s := c[a.used : a.used+n : a.used+n]
			a.used += n
			return s
		}
		a.cur++
		a.used = 0
	}
	// Small at first: a program may live for one row only, and each line that it clears is a miss.
	size := max(min(arenaChunk, arenaFirst<<(3*min(len(a.chunks), 4))), n)
	a.keep(size)
	a.chunks = append(a.chunks, make([]uint64, size))
	a.cur = len(a.chunks) - 1
	a.used = n
	return a.chunks[a.cur][:n:n]
}

// keep charges the words of a chunk, for as long as it stays.
func (a *Arena) keep(words int) {
	if a.m == nil {
		return
	}
	if words < 0 {
		a.m.Keep(int64(8 * words))
		a.m.Release(int64(-8 * words))
		return
	}
	a.m.Charge(int64(8 * words))
	if !a.once {
		a.m.Keep(int64(8 * words))
	}
}

// Bytes returns n bytes: of the arena where they are few, else an allocation of their own, which a
// result may keep.
func (a *Arena) Bytes(n int) []byte {
	if n <= 8*arenaChunk {
		return Alloc[byte](a, n)
	}
	return a.Lasting(n)
}

// Lasting returns n zero bytes that no reset of the arena reuses.
func (a *Arena) Lasting(n int) []byte {
	a.Meter().Charge(int64(n))
	return make([]byte, n)
}

// Alloc returns n values of T, not cleared; from the heap (zeroed) where a is nil. T must not hold
// pointers.
func Alloc[T any](a *Arena, n int) []T {
	if a == nil || n == 0 {
		return make([]T, n)
	}
	var z T
	w := a.words((n*int(unsafe.Sizeof(z)) + 7) / 8)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(w))), n)
}

// holds reports whether memory lies in the arena.
func (a *Arena) holds(p unsafe.Pointer) bool {
	if p == nil {
		return false
	}
	for _, c := range a.chunks {
		base := uintptr(unsafe.Pointer(unsafe.SliceData(c)))
		if x := uintptr(p); x >= base && x < base+uintptr(len(c))*8 {
			return true
		}
	}
	return false
}

// Detach copies what of v lies in the arena to the heap.
func (a *Arena) Detach(v *Vec) *Vec {
	out := *v
	if a.holds(v.P) {
		n := v.Stored() * v.Kind.Width()
		a.m.Charge(int64(n))
		b := make([]uint64, (n+7)/8)
		dst := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)*8)
		copy(dst, unsafe.Slice((*byte)(v.P), n))
		out.P = unsafe.Pointer(unsafe.SliceData(b))
	}
	if a.holds(unsafe.Pointer(unsafe.SliceData(v.Valid))) {
		out.Valid = bytes.Clone(v.Valid)
	}
	if a.holds(unsafe.Pointer(unsafe.SliceData(v.Off))) {
		out.Off = append([]int32(nil), v.Off...)
	}
	if a.holds(unsafe.Pointer(unsafe.SliceData(v.Data))) {
		a.m.Charge(int64(len(v.Data)))
		out.Data = bytes.Clone(v.Data)
	}
	if v.Dict != nil {
		out.Dict = a.Detach(v.Dict)
	}
	return &out
}

// ---- bitmaps ----

// BitsFrom returns bits [off, off+n) of an Arrow bitmap as one that starts at
// bit 0, without copying where it can.
func BitsFrom(a *Arena, b []byte, off, n int) []byte {
	if off&7 == 0 {
		return b[off>>3 : off>>3+batch.BitmapBytes(n)]
	}
	out := Alloc[byte](a, batch.BitmapBytes(n))
	sh := uint(off & 7)
	src := b[off>>3:]
	for i := range out {
		x := src[i] >> sh
		if i+1 < len(src) {
			x |= src[i+1] << (8 - sh)
		}
		out[i] = x
	}
	return out
}

// AndBits intersects two bitmaps of n bits; nil is all ones.
func AndBits(a *Arena, x, y []byte, n int) []byte {
	if x == nil {
		return y
	}
	if y == nil {
		return x
	}
	out := Alloc[byte](a, batch.BitmapBytes(n))
	for i := range out {
		out[i] = x[i] & y[i]
	}
	return out
}

// ones makes a bitmap of n ones.
func ones(a *Arena, n int) []byte {
	out := Alloc[byte](a, batch.BitmapBytes(n))
	for i := range out {
		out[i] = 0xff
	}
	return out
}

// CloneBits copies a bitmap of n bits, nil being all ones.
func CloneBits(a *Arena, b []byte, n int) []byte {
	if b == nil {
		return ones(a, n)
	}
	out := Alloc[byte](a, batch.BitmapBytes(n))
	copy(out, b)
	return out
}

// ByteOf returns 1 for true, 0 for false.
func ByteOf(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
