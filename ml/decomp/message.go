package decomp

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
)

// The steps.
const (
	opBounds uint8 = iota + 1 // least and greatest values
	opGram                    // XᵀX
	opQR                      // R
	opApply                   // XᵀX·Q
	opCoarse                  // XᵀX of columns rounded to bytes
	numOps
)

// body is the body of all steps.
type body struct {
	gram.Columns
	Q      []float64 // opApply: directions, one after the other
	QScale []float64 // by direction: what projections are multiplied by
	Square float64   // what the rows' squared lengths are multiplied by
}

// Encode implements family.Message.
func (b *body) Encode(e *canon.E) {
	b.Columns.Encode(e)
	e.F64s(b.Q)
	e.F64s(b.QScale)
	e.F64(b.Square)
}

// DecodeStep implements family.Family.
func (decomp) DecodeStep(op uint8, d *canon.D) family.Message {
	b := &body{Columns: gram.DecodeColumns(d), Q: d.F64s(), QScale: d.F64s(), Square: d.F64()}
	if op != opGram && op != opApply && op != opCoarse || len(b.Q) != len(b.QScale)*len(b.Shift) {
		d.Fail()
	}
	return b
}

// partial is the partial of all steps.
type partial struct {
	*gram.Bounds           // opBounds
	Sums         gram.Sums // opGram, opApply, opCoarse: products
	R            []float64 // opQR: a square, upper triangle
}

// Encode implements family.Message.
func (p *partial) Encode(e *canon.E) {
	e.Bool(p.Bounds != nil)
	if p.Bounds != nil {
		p.Bounds.Encode(e)
	}
	p.Sums.Encode(e)
	e.F64s(p.R)
}

// DecodePartial implements family.Family.
func (decomp) DecodePartial(op uint8, d *canon.D) family.Message {
	p := &partial{}
	if d.Bool() {
		p.Bounds = gram.DecodeBounds(d)
	}
	p.Sums, p.R = gram.DecodeSums(d), d.F64s()
	if op == 0 || op >= numOps || (op == opBounds) != (p.Bounds != nil) || op == opQR && !square(len(p.R)) {
		d.Fail()
	}
	return p
}

// Merge implements family.Family.
func (decomp) Merge(op uint8, left, right family.Message) (family.Message, error) {
	l, r := left.(*partial), right.(*partial)
	if r.Bounds != nil {
		l.Bounds.Merge(r.Bounds)
	}
	if len(r.Sums.Low) > 0 {
		l.Sums.Merge(r.Sums)
	}
	switch {
	case len(l.R) == 0:
		l.R = r.R
	case len(r.R) > 0:
		stack(l.R, r.R)
	}
	return l, nil
}

func square(n int) bool {
	d := 0
	for d*d < n {
		d++
	}
	return d*d == n
}

// Slice implements family.Sliced.
func (p *partial) Slice(from, to int) family.Message {
	s := &partial{Sums: p.Sums.Slice(from, to)}
	if from == 0 {
		s.Bounds, s.R = p.Bounds, p.R
	}
	return s
}

// Join implements family.Sliced.
func (p *partial) Join(list []family.Message) (family.Message, error) {
	out := *p
	sums, err := family.Join(list, func(p *partial) []gram.Sums { return []gram.Sums{p.Sums} })
	out.Sums = gram.Join(sums)
	return &out, err
}
