package linear

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// Where rows weigh less than there are columns, least squares is solved in its dual form (dual.go). The
// root gets the few rows themselves; it sorts them and adds up the weights of equal ones, so that neither
// their order nor copies matter.

// Limits of rows that are sent to the root.
const (
	mostRows   = 1 << 11
	mostValues = 3 << 22
)

// width is the length of a row that is sent: weight, target, numbers and categories.
func (p *problem) width() int { return 2 + p.dense + len(p.f.CodeSlots()) }

// rowsOf appends the rows of a block from at on.
func rowsOf(to []float64, b *block.Block, at, n int) []float64 {
	to = slices.Grow(to, max(0, min(n, b.Rows-at))*(2+b.Dense+b.Codes))
	for i := at; i < min(at+n, b.Rows); i++ {
		if !(b.W[i] > 0) {
			continue
		}
		to = append(to, b.W[i], b.Y[i]+0)
		for j := range b.Dense {
			to = append(to, b.Value(i, j)+0)
		}
		for j := range b.Codes {
			to = append(to, float64(b.CodeAt(i, j)))
		}
	}
	return to
}

// sample is the rows at the root: in a fixed order, each once.
type sample struct {
	x      [][]float64 // centred features, those of one-hot columns written out
	y, w   []float64   // mean target, and the share of the weight
	within float64     // mean square of targets of equal features about their mean
}

// gathered makes a sample of rows. The offset, if there is one, is taken from the targets.
func (p *problem) gathered(flat []float64) (s *sample) {
	width := p.width()
	var rows [][]float64
	for ; len(flat) >= width; flat = flat[width:] {
		rows = append(rows, flat[:width])
	}
	// By features, then by target and weight.
	slices.SortFunc(rows, func(a, b []float64) int {
		if c := slices.Compare(a[2:], b[2:]); c != 0 {
			return c
		}
		return slices.Compare(a[:2], b[:2])
	})
	s = &sample{}
	var all exact.Sum
	for _, r := range rows {
		all.Add(r[0])
	}
	total, left := all.Value(), 0.0
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && slices.Equal(rows[n][2:], rows[0][2:]) {
			n++
		}
		var w, wy exact.Sum
		for _, r := range rows[:n] {
			w.Add(r[0])
			wy.AddProduct(r[0], r[1])
		}
		mean := wy.Value() / w.Value()
		for k := 0; k < n; { // of equal rows together
			var same exact.Sum
			y := rows[k][1]
			for ; k < n && rows[k][1] == y; k++ {
				same.Add(rows[k][0])
			}
			left += float64(same.Value() * float64((y-mean)*(y-mean)))
		}
		x := make([]float64, p.per-1)
		copy(x, rows[0][2:2+p.dense])
		for _, code := range rows[0][2+p.dense:] {
			if code >= 0 {
				x[p.dense+int(code)] = 1
			}
		}
		if p.offset >= 0 {
			mean -= x[p.offset]
			x[p.offset] = 0
		}
		s.x, s.y, s.w = append(s.x, x), append(s.y, mean), append(s.w, w.Value()/total)
		rows = rows[n:]
	}
	s.within = left / total
	return s
}

// center makes features and targets differences from their means, which it returns.
func (s *sample) center() (x []float64, y float64) {
	x = make([]float64, len(s.x[0]))
	for i, row := range s.x {
		f64.Axpy(x, s.w[i], row)
		y += float64(s.w[i] * s.y[i])
	}
	for i, row := range s.x {
		f64.Axpy(row, -1, x)
		s.y[i] -= y
	}
	return x, y
}
