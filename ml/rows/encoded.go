package rows

import (
	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
)

// Encoding is how rows become blocks.
type Encoding struct {
	Fitted       *feature.Fitted
	ClassWeights []float64
	Again        bool // the rows will be encoded again
}

// Encode writes what DecodeEncoding reads.
func (t *Encoding) Encode(e *canon.E) {
	t.Fitted.Encode(e)
	e.F64s(t.ClassWeights)
	flags := uint8(0)
	if t.Again {
		flags |= encodesAgain
	}
	if t.Fitted.HasFolds() {
		flags |= encodesFolds
	}
	if e.U8(flags); flags&encodesFolds != 0 {
		t.Fitted.EncodeFolds(e)
	}
}

// DecodeEncoding reads what Encode wrote.
func DecodeEncoding(d *canon.D) *Encoding {
	t := &Encoding{Fitted: feature.DecodeFitted(d), ClassWeights: d.F64s()}
	flags := d.U8()
	if t.Again = flags&encodesAgain != 0; flags&encodesFolds != 0 {
		t.Fitted.DecodeFolds(d)
	}
	if t.ClassWeights != nil && len(t.ClassWeights) != len(t.Fitted.Keys) {
		d.Fail()
	}
	return t
}

// What an Encoding ends with.
const (
	encodesAgain = 1 << iota
	encodesFolds
)

// Encoded is how many rows there are to train on and held out, how many of the
// former each leaf has, and their weight.
type Encoded struct {
	Rows, Held int64
	Leaves     []int64 // in their order; unordered in place
	Weight     exact.Sum
}

// Encode implements family.Message.
func (s *Encoded) Encode(e *canon.E) {
	e.I64(s.Rows)
	e.I64(s.Held)
	e.I64s(s.Leaves)
	e.B = s.Weight.Append(e.B)
}

// DecodeEncoded reads what Encode wrote.
func DecodeEncoded(d *canon.D) *Encoded {
	s := &Encoded{Rows: d.I64(), Held: d.I64(), Leaves: d.I64s()}
	if b := d.Take(exact.Bytes); b != nil {
		s.Weight.Decode(b)
	}
	return s
}

// Merge adds other leaves' rows.
func (s *Encoded) Merge(o *Encoded) {
	s.Rows, s.Held = s.Rows+o.Rows, s.Held+o.Held
	s.Leaves = append(s.Leaves, o.Leaves...)
	s.Weight.Merge(&o.Weight)
}

// of counts the units of a leaf.
func encodedOf(train, held int) *Encoded {
	return &Encoded{Rows: int64(train), Held: int64(held), Leaves: []int64{int64(train)}}
}

// weigh adds weights.
func (s *Encoded) weigh(weights []float64) {
	for _, x := range weights {
		s.Weight.Add(x)
	}
}

// BlockOf returns the number of the block of a leaf's rows to train on, or held out.
func BlockOf(leaf int, held bool) int {
	if held {
		return 2*leaf + 1
	}
	return 2 * leaf
}
