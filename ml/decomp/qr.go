package decomp

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// absorb updates r, an n×n upper triangle, to the R of the QR factorisation of r
// with rows m below it. Column j of m is m[j*stride:], of rows values, or of j+1
// if m is a triangle itself. m is overwritten.
func absorb(r, m []float64, n, stride, rows int, triangle bool) {
	for j := range n {
		if triangle {
			rows = j + 1
		}
		v := m[j*stride:][:rows]
		below := f64.Dot(v, v)
		if below == 0 {
			continue
		}
		top := r[j*n+j]
		norm := math.Sqrt(f64.FMA(top, top, below))
		if top > 0 {
			norm = -norm
		}
		// The reflection I - tau·(1 v)(1 v)ᵀ takes (top, column) to (norm, 0).
		tau := (norm - top) / norm
		f64.Scale(v, 1/(top-norm))
		r[j*n+j] = norm
		for k := j + 1; k < n; k++ {
			c := m[k*stride:][:rows]
			w := float64(tau * (r[j*n+k] + f64.Dot(v, c)))
			r[j*n+k] -= w
			f64.Axpy(c, -w, v)
		}
	}
}

// stack updates r to the R of r with another triangle below it.
func stack(r, other []float64) {
	n := int(math.Sqrt(float64(len(r))))
	m := make([]float64, len(r))
	for i := range n {
		for j := i; j < n; j++ {
			m[j*n+i] = other[i*n+j]
		}
	}
	absorb(r, m, n, n, n, true)
}

// rightSingular returns the singular values of rows, greatest first, and the right
// singular vectors, by one-sided Jacobi rotations, which keep even small ones
// right (Demmel and Veselić, "Jacobi's method is more accurate than QR", 1992).
// The rows become orthogonal.
func rightSingular(rows [][]float64) (values []float64, vectors [][]float64) {
	const sweeps = 60
	for range sweeps {
		rotated := false
		for i := range rows {
			for j := i + 1; j < len(rows); j++ {
				a, b := f64.Dot(rows[i], rows[i]), f64.Dot(rows[j], rows[j])
				c := f64.Dot(rows[i], rows[j])
				if math.Abs(c) <= float64(0x1p-51*math.Sqrt(float64(a*b))) || c == 0 {
					continue
				}
				rotated = true
				zeta := (b - a) / float64(2*c)
				t := 1 / (math.Abs(zeta) + math.Sqrt(f64.FMA(zeta, zeta, 1)))
				if zeta < 0 {
					t = -t
				}
				cos := 1 / math.Sqrt(f64.FMA(t, t, 1))
				sin := float64(cos * t)
				x, y := rows[i], rows[j]
				for q, v := range x {
					x[q] = f64.FMA(cos, v, -float64(sin*y[q]))
					y[q] = f64.FMA(sin, v, float64(cos*y[q]))
				}
			}
		}
		if !rotated {
			break
		}
	}
	values = make([]float64, len(rows))
	for i, r := range rows {
		values[i] = math.Sqrt(f64.Dot(r, r))
	}
	for i := range rows { // selection sort: there are few, and equal values keep their order
		best := i
		for j := i + 1; j < len(rows); j++ {
			if values[j] > values[best] {
				best = j
			}
		}
		values[i], values[best], rows[i], rows[best] = values[best], values[i], rows[best], rows[i]
	}
	return values, rows
}
