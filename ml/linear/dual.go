package linear

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
)

// The dual form of least squares: with A the rows, centred where there is an intercept and multiplied by
// the root of their share of the weight, and t the targets likewise, the weights w that minimise
// ½‖Aw - t‖² + ½·l2·‖w‖² are Aᵀα with (AAᵀ + l2)α = t (Saunders, Gammerman and Vovk, "Ridge regression
// learning algorithm in dual variables", 1998). Without a penalty they are the shortest of those that fit,
// as scikit-learn's.
//
// Rows that depend linearly on others need not be fitted by any weights. Where there are some, AAᵀ = UᵀU with
// as many rows in U as in a basis B of the rows, which pivots find. w = Bᵀβ, and Aw = Uᵀγ is as near to t as it can
// be for UUᵀγ = Ut; β follows from γ by the columns of U that belong to B, a triangle.

// dual is a problem in its dual form.
type dual struct {
	a    [][]float64
	t    []float64
	root []float64 // of the rows' shares of the weight: Aᵀ times it is 0 where there is an intercept
	l2   float64
	each optim.Each
}

const (
	// wellSet is the least ratio of a pivot to its diagonal element with which rows are taken for independent.
	wellSet = 1e-10
	// solved is what may be left of the equations that hold at the minimum, as a share of their right side.
	solved = 1e-9
	// corrections is how often what rounding took from the solution is computed from the rows.
	corrections = 2
)

// dualBytes is the memory of what solves for m rows: their products and two factors, and parts of them to multiply.
func dualBytes(m int64) int64 {
	wide := m + f64.Lanes
	return 8*(3*wide*wide+8*m) + 16*chunkColumns*wide + optim.FactorBytes(int(m))
}

// dual makes the problem of a centred sample, whose rows it changes.
func (s *sample) dual(l2 float64, each optim.Each) *dual {
	q := &dual{a: s.x, l2: l2, each: each}
	for i, x := range s.x {
		r := math.Sqrt(s.w[i])
		f64.Scale(x, r)
		q.root, q.t = append(q.root, r), append(q.t, float64(r*s.y[i]))
	}
	return q
}

// solve returns the weights, and the square of the errors; ok is false where rounding lets no weights be found.
func (q *dual) solve(intercept bool) (w []float64, square float64, ok bool) {
	m := len(q.a)
	k := rowProducts(q.a, q.each)
	trace := 0.0
	for i := range m {
		trace += k[i*m+i]
	}
	mean := trace / float64(m)
	if !(mean > 0) || math.IsInf(mean, 1) {
		return nil, 0, false
	}
	h := slices.Clone(k)
	for i := range m {
		if h[i*m+i] += q.l2; !intercept {
			continue
		}
		for j := i; j < m; j++ { // root·rootᵀ changes no weights, and AAᵀ·root is 0
			h[i*m+j] += float64(mean * float64(q.root[i]*q.root[j]))
		}
	}
	alpha := make([]float64, m)
	c := optim.FactorOn(h, m, q.each)
	least := c.Least
	for i := range m {
		if c.Dead(i) {
			least = 0
		}
	}
	if least > wellSet {
		step, rest := make([]float64, m), slices.Clone(q.t)
		for range 1 + corrections {
			c.Solve(step, rest)
			f64.Axpy(alpha, 1, step)
			w = q.weights(alpha)
			rest = q.rest(w, alpha)
		}
		return w, q.square(w), norm2(rest) <= float64(solved*norm2(q.t))
	}
	if q.l2 > 0 {
		return nil, 0, false
	}
	return q.dependent(k)
}

// weights is Aᵀα.
func (q *dual) weights(alpha []float64) []float64 {
	w := make([]float64, len(q.a[0]))
	for i, row := range q.a {
		f64.Axpy(w, alpha[i], row)
	}
	return w
}

// rest is t - Aw - l2·α.
func (q *dual) rest(w, alpha []float64) []float64 {
	rest := make([]float64, len(q.a))
	for i, row := range q.a {
		rest[i] = q.t[i] - f64.Dot(row, w) - float64(q.l2*alpha[i])
	}
	return rest
}

// square is that of the errors, t - Aw.
func (q *dual) square(w []float64) float64 {
	e := q.rest(w, make([]float64, len(q.a)))
	return f64.Dot(e, e)
}

func norm2(v []float64) float64 { return math.Sqrt(f64.Dot(v, v)) }

// dependent is solve without a penalty for rows that depend linearly on each other. k is overwritten.
func (q *dual) dependent(k []float64) (w []float64, square float64, ok bool) {
	m := len(q.a)
	u, basis := pivoted(k, m)
	rank := len(basis)
	if rank == 0 {
		return nil, 0, false
	}
	c := optim.FactorOn(rowProducts(u, q.each), rank, q.each)
	alpha, rest := make([]float64, m), q.t
	right, beta := make([]float64, rank), make([]float64, rank)
	aim := func(rest []float64) {
		for j, row := range u {
			right[j] = f64.Dot(row, rest)
		}
	}
	aim(rest)
	size := norm2(right)
	for range 1 + corrections {
		c.Solve(beta, right)
		for j := rank - 1; j >= 0; j-- {
			for i := j + 1; i < rank; i++ {
				beta[j] -= float64(u[j][basis[i]] * beta[i])
			}
			beta[j] /= u[j][basis[j]]
		}
		for j, i := range basis {
			alpha[i] += beta[j]
		}
		w = q.weights(alpha)
		rest = q.rest(w, alpha)
		aim(rest)
	}
	return w, q.square(w), norm2(right) <= float64(solved*size)
}

// pivoted returns the rows of U, UᵀU = k, in the memory of the symmetric k, and the columns that were their pivots,
// each the greatest that was left. Those that are rounding errors are none.
func pivoted(k []float64, m int) (u [][]float64, pivot []int) {
	left, done := make([]float64, m), make([]bool, m)
	for i := range m {
		left[i] = k[i*m+i]
	}
	least := float64(float64(m)*0x1p-50) * slices.Max(left)
	for {
		best := -1
		for i, v := range left {
			if !done[i] && v > least && (best < 0 || v > left[best]) {
				best = i
			}
		}
		if best < 0 {
			return u, pivot
		}
		row := k[best*m:][:m] // no other row of U is there, and AAᵀ's has not been changed
		for _, r := range u {
			f64.Axpy(row, -r[best], r)
		}
		if !(row[best] > least) {
			done[best] = true
			continue
		}
		for _, i := range pivot { // that are rounding errors
			row[i] = 0
		}
		f64.Scale(row, 1/math.Sqrt(row[best]))
		for i, v := range row {
			left[i] -= float64(v * v)
		}
		done[best] = true
		u, pivot = append(u, row), append(pivot, best)
	}
}

const (
	// chunkColumns and blockRows are how much of rows is multiplied at once: a block of them stays in a core's cache.
	chunkColumns = 256
	blockRows    = 128
)

// rowProducts returns the products of rows with each other, each a chain of f64.FMA over the columns.
func rowProducts(a [][]float64, each optim.Each) []float64 {
	m, n := len(a), len(a[0])
	groups := f64.Tiles(m)
	wide := groups * f64.Lanes
	k, tiles, rows := make([]float64, wide*wide), make([]float64, wide*chunkColumns), make([]float64, wide*chunkColumns)
	blocks := (wide + blockRows - 1) / blockRows
	for from := 0; from < n; from += chunkColumns {
		d := min(chunkColumns, n-from)
		each(groups, func(g int) {
			tile, row := tiles[g*f64.Lanes*d:][:f64.Lanes*d], rows[g*f64.Lanes*d:][:f64.Lanes*d]
			clear(tile)
			clear(row)
			for l, x := range a[g*f64.Lanes : min((g+1)*f64.Lanes, m)] {
				copy(row[l*d:][:d], x[from:])
				for j, v := range x[from:][:d] {
					tile[j*f64.Lanes+l] = v
				}
			}
		})
		each(blocks, func(b int) { // of columns of k, the longest first
			first := (blocks - b - 1) * blockRows
			last := min(first+blockRows, wide)
			for i := 0; i < last; i += f64.Lanes {
				at := max(first, i)
				f64.MarginsOf(k[i*wide+at:], wide, last-at, tiles[at*d:], rows[i*d:][:f64.Lanes*d], d)
			}
		})
	}
	for i := range m {
		copy(k[i*m:][:m], k[i*wide:])
	}
	for i := range m {
		for j := range i {
			k[i*m+j] = k[j*m+i]
		}
	}
	return k[:m*m]
}

// threads are those of the node.
type threads struct {
	node   *family.Node
	broken error // what broke in one of them
}

// each implements optim.Each.
func (p *threads) each(n int, do func(i int)) {
	err := p.node.Each(n, func() func(int) error { return func(i int) error { do(i); return nil } })
	if p.broken == nil {
		p.broken = err
	}
}
