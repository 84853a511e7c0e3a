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
	// long is the width of numbers that are not packed.
	long = 0
)

// whole returns the sums as numbers and how many bits the greatest of them has, long where these
// are too many, and the runs of those that are not zero (canon.Run).
func (s *Sums) whole() (v []int64, width uint8, run func(at int) (from, to int)) {
	v = s.Low
	if s.High != nil {
		var above uint64
		for i := range s.Low {
			_, high := s.at(i)
			above |= uint64(high ^ high>>63)
		}
		v = make([]int64, len(s.Low))
		if bits.Len64(above)+spill+1 > maxWidth {
			for i, low := range s.Low {
				v[i] = low | s.High[i] // 0 where both are
			}
			return v, long, func(at int) (int, int) { return canon.Run(v, at) }
		}
		for i, low := range s.Low {
			v[i] = low + s.High[i]<<spill
		}
	}
	any, run := look(v)
	if n := bits.Len64(any) + 1; n <= maxWidth {
		width = uint8(n)
	}
	return v, width, run
}

// look returns the bits that any of the numbers has, negative ones inverted, and their runs: of
// most lists there is one, which is found without a second look.
func look(v []int64) (any uint64, run func(at int) (from, to int)) {
	first, end := 0, len(v)
	for first < end && v[first] == 0 {
		first++
	}
	for end > first && v[end-1] == 0 {
		end--
	}
	zeros, most := uint64(0), uint64(0) // that follow each other
	for _, x := range v[first:end] {
		any |= uint64(x ^ x>>63)
		zeros = (zeros + 1) & (uint64(x|-x)>>63 - 1)
		most = max(most, zeros)
	}
	if most >= canon.Gap {
		return any, func(at int) (int, int) { return canon.Run(v, at) }
	}
	return any, func(at int) (int, int) {
		if at < end {
			return first, end
		}
		return len(v), len(v)
	}
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

// unpack reads numbers that pack wrote, and returns the bits that any of them has, negative ones
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
