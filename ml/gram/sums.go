package gram

import (
	"encoding/binary"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// Sums are integers too large for 64 bits, in units of f64.FixedUnit.
type Sums struct {
	Low  []int64 // modulo 2^spill
	High []int64 // and what is above
}

// spill is the bits that Low keeps when it hands on the rest.
const spill = 40

// Room is how many rows' factors, which are at most 2^45 units in size, may be
// added to Low before Spill must make room.
const Room = 1 << 16

// NewSums makes n zeros.
func NewSums(n int) Sums { return Sums{make([]int64, n), make([]int64, n)} }

// Spill makes room in Low.
func (s *Sums) Spill() {
	high := s.High[:len(s.Low)]
	for i, v := range s.Low {
		high[i] += v >> spill
		s.Low[i] = v & (1<<spill - 1)
	}
}

// Merge adds other sums, whose slices it may keep.
func (s *Sums) Merge(o Sums) {
	if len(s.Low) == 0 {
		*s = o
		return
	}
	for i, v := range o.Low {
		s.Low[i] += v
		s.High[i] += o.High[i]
	}
	s.Spill()
}

// At is sum i over scale, the product of what its factors were multiplied by.
func (s *Sums) At(i int, scale float64) float64 {
	high, low := s.High[i]+s.Low[i]>>spill, s.Low[i]&(1<<spill-1)
	v := float64(float64(high)*(1<<spill)) + float64(low)
	return v * f64.FixedUnit / scale
}

const lowBytes = spill / 8

// Encode gives the canonical bytes: of each sum that is not zero Low in five, and then
// High, in as few as it takes.
func (s *Sums) Encode(e *canon.E) {
	e.Sparse(len(s.Low), func(i int) bool { return s.Low[i] == 0 && s.High[i] == 0 }, func(from, to int) {
		for i, v := range s.Low[from:to] {
			low := uint64(v & (1<<spill - 1))
			e.B = append(e.B, byte(low), byte(low>>8), byte(low>>16), byte(low>>24), byte(low>>32))
			e.B = binary.AppendVarint(e.B, s.High[from+i]+v>>spill)
		}
	})
}

// DecodeSums reads what Encode wrote.
func DecodeSums(d *canon.D) (s Sums) {
	d.Sparse(16, func(n int) { s = NewSums(n) }, func(from, to int) {
		for i := from; i < to && d.OK(); i++ {
			if b := d.Take(lowBytes); b != nil {
				s.Low[i] = int64(binary.LittleEndian.Uint32(b)) | int64(b[4])<<32
			}
			s.High[i] = d.Varint()
		}
	})
	return s
}

// Slice gives the sums [from, to), as far as there are any, in the same memory.
func (s *Sums) Slice(from, to int) Sums {
	return Sums{family.Cut(s.Low, from, to), family.Cut(s.High, from, to)}
}
