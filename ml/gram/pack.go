package gram

import (
	"encoding/binary"
	"math/bits"

	"github.com/tributarydb/tributary/ml/canon"
)

const (
	// maxWidth is the most bits of a packed number: those of any are in the eight bytes
	// from the one on in which they begin.
	maxWidth = 56
	// long is the width of what is not packed.
	long = 0
)

// width is how many bits the greatest of the sums has, long where these are too many.
func (s *Sums) width() uint8 {
	var any uint64
	if s.High == nil {
		for _, v := range s.Low {
			any |= uint64(v ^ v>>63)
		}
	} else {
		var above uint64
		for i := range s.Low {
			low, high := s.at(i)
			above |= uint64(high ^ high>>63)
			v := high<<spill | low // whole, unless it is above
			any |= uint64(v ^ v>>63)
		}
		if bits.Len64(above)+spill+1 > maxWidth {
			return long
		}
	}
	if n := bits.Len64(any) + 1; n <= maxWidth {
		return uint8(n)
	}
	return long
}

// packed is how many bytes so many numbers take.
func packed(n int, width uint8) int { return (n*int(width) + 7) / 8 }

// pack appends the low bits of numbers, one after the other: it has no branches, and what
// travels is a bit, not a byte, longer where a sum has grown by one.
func pack(e *canon.E, v []int64, width uint8) {
	at, size := len(e.B), packed(len(v), width)
	b := e.Room(size + 8)
	mask := uint64(1)<<(width&63) - 1
	var acc uint64
	n, k := uint(0), 0
	for _, x := range v {
		acc |= (uint64(x) & mask) << (n & 63)
		binary.LittleEndian.PutUint64(b[k:k+8], acc)
		n += uint(width)
		k += int(n >> 3)
		acc >>= n & 56
		n &= 7
	}
	b[k] = byte(acc)
	e.B = e.B[:at+size]
}

// unpack reads numbers that pack wrote, and gives the bits that any of them has, negative ones
// inverted.
func unpack(d *canon.D, v []int64, width uint8) (any uint64) {
	b := d.Take(packed(len(v), width))
	if len(v) == 0 || b == nil {
		return 0
	}
	w, spare := uint(width), 64-uint(width)
	i, at := 0, uint(0)
	for ; i < len(v) && int(at>>3)+8 <= len(b); i++ {
		x := int64(binary.LittleEndian.Uint64(b[at>>3:at>>3+8])>>(at&7)<<(spare&63)) >> (spare & 63)
		v[i] = x
		any |= uint64(x ^ x>>63)
		at += w
	}
	var rest [16]byte // the end of b, and zeros
	first := at >> 3
	if int(first) < len(b) {
		copy(rest[:], b[first:])
	}
	for ; i < len(v); i++ {
		x := int64(binary.LittleEndian.Uint64(rest[at>>3-first:])>>(at&7)<<(spare&63)) >> (spare & 63)
		v[i] = x
		any |= uint64(x ^ x>>63)
		at += w
	}
	if used := at & 7; used != 0 && b[len(b)-1]>>used != 0 {
		d.Fail()
	}
	return any
}
