package decomp

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// The steps.
const (
	opBounds uint8 = iota + 1 // least and greatest values
	opGram                    // XᵀX
	opQR                      // R
	opApply                   // XᵀX·Q
	numOps
)

// body is what a step sends down.
type body struct {
	Shift  []float64 // by column: what is taken off
	Scale  []float64 // what factors are multiplied by, after
	Unit   float64   // weights times this are at most 1
	Q      []float64 // opApply: directions, one after the other
	QScale []float64 // by direction: what projections are multiplied by
	Square float64   // what the rows' squared lengths are multiplied by
}

// Encode implements family.Message.
func (b *body) Encode(e *canon.E) {
	e.F64s(b.Shift)
	e.F64s(b.Scale)
	e.F64(b.Unit)
	e.F64s(b.Q)
	e.F64s(b.QScale)
	e.F64(b.Square)
}

// DecodeStep implements family.Family.
func (decomp) DecodeStep(op uint8, d *canon.D) family.Message {
	b := &body{Shift: d.F64s(), Scale: d.F64s(), Unit: d.F64(), Q: d.F64s(), QScale: d.F64s(), Square: d.F64()}
	if op != opGram && op != opApply || len(b.Shift) != len(b.Scale) || len(b.Q) != len(b.QScale)*len(b.Shift) {
		d.Fail()
	}
	return b
}

// partial is what a step sends up; empty lists are zeros.
type partial struct {
	Low, High []float64 // opBounds, by dense column
	MaxWeight float64
	Sums      []int64   // opGram, opApply: products, modulo 2^spill
	Carry     []int64   // and what is above
	R         []float64 // opQR: a square, upper triangle
}

// Encode implements family.Message.
func (p *partial) Encode(e *canon.E) {
	e.F64s(p.Low)
	e.F64s(p.High)
	e.F64(p.MaxWeight)
	e.I64s(p.Sums)
	e.I64s(p.Carry)
	e.F64s(p.R)
}

// DecodePartial implements family.Family.
func (decomp) DecodePartial(op uint8, d *canon.D) family.Message {
	p := &partial{Low: d.F64s(), High: d.F64s(), MaxWeight: d.F64(), Sums: d.I64s(), Carry: d.I64s(), R: d.F64s()}
	if op == 0 || op >= numOps || len(p.Low) != len(p.High) || len(p.Sums) != len(p.Carry) || op == opQR && !square(len(p.R)) {
		d.Fail()
	}
	return p
}

// Merge implements family.Family.
func (decomp) Merge(op uint8, left, right family.Message) (family.Message, error) {
	l, r := left.(*partial), right.(*partial)
	if len(l.Low) == 0 {
		l.Low, l.High = r.Low, r.High
	}
	for j, v := range r.Low {
		l.Low[j], l.High[j] = min(l.Low[j], v), max(l.High[j], r.High[j])
	}
	l.MaxWeight = max(l.MaxWeight, r.MaxWeight)
	if len(l.Sums) == 0 {
		l.Sums, l.Carry = r.Sums, r.Carry
	} else {
		for i, v := range r.Sums {
			l.Sums[i] += v
			l.Carry[i] += r.Carry[i]
		}
		spillOver(l.Sums, l.Carry)
	}
	switch {
	case len(l.R) == 0:
		l.R = r.R
	case len(r.R) > 0:
		stack(l.R, r.R)
	}
	return l, nil
}

// spill is the bits that sums keep when they hand on the rest.
const spill = 40

func spillOver(sums, carry []int64) {
	carry = carry[:len(sums)]
	for i, v := range sums {
		carry[i] += v >> spill
		sums[i] = v & (1<<spill - 1)
	}
}

func square(n int) bool {
	d := 0
	for d*d < n {
		d++
	}
	return d*d == n
}
