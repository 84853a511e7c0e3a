package decomp

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/gram"
)

// Davidson's method ("The iterative calculation of a few of the lowest eigenvalues and
// corresponding eigenvectors of large real-symmetric matrices", 1975) with a matrix
// that is all but the one in question: that of the columns rounded to some seven bits,
// whose products take an eighth of the time (f64.AddCoarse). Its eigenvectors V are
// where it starts. A pass over the rows computes the exact products of the matrix with
// directions; in their span the best vectors q, values θ and residuals r are found
// (Rayleigh and Ritz), and what V leaves out of q is corrected by the rough matrix M:
//
//	q - P·(M - θ)⁻¹·P·r,   P = 1 - V·Vᵀ
//
// which leaves so much of the error as M is wrong, a thousandth or less. Corrections are
// the directions of the next pass, and the last ones need none.

const (
	// davidsonLeast is the columns from which auto takes it, and davidsonShare the share of
	// them that may be followed: else the products of all take no longer than some passes.
	// davidsonRows is how many times as many rows there must be: the error of sums of
	// rounded values is as that of a mean.
	davidsonLeast = 256
	davidsonShare = 24
	davidsonRows  = 32
	// davidsonPasses is the most passes; converged is what may be left of a component's
	// error, a share of its eigenvalue.
	davidsonPasses = 5
	converged      = 0x1p-30
	// tooCoarse is the variance of a column, in steps of the rounding, that is rounded
	// away, as of columns with outliers.
	tooCoarse = 16
	// apart is how many times the error the values of what is followed must be above
	// those of what is not, and slow the share of it that a pass may leave.
	apart = 4
	slow  = 0.125
)

// guarded is the directions that the first pass follows: some more than components, for
// what is corrected by must tell those from the rest. With ones and lengths they are a
// multiple of what products are worked in.
func (d *driver) guarded() int { return (d.k+4+2+7)/8*8 - 2 }

// mayDavidson reports whether all columns are numbers and all rows weigh 1.
func (d *driver) mayDavidson() bool {
	f := d.set.Fitted
	return f.Dense == d.d && d.set.Weight == float64(d.set.Rows) && d.guarded() < d.d
}

// coarse chooses the first directions, or full where the rounding leaves too little.
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

// full goes on with the exact matrix.
func (d *driver) full() {
	d.forget()
	d.s.op = opGram
}

func (d *driver) forget() {
	d.s.rough, d.s.basis, d.s.image, d.near = nil, nil, nil, nil
	d.s.scale.Q, d.s.scale.QScale = nil, nil
}

// roughly is the rough matrix in tridiagonal form.
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

// ritz returns the k greatest eigenvalues of a symmetric matrix within the span of an
// orthonormal basis, their vectors and what the matrix makes of these beside their
// multiples; image is what it makes of the basis.
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

// outside takes from x what orthonormal vectors span.
func outside(x []float64, v [][]float64) {
	for range 2 {
		for _, o := range v {
			f64.Axpy(x, -f64.Dot(x, o), o)
		}
	}
}

// vectorsOf cuts numbers into vectors of n.
func vectorsOf(v []float64, n int) (out [][]float64) {
	for ; len(v) > 0; v = v[n:] {
		out = append(out, v[:n:n])
	}
	return out
}
