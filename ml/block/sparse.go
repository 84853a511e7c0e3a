package block

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/tempfile"
)

// Sparse has numbers for some slots of each row, as a text has for its terms: the compressed rows that are
// called CSR. The others are 0.
type Sparse struct {
	Start []int64   // where each row begins, of those that fill up the last tile too, and where the last ends
	Slot  []int32   // counted over all slots, as codes are; ascending within a row
	Value []float32 // at most 1 in size in rows to train on
}

// Bytes is the size of s, 0 for nil.
func (s *Sparse) Bytes() int64 {
	if s == nil {
		return 0
	}
	return 8*int64(len(s.Start)) + 8*int64(len(s.Slot))
}

// EndRows ends the rows: those up to rows, and what fills up the last tile, have no more numbers.
func (s *Sparse) EndRows(rows int) {
	for len(s.Start) <= rows {
		s.Start = append(s.Start, int64(len(s.Slot)))
	}
}

func (s *Sparse) clone() *Sparse {
	if s == nil {
		return nil
	}
	return &Sparse{slices.Clone(s.Start), slices.Clone(s.Slot), slices.Clone(s.Value)}
}

// margins adds to z the products with the slots' weights of rows from on.
func (s *Sparse) margins(z []float64, from int, weights []float64) {
	at := s.Start[from]
	for i := range z {
		end := s.Start[from+i+1]
		slots, values := s.Slot[at:end], s.Value[at:end]
		at = end
		values = values[:len(slots)]
		var a, b float64 // two sums, so that one addition need not wait for another
		k := 0
		for ; k+1 < len(slots); k += 2 {
			a += float64(weights[slots[k]] * float64(values[k]))
			b += float64(weights[slots[k+1]] * float64(values[k+1]))
		}
		if k < len(slots) {
			a += float64(weights[slots[k]] * float64(values[k]))
		}
		z[i] += a + b
	}
}

// gradient adds to sums, by slot and in units of f64.FixedUnit, factors times the numbers of rows from on.
func (s *Sparse) gradient(sums []int64, from int, factors []float64) {
	for i, f := range factors {
		if f == 0 {
			continue
		}
		at, end := s.Start[from+i], s.Start[from+i+1]
		slots, values := s.Slot[at:end], s.Value[at:end]
		for k, slot := range slots {
			sums[slot] += f64.FixedPart(float64(f * float64(values[k])))
		}
	}
}

// parts are the arrays as they lie in a file, those of eight bytes apart.
func (s *Sparse) parts() (long, short [][]byte) {
	if s == nil {
		return nil, nil
	}
	return [][]byte{tempfile.Bytes(s.Start)}, [][]byte{tempfile.Bytes(s.Slot), tempfile.Bytes(s.Value)}
}
