package mixture

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// components are the shares, means and covariances of a mixture over n coordinates, one after the other.
type components struct {
	kind        kind
	k, n        int
	weights     []float64 // shares of the rows, that add up to 1
	means       []float64
	covariances []float64 // n×n for each, or for all; or n variances, or one
}

// covarianceLen is the length of the covariances of k components over n coordinates.
func covarianceLen(c kind, k, n int) int {
	switch c {
	case full:
		return k * n * n
	case tied:
		return n * n
	case diagonal:
		return k * n
	}
	return k
}

// sums are the rows and columns of the products of a pass over n coordinates, for k components.
func (c kind) sums(n, k int) (rows, cols int) {
	switch c {
	case full:
		return n + 1, n + 1
	case tied:
		return n + 1, k
	}
	return 2*n + 1, k
}

// Encode writes the canonical bytes.
func (m *components) Encode(e *canon.E) {
	e.U8(uint8(m.kind))
	e.U32(uint32(m.k))
	e.U32(uint32(m.n))
	e.F64s(m.weights)
	e.F64s(m.means)
	e.F64s(m.covariances)
}

// decodeComponents reads what Encode wrote.
func decodeComponents(d *canon.D) *components {
	m := &components{kind: kind(d.U8()), k: int(d.U32()), n: int(d.U32()), weights: d.F64s(), means: d.F64s(), covariances: d.F64s()}
	if !d.OK() || m.kind >= numKinds || m.n < 1 || m.k < 1 || m.n > 1<<20 || m.k > 1<<20 || len(m.weights) != m.k || len(m.means)/m.n != m.k || len(m.means)%m.n != 0 ||
		len(m.covariances) != covarianceLen(m.kind, m.k, m.n) {
		d.Fail()
		return m
	}
	for _, v := range [][]float64{m.weights, m.means, m.covariances} {
		for _, x := range v {
			if x-x != 0 {
				d.Fail()
			}
		}
	}
	return m
}

// densities are the components in the form from which densities are computed.
type densities struct {
	*components
	constant []float64 // by component: logarithms of its share and of the factor before the exponential
	w        []float64 // full, tied: L⁻¹ row by row, for each or for all; else 1 over standard deviations by component and coordinate
	start    []float64 // full: -L⁻¹·mean; tied: L⁻¹·mean
	zeros    []float64
}

// densitiesBytes is the memory of densities with the components.
func densitiesBytes(c kind, k, n int) int64 {
	return 8 * (2*int64(covarianceLen(c, k, n)) + 3*int64(k)*int64(n) + 2*int64(k))
}

// densities returns them; ok is false where a covariance is none, as a component that collapsed.
func (m *components) densities() (q *densities, ok bool) {
	n := m.n
	q = &densities{components: m, zeros: make([]float64, n)}
	logs := 0.0 // the sum of the logarithms of the factor's diagonal
	for k, share := range m.weights {
		mean := m.means[k*n:][:n]
		switch m.kind {
		case full, tied:
			if m.kind == full || k == 0 {
				at := m.covariances[len(q.w):][:n*n]
				l, ok := inverseFactor(at, n)
				if !ok {
					return nil, false
				}
				logs = 0
				for i := range n {
					logs += f64.Log1(l[i*n+i])
				}
				q.w = append(q.w, l...)
			}
			sign := 1.0
			if m.kind == full {
				sign = -1
			}
			l := q.w[len(q.w)-n*n:]
			for i := range n {
				q.start = append(q.start, sign*f64.Dot(l[i*n:][:n], mean))
			}
		default:
			logs = 0
			for j := range n {
				at := k
				if m.kind == diagonal {
					at = k*n + j
				}
				v := m.covariances[at]
				if !(v > 0) {
					return nil, false
				}
				inv := 1 / math.Sqrt(v)
				logs += f64.Log1(inv)
				q.w = append(q.w, inv)
			}
		}
		q.constant = append(q.constant, f64.Log1(share)+logs-float64(0.5*float64(n)*log2Pi))
	}
	for _, v := range [][]float64{q.w, q.start} {
		for _, x := range v {
			if x-x != 0 {
				return nil, false
			}
		}
	}
	return q, true
}

const log2Pi = 1.8378770664093454836

// inverseFactor is the inverse of the Cholesky factor of a symmetric matrix; ok is false where the matrix is not
// positive definite.
func inverseFactor(c []float64, n int) (inv []float64, ok bool) {
	l := make([]float64, n*n)
	inv = make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			v := c[i*n+j] - f64.Dot(l[i*n:][:j], l[j*n:][:j])
			if i > j {
				l[i*n+j] = v / l[j*n+j]
				continue
			}
			if !(v > 0) {
				return nil, false
			}
			l[i*n+i] = math.Sqrt(v)
		}
		row := inv[i*n:][:n]
		for j := range i {
			f64.Axpy(row[:j+1], -l[i*n+j], inv[j*n:][:j+1])
		}
		by := 1 / l[i*n+i]
		f64.Scale(row[:i], by)
		row[i] = by
	}
	return inv, true
}

// scratch is the memory of densities for a goroutine.
type scratch struct {
	y   []float64 // coordinates of a chunk's rows, f64.FixedStride apart
	sum []float64
}

func newScratch(n int) *scratch {
	return &scratch{make([]float64, n*f64.FixedStride), make([]float64, f64.FixedStride)}
}

// scratchBytes is its size.
func scratchBytes(n int) int64 { return 8 * f64.FixedStride * int64(n+1) }

// logs sets z[k*f64.FixedStride:] to the logarithm of component k's share times its density of n rows, at most
// f64.FixedRows from a tile on.
func (q *densities) logs(z []float64, s *scratch, b *block.Block, from, n int) {
	d := q.n
	if q.kind == tied {
		b.MarginsOf(s.y, f64.FixedStride, from, n, q.w, q.zeros)
	}
	for k, constant := range q.constant {
		to := z[k*f64.FixedStride:][:n]
		clear(to)
		switch q.kind {
		case full:
			b.MarginsOf(s.y, f64.FixedStride, from, n, q.w[k*d*d:][:d*d], q.start[k*d:][:d])
			for i := range d {
				f64.AddSquares(to, s.y[i*f64.FixedStride:][:n], 1)
			}
		case tied:
			for i, m := range q.start[k*d:][:d] {
				for r, v := range s.y[i*f64.FixedStride:][:n] {
					to[r] = f64.FMA(v-m, v-m, to[r])
				}
			}
		default:
			q.distances(to, b, from, k)
		}
		for r, v := range to {
			to[r] = constant - float64(0.5*v)
		}
	}
}

// distances adds to the squared distances of rows from component k, of independent coordinates.
func (q *densities) distances(to []float64, b *block.Block, from, k int) {
	d := q.n
	mean, w := q.means[k*d:][:d], q.w[k*d:][:d]
	away := 0.0 // of a row without any category
	for j := b.Dense; j < d; j++ {
		v := float64(mean[j] * w[j])
		away = f64.FMA(v, v, away)
	}
	for i := 0; i < len(to); i += f64.Lanes {
		t := (*[f64.Lanes]float64)(to[i:])
		if b.X32 != nil {
			near(t, b.X32[(from+i)*b.Dense:][:b.Dense*f64.Lanes], mean, w)
		} else {
			near(t, b.X64[(from+i)*b.Dense:][:b.Dense*f64.Lanes], mean, w)
		}
		for at, s := range b.Code[(from+i)*b.Codes:][:b.Codes*f64.Lanes] {
			if s >= 0 {
				j := b.Dense + int(s)
				t[at%f64.Lanes] += float64(w[j]*w[j]) * float64(1-float64(2*mean[j]))
			}
		}
		for l := range t {
			t[l] = math.Max(t[l]+away, 0)
		}
	}
}

// near adds what dense columns are away from a mean.
func near[T f64.Elem](t *[f64.Lanes]float64, x []T, mean, w []float64) {
	for j := 0; j*f64.Lanes < len(x); j++ {
		m, by := mean[j], w[j]
		for l, v := range x[j*f64.Lanes:][:f64.Lanes] {
			u := float64((float64(v) - m) * by)
			t[l] = f64.FMA(u, u, t[l])
		}
	}
}

// total replaces the logarithms of n rows' densities by what share each component has of them, and sets norm to
// the logarithms of their sums.
func (q *densities) total(z, norm []float64, s *scratch, n int) {
	top := norm[:n]
	copy(top, z[:n])
	for k := 1; k < q.k; k++ {
		for r, v := range z[k*f64.FixedStride:][:n] {
			if v > top[r] {
				top[r] = v
			}
		}
	}
	sum := s.sum[:n]
	clear(sum)
	for k := range q.k {
		to := z[k*f64.FixedStride:][:n]
		for r, v := range to {
			if to[r] = 0; v > math.Inf(-1) {
				to[r] = v - top[r]
			} else if top[r] > v {
				to[r] = v
			}
		}
		f64.Exp(to)
		f64.Add(sum, to)
	}
	for k := range q.k {
		to := z[k*f64.FixedStride:][:n]
		for r, v := range to {
			to[r] = v / sum[r]
		}
	}
	for r, v := range sum {
		top[r] += f64.Log1(v)
	}
}

func errRange() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "values of the features or weights are too large for a Gaussian mixture")
}

// free is the number of parameters.
func (m *components) free() int {
	sum := m.k*m.n + m.k - 1
	switch m.kind {
	case full:
		return sum + m.k*m.n*(m.n+1)/2
	case tied:
		return sum + m.n*(m.n+1)/2
	case diagonal:
		return sum + m.k*m.n
	}
	return sum + m.k
}

// scaling is the logarithm of what volumes are divided by as columns are scaled.
func scaling(f *feature.Fitted) (sum float64) {
	for j, s := range f.Slots() {
		if v := math.Abs(s.Scale); j < f.Dense && v > 0 && !math.IsInf(v, 0) {
			sum += f64.Log1(v)
		}
	}
	return sum
}
