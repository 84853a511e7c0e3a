package decomp

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// eigen returns the k greatest eigenvalues of the symmetric n×n matrix a and their
// orthonormal eigenvectors. It destroys a.
func eigen(a []float64, n, k int) (values []float64, vectors [][]float64) {
	return reduce(a, n).top(k)
}

// spectrum is a symmetric matrix in tridiagonal form, divided by 2^exp.
type spectrum struct {
	*reduced
	exp int
}

// reduce brings the symmetric n×n matrix a into tridiagonal form, and destroys it.
func reduce(a []float64, n int) spectrum {
	size := 0.0
	for _, v := range a {
		size = math.Max(size, math.Abs(v))
	}
	if size == 0 {
		size = 1
	}
	_, e := math.Frexp(size)
	f64.Scale(a, math.Ldexp(1, -e))
	return spectrum{tridiagonal(a, n), e}
}

// top returns the k greatest eigenvalues and their orthonormal eigenvectors.
func (t spectrum) top(k int) (values []float64, vectors [][]float64) {
	for i := range k {
		v := t.value(t.n - 1 - i)
		x := t.vector(v, vectors, uint64(i))
		vectors = append(vectors, x)
		values = append(values, math.Ldexp(v, t.exp))
	}
	for _, x := range vectors {
		t.back(x)
		f64.Scale(x, 1/math.Sqrt(f64.Dot(x, x)))
	}
	return values, vectors
}

// reduced is a symmetric tridiagonal matrix T with HAH = T.
type reduced struct {
	n    int
	d, e []float64 // diagonal, and beside it
	h    []float64 // row i from column i+1 on: the vector of reflection i
	beta []float64 // I - beta·v·vᵀ
}

// tridiagonal reduces a by n-2 Householder reflections, one a column. A row that a
// reflection has updated is multiplied by the next reflection's vector at once, so that
// the matrix, which is larger than the first-level caches, is read once for each
// reflection, not twice.
func tridiagonal(a []float64, n int) *reduced {
	t := &reduced{n: n, h: a, d: make([]float64, n), e: make([]float64, n), beta: make([]float64, n)}
	p, last := make([]float64, n), make([]float64, n) // A·v, of this reflection and the one before
	var was []float64                                 // the vector of the reflection before
	for i := range n {
		v := a[i*n+i+1 : (i+1)*n]
		if was != nil { // A - v·pᵀ - p·vᵀ
			f64.Axpy2(a[i*n+i:(i+1)*n], -was[0], last, -last[0], was)
		}
		t.d[i] = a[i*n+i]
		m := len(v)
		t.reflect(i, v)
		for r := range m {
			row := a[(i+1+r)*n+i+1 : (i+2+r)*n]
			if was != nil {
				f64.Axpy2(row, -was[1+r], last[1:], -last[1+r], was[1:])
			}
			if t.beta[i] != 0 {
				p[r] = float64(t.beta[i] * f64.Dot(row, v))
			}
		}
		if was = nil; t.beta[i] != 0 {
			f64.Axpy(p[:m], -float64(0.5*float64(t.beta[i]*f64.Dot(p[:m], v))), v)
			was, p, last = v, last, p[:m]
			p = p[:cap(p)]
		}
	}
	return t
}

// reflect turns v, row i to the right of the diagonal, into the vector of the reflection
// that zeroes all of it but the first number.
func (t *reduced) reflect(i int, v []float64) {
	if len(v) < 2 {
		if len(v) == 1 {
			t.e[i] = v[0]
		}
		return
	}
	norm := math.Sqrt(f64.Dot(v, v))
	if norm == 0 {
		return
	}
	if v[0] > 0 {
		norm = -norm
	}
	t.e[i] = norm
	v[0] -= norm
	t.beta[i] = 2 / f64.Dot(v, v)
}

// back transforms an eigenvector of T to one of A.
func (t *reduced) back(x []float64) {
	for i := t.n - 3; i >= 0; i-- {
		v := t.h[i*t.n+i+1 : (i+1)*t.n]
		f64.Axpy(x[i+1:], -float64(t.beta[i]*f64.Dot(v, x[i+1:])), v)
	}
}

// forth is the inverse of back.
func (t *reduced) forth(x []float64) {
	for i := 0; i < t.n-2; i++ {
		v := t.h[i*t.n+i+1 : (i+1)*t.n]
		f64.Axpy(x[i+1:], -float64(t.beta[i]*f64.Dot(v, x[i+1:])), v)
	}
}

// solve replaces x by the solution y of (A - value·I)·y = x.
func (t spectrum) solve(value float64, x []float64) {
	t.forth(x)
	t.factor(math.Ldexp(value, -t.exp)).solve(x)
	t.back(x)
	f64.Scale(x, math.Ldexp(1, -t.exp))
}

// below counts the eigenvalues below x, by the signs of Sturm's sequence.
func (t *reduced) below(x float64) (n int) {
	q := 1.0
	for i, d := range t.d {
		off := 0.0
		if i > 0 {
			off = float64(t.e[i-1]*t.e[i-1]) / q
		}
		if q = d - x - off; q == 0 {
			q = -0x1p-1000
		}
		if q < 0 {
			n++
		}
	}
	return n
}

// value finds eigenvalue i, counted from the least, by bisection.
func (t *reduced) value(i int) float64 {
	bound := 0.0
	for j, d := range t.d {
		r := math.Abs(d) + math.Abs(t.e[j])
		if j > 0 {
			r += math.Abs(t.e[j-1])
		}
		bound = math.Max(bound, r)
	}
	lo, hi := -bound-0x1p-1000, float64(bound*(1+0x1p-40))+0x1p-1000
	for range 200 {
		mid := lo + float64(0.5*(hi-lo))
		if mid <= lo || mid >= hi || hi-lo <= float64(0x1p-60*bound) {
			break
		}
		if t.below(mid) > i {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo + float64(0.5*(hi-lo))
}

// vector finds the eigenvector of T for a value by inverse iteration, orthogonal
// to those before.
func (t *reduced) vector(value float64, before [][]float64, seed uint64) []float64 {
	x := make([]float64, t.n)
	random := func() {
		for i := range x {
			seed = mix(seed)
			x[i] = float64(seed>>11)*0x1p-52 - 1
		}
	}
	random()
	f := t.factor(value)
	for i := 0; i < 4; i++ {
		f.solve(x)
		f64.Scale(x, 1/math.Sqrt(f64.Dot(x, x)))
		for range 2 {
			for _, b := range before {
				f64.Axpy(x, -f64.Dot(x, b), b)
			}
		}
		left := f64.Dot(x, x)
		if left < 0x1p-60 { // it lies in the span of those before
			random()
			continue
		}
		f64.Scale(x, 1/math.Sqrt(left))
	}
	for range 2 {
		for _, b := range before {
			f64.Axpy(x, -f64.Dot(x, b), b)
		}
		f64.Scale(x, 1/math.Sqrt(f64.Dot(x, x)))
	}
	return x
}

// factored is T - value·I as a product of a lower and an upper factor, with rows
// swapped where that makes a pivot larger.
type factored struct {
	u0, u1, u2, l []float64
	swap          []bool
}

func (t *reduced) factor(value float64) *factored {
	n := t.n
	f := &factored{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]bool, n)}
	const tiny = 0x1p-54 // relative to entries of at most 1
	a, b := t.d[0]-value, t.e[0]
	for i := range n {
		if i == n-1 {
			f.u0[i] = a
		} else {
			c, d, e := t.e[i], t.d[i+1]-value, 0.0
			if i+1 < n-1 {
				e = t.e[i+1]
			}
			if math.Abs(c) > math.Abs(a) {
				f.swap[i] = true
				f.u0[i], f.u1[i], f.u2[i] = c, d, e
				f.l[i] = a / c
				a, b = b-float64(f.l[i]*d), -float64(f.l[i]*e)
			} else {
				f.u0[i], f.u1[i] = a, b
				if a != 0 {
					f.l[i] = c / a
				}
				a, b = d-float64(f.l[i]*b), e
			}
		}
		if math.Abs(f.u0[i]) < tiny {
			f.u0[i] = tiny
		}
	}
	return f
}

// solve replaces x by the solution, scaled to stay finite.
func (f *factored) solve(x []float64) {
	n := len(x)
	for i := range n - 1 {
		if f.swap[i] {
			x[i], x[i+1] = x[i+1], x[i]
		}
		x[i+1] -= float64(f.l[i] * x[i])
	}
	for i := n - 1; i >= 0; i-- {
		v := x[i]
		if i+1 < n {
			v -= float64(f.u1[i] * x[i+1])
		}
		if i+2 < n {
			v -= float64(f.u2[i] * x[i+2])
		}
		x[i] = v / f.u0[i]
		if math.Abs(x[i]) > 0x1p500 {
			f64.Scale(x, 0x1p-500)
		}
	}
}

// mix is the finaliser of SplitMix64.
func mix(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}
