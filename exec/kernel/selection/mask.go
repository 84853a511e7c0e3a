package selection

import (
	"encoding/binary"
	"math/bits"
)

// Slack is how many more elements than rows the out of Rows has room for: 16 numbers are stored
// whatever the mask, and the next store overwrites those that do not count.
const Slack = 16

// Integer are the element types of integer columns.
type Integer interface {
	~int16 | ~int32 | ~uint32 | ~int64
}

// Words returns how many words the mask of n rows has.
func Words(n int) int { return (n + 15) / 16 }

// A Range is the integers from Lo to Lo+Width, or those that are not.
type Range struct {
	Lo    int64
	Width uint64
	Not   bool
}

// Mask32 sets m, of Words(len(v)), to the rows of v in a range of T, and where and is set
// to those of them that m has. It returns how many rows m has then.
func Mask32[T ~int32 | ~uint32](m []uint16, v []T, r Range, and bool) int {
	return mask32(m, v, r, and)
}

// Mask64 is Mask32 of wider integers.
func Mask64(m []uint16, v []int64, r Range, and bool) int { return mask64(m, v, r, and) }

// Mask is Mask32 of any integers.
func Mask[T Integer](m []uint16, v []T, r Range, and bool) int { return maskFrom(0, m, v, r, and) }

// Less32 sets m, as Mask32 does, to the rows at which a is less than b, or is not.
// len(b) is at least len(a).
func Less32(m []uint16, a, b []int32, not, and bool) int { return less32(m, a, b, not, and) }

// Less64 is Less32 of wider integers.
func Less64(m []uint16, a, b []int64, not, and bool) int { return less64(m, a, b, not, and) }

// Equal32 is Less32 of the rows at which both are the same, or are not.
func Equal32[T ~int32 | ~uint32](m []uint16, a, b []T, not, and bool) int {
	return equal32(m, a, b, not, and)
}

// Equal64 is Equal32 of wider integers.
func Equal64(m []uint16, a, b []int64, not, and bool) int { return equal64(m, a, b, not, and) }

// A Table has a flag, 0 or 1, for each of few numbers from 0 on.
type Table [32]int32

// Entries is Mask32 of the rows whose number has its flag set. Numbers that are not
// below 32 are taken modulo 32.
func Entries(m []uint16, v []int32, flags *Table, and bool) int { return entries(m, v, flags, and) }

// FromBools sets m, of Words(len(v)), to the rows at which the lowest bit of v is set, and
// returns how many they are.
func FromBools(m []uint16, v []uint8) int {
	k, i := 0, 0
	for ; i+16 <= len(v); i += 16 {
		// The product moves the lowest bit of each byte to a place of its own in the top one.
		const low, gather = 0x0101010101010101, 0x0102040810204080
		a, b := binary.LittleEndian.Uint64(v[i:])&low, binary.LittleEndian.Uint64(v[i+8:])&low
		w := uint16(a*gather>>56) | uint16(b*gather>>56)<<8
		m[i/16] = w
		k += bits.OnesCount16(w)
	}
	if i < len(v) {
		w := uint16(0)
		for j, x := range v[i:] {
			w |= uint16(x&1) << j
		}
		m[i/16] = w
		k += bits.OnesCount16(w)
	}
	return k
}

// And sets the mask m of n rows to those of its rows whose bit from off on is set, and returns how
// many they are.
func And(m []uint16, valid []byte, off, n int) int {
	k, i := 0, 0
	for at := off / 8; off%8 == 0 && 16*i+16 <= n; i, at = i+1, at+2 {
		m[i] &= binary.LittleEndian.Uint16(valid[at:])
		k += bits.OnesCount16(m[i])
	}
	for ; i < len(m); i++ {
		w := uint16(0)
		for j := off + 16*i; j < off+min(16*i+16, n); j++ {
			w |= uint16(valid[j>>3]>>(j&7)&1) << (j - off - 16*i)
		}
		m[i] &= w
		k += bits.OnesCount16(m[i])
	}
	return k
}

// Rows writes the numbers of the rows of m and returns how many they are. len(out) is
// at least 16·len(m).
func Rows(m []uint16, out []int32) int { return rows(m, out[:16*len(m)]) }

// Some writes those of the rows sel that are in a range and returns how many they
// are. out may be sel.
func Some[T Integer](v []T, r Range, sel, out []int32) int {
	lo, width, flip := r.Lo, r.Width, bit(r.Not)
	out = out[:len(sel)]
	k := 0
	for _, at := range sel {
		out[k] = at
		k += bit(uint64(int64(v[at])-lo) <= width) ^ flip
	}
	return k
}

// maskFrom is Mask from row i on, a multiple of 16.
func maskFrom[T Integer](i int, m []uint16, v []T, r Range, and bool) int {
	lo, width, flip := r.Lo, r.Width, bit(r.Not)
	n := 0
	for ; i < len(v); i += 16 {
		w := 0
		for j, x := range v[i:min(i+16, len(v))] {
			w |= (bit(uint64(int64(x)-lo) <= width) ^ flip) << j
		}
		n += put(&m[i/16], w, and)
	}
	return n
}

// lessFrom is Less32 from row i on, a multiple of 16.
func lessFrom[T Integer](i int, m []uint16, a, b []T, not, and bool) int {
	flip, n := bit(not), 0
	for ; i < len(a); i += 16 {
		w, y := 0, b[i:]
		for j, x := range a[i:min(i+16, len(a))] {
			w |= (bit(x < y[j]) ^ flip) << j
		}
		n += put(&m[i/16], w, and)
	}
	return n
}

// equalFrom is Equal32 from row i on, a multiple of 16.
func equalFrom[T Integer](i int, m []uint16, a, b []T, not, and bool) int {
	flip, n := bit(not), 0
	for ; i < len(a); i += 16 {
		w, y := 0, b[i:]
		for j, x := range a[i:min(i+16, len(a))] {
			w |= (bit(x == y[j]) ^ flip) << j
		}
		n += put(&m[i/16], w, and)
	}
	return n
}

// entriesFrom is Entries from row i on, a multiple of 16.
func entriesFrom(i int, m []uint16, v []int32, flags *Table, and bool) int {
	n := 0
	for ; i < len(v); i += 16 {
		w := 0
		for j, x := range v[i:min(i+16, len(v))] {
			w |= int(flags[x&31]) << j
		}
		n += put(&m[i/16], w, and)
	}
	return n
}

// put sets a word of a mask to w, or with and to its intersection with w, and returns how many rows
// that is.
func put(m *uint16, w int, and bool) int {
	if and {
		w &= int(*m)
	}
	*m = uint16(w)
	return bits.OnesCount16(uint16(w))
}

func rowsGo(m []uint16, out []int32) int {
	k := 0
	for i, w := range m {
		for ; w != 0; w &= w - 1 {
			out[k] = int32(16*i + bits.TrailingZeros16(w))
			k++
		}
	}
	return k
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
