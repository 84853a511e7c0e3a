package decomp

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/gram"
)

// Davidson's method ("The iterative calculation of a few of the lowest eigenvalues and
// corresponding eigenvectors of large real-symmetric matrices", 1975) preconditioned by an
// approximation M of the Gram matrix: that of the columns rounded to about seven bits,
// whose products take an eighth of the time (f64.AddCoarse). The first directions V are
// M's eigenvectors. A pass over the rows computes the exact products of the Gram matrix
// with the directions. In their span the best approximate eigenvectors q, with values θ
// and residuals r, are found (Rayleigh-Ritz), and q is corrected outside of V by M:
//
//	q - P·(M - θ)⁻¹·P·r,   P = 1 - V·Vᵀ
//
// The relative error that is left is about that of M, a thousandth or less. The
// corrections are the directions of the next pass; those after the last pass are added to
// q without another one.

const (
	// auto takes this method from davidsonLeast columns on, and for at most one direction in
	// davidsonShare columns: beyond, the full Gram matrix takes no longer than a few passes.
	// There must be davidsonRows times as many rows as columns, since the error of M's sums
	// of rounded values is that of a mean and shrinks with the number of rows.
	davidsonLeast = 256
	davidsonShare = 24
	davidsonRows  = 32
	// davidsonPasses is the maximum number of passes; converged is the residual of a
	// component, relative to its eigenvalue, at which the training ends.
	davidsonPasses = 5
	converged      = 0x1p-30
	// tooCoarse is the least variance of a column, in squares of the rounding step: columns
	// with outliers have less, and rounding hides how they vary.
	tooCoarse = 16
	// apart is the least gap, in units of M's error, between the eigenvalues of directions
	// that are followed and the others; slow is the largest share of the residual that a
	// pass may leave. Else the exact Gram matrix is computed.
	apart = 4
	slow  = 0.125
)

// guarded is the number of directions of the first pass: a few more than components, so
// that the eigenvalues of components are well separated from those that are not
// followed. With the columns of ones and of squared lengths it is a multiple of 8, the
// width of the kernel of products.
func (d *driver) guarded() int { return (d.k+4+2+7)/8*8 - 2 }

// mayDavidson reports whether all columns are numbers and all rows weigh 1.
func (d *driver) mayDavidson() bool {
	f := d.set.Fitted
	return f.Dense == d.d && d.set.Weight == float64(d.set.Rows) && d.guarded() < d.d
}

// coarse chooses the first directions, or the full method where the rounded columns are too
// imprecise.
func (d *driver) coarse(p *partial) {
	n := d.d
	a, unit := make([]float64, n*n), make([]float64, n)
	rows := p.Sums.Count(len(p.Sums.Low) - 1)
	div := d.ddof(rows)
	for i, s := range d.s.scale.Scale {
		unit[i] = 1 / float64(gram.CoarseScale*s)
	}
	place := func(i, j int) int { return i*(n+1) - i*(i-1)/2 + j - i }
	sum := make([]float64, n)
	for i := range sum {
		sum[i] = p.Sums.Count(place(i, n)) - float64(f64.CoarseMiddle*rows)
	}
	noise, spread := 0.0, 0.0
	for i := range n {
		for j := i; j < n; j++ {
			v := p.Sums.Count(place(i, j)) - float64(f64.CoarseMiddle*(sum[i]+sum[j])) - float64(f64.CoarseMiddle*f64.CoarseMiddle*rows)
			if d.center {
				v = f64.FMA(-sum[i], sum[j]/rows, v)
			}
			v /= div
			if i == j {
				if v > 0 && v < tooCoarse {
					d.full()
					return
				}
				noise, spread = math.Max(noise, unit[i]), math.Max(spread, math.Sqrt(v)*unit[i])
			}
			v = float64(v * float64(unit[i]*unit[j]))
			a[i*n+j], a[j*n+i] = v, v
		}
	}
	d.s.rough = a
	d.s.basis, d.s.image, d.s.pass, d.s.left = nil, nil, 0, 0
	noise = float64(2*float64(noise*spread)) * math.Sqrt(float64(n)/float64(6*rows))
	values, vectors := d.roughly().top(d.follow)
	next := math.Ldexp(d.near.value(n-1-d.follow), d.near.exp)
	if !finite(a) || !(values[d.k-1]-next > float64(apart*noise)) {
		d.full()
		return
	}
	d.s.op = opApply
	d.aim(vectors)
}

// full continues with the exact Gram matrix.
func (d *driver) full() {
	d.forget()
	d.s.op = opGram
}

func (d *driver) forget() {
	d.s.rough, d.s.basis, d.s.image, d.near = nil, nil, nil, nil
	d.s.scale.Q, d.s.scale.QScale = nil, nil
}

// roughly returns the approximate matrix in tridiagonal form, which is computed once.
func (d *driver) roughly() *spectrum {
	if d.near == nil {
		s := reduce(append([]float64{}, d.s.rough...), d.d)
		d.near = &s
	}
	return d.near
}

// refine ends a pass of davidson.
func (d *driver) refine(p *partial) {
	s, n := &d.s, d.d
	m := d.times(p)
	s.basis = append(s.basis, s.scale.Q...)
	for _, z := range m.z {
		s.image = append(s.image, z...)
	}
	basis, image := vectorsOf(s.basis, n), vectorsOf(s.image, n)
	values, q, r := ritz(basis, image, d.k)
	s.pass++
	last, left := s.left, 0.0
	for i, v := range r {
		left = math.Max(left, math.Sqrt(f64.Dot(v, v))/values[i])
	}
	s.left = left
	shrinks := 1.0
	if s.pass > 1 {
		shrinks = left / last
	}
	if !(values[d.k-1] > 0) || left > converged && (s.pass > 1 && !(shrinks <= slow) || s.pass == davidsonPasses) {
		d.full()
		return
	}
	for i, v := range r { // what is added to q
		f64.Scale(v, -1)
		outside(v, basis[:d.follow])
		d.roughly().solve(values[i], v)
		outside(v, basis[:d.follow])
	}
	if float64(left*shrinks) <= converged {
		for i, v := range r {
			f64.Axpy(q[i], 1, v)
		}
		d.finish(m.weight, m.total, m.sum, values, orthonormal(q, n))
		return
	}
	d.aim(extend(basis, r, n)[len(basis):])
}

// ritz returns the k greatest Ritz values of a symmetric matrix A in the span of an
// orthonormal basis, their vectors q and the residuals A·q - value·q; image is A
// times the basis.
func ritz(basis, image [][]float64, k int) (values []float64, q, r [][]float64) {
	m := len(basis)
	t := make([]float64, m*m)
	for i := range m {
		for j := i; j < m; j++ {
			v := float64(0.5 * (f64.Dot(basis[i], image[j]) + f64.Dot(basis[j], image[i])))
			t[i*m+j], t[j*m+i] = v, v
		}
	}
	values, small := eigen(t, m, k)
	for i, x := range small {
		v, w := make([]float64, len(basis[0])), make([]float64, len(basis[0]))
		for j, c := range x {
			f64.Axpy(v, c, basis[j])
			f64.Axpy(w, c, image[j])
		}
		f64.Axpy(w, -values[i], v)
		q, r = append(q, v), append(r, w)
	}
	return values, q, r
}

// outside makes x orthogonal to orthonormal vectors.
func outside(x []float64, v [][]float64) {
	for range 2 {
		for _, o := range v {
			f64.Axpy(x, -f64.Dot(x, o), o)
		}
	}
}

// vectorsOf slices numbers into vectors of n.
func vectorsOf(v []float64, n int) (out [][]float64) {
	for ; len(v) > 0; v = v[n:] {
		out = append(out, v[:n:n])
	}
	return out
}
