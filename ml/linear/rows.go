package linear

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/optim"
)

// Where rows weigh less than there are columns, least squares is solved in its dual form: with A the
// rows, centred where there is an intercept and multiplied by the root of their share of the weight, and
// t the targets likewise, the weights that minimise ½‖Aw - t‖² + ½·l2·‖w‖² are Aᵀα with
// (AAᵀ + l2)α = t (Saunders, Gammerman and Vovk, "Ridge regression learning algorithm in dual variables",
// 1998). Without a penalty they are the shortest of those that fit, as scikit-learn's. The root gets the
// few rows themselves; it sorts them and adds up the weights of equal ones, so that neither their
// order nor copies matter.

// Limits of rows that are sent to the root.
const (
	mostRows   = 1 << 11
	mostValues = 1 << 23
)

// width is the length of a row that is sent: weight, target, numbers and categories.
func (p *problem) width() int { return 2 + p.dense + len(p.f.CodeSlots()) }

// rowsOf appends the rows of a block from at on.
func rowsOf(to []float64, b *block.Block, at, n int) []float64 {
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

// dual returns the weights of least squares; ok is false where rows of the same line have other
// targets, which no weights fit.
func (s *sample) dual(l2 float64) (w []float64, ok bool) {
	m := len(s.x)
	k, t, root := make([]float64, m*m), make([]float64, m), make([]float64, m)
	for i := range m {
		root[i] = math.Sqrt(s.w[i])
		t[i] = float64(root[i] * s.y[i])
	}
	for i := range m {
		for j := i; j < m; j++ {
			v := float64(float64(root[i]*root[j]) * f64.Dot(s.x[i], s.x[j]))
			if i == j {
				v += l2
			}
			k[i*m+j], k[j*m+i] = v, v
		}
	}
	c := optim.Factor(slices.Clone(k), m)
	alpha, rest, step := make([]float64, m), slices.Clone(t), make([]float64, m)
	for range 3 { // the solution, and what rounding took from it
		c.Solve(step, rest)
		f64.Axpy(alpha, 1, step)
		for i := range m {
			rest[i] = t[i] - f64.Dot(k[i*m:][:m], alpha)
		}
	}
	size := math.Sqrt(f64.Dot(t, t))
	w = make([]float64, len(s.x[0]))
	for i, row := range s.x {
		f64.Axpy(w, float64(alpha[i]*root[i]), row)
	}
	return w, math.Sqrt(f64.Dot(rest, rest)) <= float64(1e-9*size)
}
