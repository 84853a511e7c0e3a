package gram

import (
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

// Encode gives the canonical bytes.
func (s *Sums) Encode(e *canon.E) {
	e.I64s(s.Low)
	e.I64s(s.High)
}

// DecodeSums reads what Encode wrote.
func DecodeSums(d *canon.D) Sums {
	s := Sums{d.I64s(), d.I64s()}
	if len(s.Low) != len(s.High) {
		d.Fail()
	}
	return s
}

// Slice gives the sums [from, to), as far as there are any, in the same memory.
func (s *Sums) Slice(from, to int) Sums {
	return Sums{family.Cut(s.Low, from, to), family.Cut(s.High, from, to)}
}
