package metric

import (
	"encoding/binary"
	"iter"
	"maps"
	"math"
	"slices"
)

// Matrix is a confusion matrix over numbered classes. The zero value is an empty one.
type Matrix struct {
	cells map[[2]uint32]float64 // (truth, prediction) → weight
}

// Add counts a row.
func (m *Matrix) Add(truth, pred uint32, weight float64) {
	if m.cells == nil {
		m.cells = map[[2]uint32]float64{}
	}
	m.cells[[2]uint32{truth, pred}] += weight
}

// Merge adds another matrix.
func (m *Matrix) Merge(o *Matrix) {
	for c, w := range o.cells {
		m.Add(c[0], c[1], w) // each cell by itself: the order does not matter
	}
}

// Cells yields the entries by truth and prediction.
func (m *Matrix) Cells() iter.Seq2[[2]uint32, float64] {
	return func(yield func([2]uint32, float64) bool) {
		for _, c := range slices.SortedFunc(maps.Keys(m.cells), func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) }) {
			if !yield(c, m.cells[c]) {
				return
			}
		}
	}
}

// Bytes estimates the memory held.
func (m *Matrix) Bytes() int64 {
	if m.cells == nil {
		return 0
	}
	return 40 * int64(1+len(m.cells))
}

// Scores are the metrics of a matrix.
type Scores struct {
	Rows, Accuracy  float64 // weight of all rows; share of those that are predicted right
	Classes         []uint32
	Of              map[uint32]ClassScores
	Macro, Weighted [3]float64 // means over the classes: plain, and by the weight of their rows
	Balanced        float64    // mean recall of the classes that rows have
	Correlation     float64    // Matthews's coefficient, of several classes as Gorodkin (2004) has it
}

// ClassScores are precision, recall and F1.
type ClassScores = [3]float64

// Scores returns the metrics of the classes of rows and predictions, in their order.
func (m *Matrix) Scores(order func(a, b uint32) int) *Scores {
	type sums struct{ hit, truth, pred float64 }
	by := map[uint32]*sums{}
	of := func(class uint32) *sums {
		if by[class] == nil {
			by[class] = &sums{}
		}
		return by[class]
	}
	s := &Scores{Of: map[uint32]ClassScores{}}
	var hits float64
	for c, w := range m.Cells() {
		s.Rows += w
		of(c[0]).truth += w
		of(c[1]).pred += w
		if c[0] == c[1] {
			hits += w
			of(c[0]).hit += w
		}
	}
	s.Accuracy = ratio(hits, s.Rows)
	s.Classes = slices.SortedFunc(maps.Keys(by), order)
	for _, c := range s.Classes {
		v := by[c]
		s.Of[c] = ClassScores{ratio(v.hit, v.pred), ratio(v.hit, v.truth), ratio(2*v.hit, v.pred+v.truth)}
		for i, x := range s.Of[c] {
			s.Macro[i] += x
			s.Weighted[i] += float64(x * v.truth)
		}
	}
	var some, product, truths, preds float64
	for _, c := range s.Classes {
		v := by[c]
		if v.truth > 0 {
			some++
			s.Balanced += v.hit / v.truth
		}
		product, truths, preds = product+float64(v.truth*v.pred), truths+float64(v.truth*v.truth), preds+float64(v.pred*v.pred)
	}
	s.Balanced = ratio(s.Balanced, some)
	all := float64(s.Rows * s.Rows)
	s.Correlation = ratio(float64(hits*s.Rows)-product, math.Sqrt(all-truths)*math.Sqrt(all-preds))
	for i := range s.Macro {
		s.Macro[i] = ratio(s.Macro[i], float64(len(s.Classes)))
		s.Weighted[i] = ratio(s.Weighted[i], s.Rows)
	}
	return s
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// cellBytes is the size of an encoded entry.
const cellBytes = 16

// Append appends the entries.
func (m *Matrix) Append(dst []byte) []byte {
	le := binary.LittleEndian
	for c, w := range m.Cells() {
		dst = le.AppendUint64(le.AppendUint32(le.AppendUint32(dst, c[0]), c[1]), math.Float64bits(w))
	}
	return dst
}

// Decode reads what Append wrote into an empty matrix, and reports whether b is well-formed.
func (m *Matrix) Decode(b []byte) bool {
	le := binary.LittleEndian
	for ; len(b) >= cellBytes; b = b[cellBytes:] {
		m.Add(le.Uint32(b), le.Uint32(b[4:]), math.Float64frombits(le.Uint64(b[8:])))
	}
	return len(b) == 0
}
