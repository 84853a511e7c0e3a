package metric

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
)

// Matrix is a confusion matrix over classes named by strings.
type Matrix struct {
	cells map[[2]string]float64 // (truth, prediction) → weight
}

// NewMatrix makes an empty matrix.
func NewMatrix() *Matrix { return &Matrix{cells: map[[2]string]float64{}} }

// Add counts a row.
func (m *Matrix) Add(truth, pred string, weight float64) { m.cells[[2]string{truth, pred}] += weight }

// Merge adds another matrix.
func (m *Matrix) Merge(o *Matrix) {
	for k, w := range o.cells {
		m.cells[k] += w // each cell by itself: the order does not matter
	}
}

// Cell is an entry of a matrix.
type Cell struct {
	Truth, Pred string
	Weight      float64
}

// Cells lists the entries that are not zero, by truth and prediction.
func (m *Matrix) Cells(order func(a, b string) int) []Cell {
	out := make([]Cell, 0, len(m.cells))
	for k, w := range m.cells {
		out = append(out, Cell{k[0], k[1], w})
	}
	slices.SortFunc(out, func(a, b Cell) int {
		if c := order(a.Truth, b.Truth); c != 0 {
			return c
		}
		return order(a.Pred, b.Pred)
	})
	return out
}

// Classes lists all classes that are a truth or a prediction.
func (m *Matrix) Classes(order func(a, b string) int) []string {
	var out []string
	for k := range m.cells {
		out = append(out, k[0], k[1])
	}
	slices.SortFunc(out, order)
	return slices.Compact(out)
}

// Scores are the metrics of a matrix.
type Scores struct {
	Accuracy, Precision, Recall, F1 float64
	Rows                            float64 // weight of all rows
}

// Scores returns the metrics. Precision, recall and F1 are those of the positive class, where
// there is one, though it may be in no row; without, "", they are the plain means over the
// classes of the rows.
func (m *Matrix) Scores(order func(a, b string) int, positive string) Scores {
	classes := m.Classes(order)
	type sums struct{ hit, truth, pred float64 }
	by := make(map[string]*sums, len(classes))
	for _, c := range classes {
		by[c] = &sums{}
	}
	var s Scores
	var hits float64
	for _, c := range m.Cells(order) {
		s.Rows += c.Weight
		by[c.Truth].truth += c.Weight
		by[c.Pred].pred += c.Weight
		if c.Truth == c.Pred {
			hits += c.Weight
			by[c.Truth].hit += c.Weight
		}
	}
	s.Accuracy = ratio(hits, s.Rows)
	if positive != "" {
		classes = []string{positive}
	}
	for _, c := range classes {
		v := by[c]
		if v == nil {
			continue
		}
		s.Precision += ratio(v.hit, v.pred)
		s.Recall += ratio(v.hit, v.truth)
		s.F1 += ratio(float64(2*v.hit), v.pred+v.truth)
	}
	if n := float64(len(classes)); n > 0 {
		s.Precision /= n
		s.Recall /= n
		s.F1 /= n
	}
	return s
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Encode writes the canonical bytes.
func (m *Matrix) Encode(e *canon.E) {
	cells := m.Cells(cmp.Compare[string])
	e.U32(uint32(len(cells)))
	for _, c := range cells {
		e.Str(c.Truth)
		e.Str(c.Pred)
		e.F64(c.Weight)
	}
}

// DecodeMatrix reads what Encode wrote.
func DecodeMatrix(d *canon.D) *Matrix {
	m := NewMatrix()
	for range d.Count(16) {
		m.cells[[2]string{d.Str(), d.Str()}] += d.F64()
	}
	return m
}

// Bytes estimates the memory held.
func (m *Matrix) Bytes() int64 {
	n := int64(64)
	for k := range m.cells {
		n += int64(len(k[0])+len(k[1])) + 64
	}
	return n
}
