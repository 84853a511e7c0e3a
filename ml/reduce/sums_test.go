package reduce

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Sums is a partial whose sum depends on the order of additions, as floating-point sums do.
type Sums struct {
	Rows   int64
	Weight float64
	Loss   float64
	Vec    []float64
}

// Encode writes the canonical bytes.
func (s *Sums) Encode(e *canon.E) {
	e.I64(s.Rows)
	e.F64(s.Weight)
	e.F64(s.Loss)
	e.F64s(s.Vec)
}

// MergeSums adds right to left, and returns left.
func MergeSums(left, right *Sums) (*Sums, error) {
	if len(left.Vec) != len(right.Vec) {
		return nil, pgerr.New(pgerr.DataCorrupted, "partial sums of %d and %d members do not belong together", len(left.Vec), len(right.Vec))
	}
	left.Rows += right.Rows
	left.Weight += right.Weight
	left.Loss += right.Loss
	f64.Add(left.Vec, right.Vec)
	return left, nil
}
