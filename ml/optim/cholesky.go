package optim

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Cholesky is the factor U of UᵀU = H. A pivot that elimination has reduced to rounding
// error belongs to a column that is a linear combination of earlier ones: it is dead,
// and left out of H.
type Cholesky struct {
	n    int
	u    []float64 // by rows, so that updates run along rows
	dead []bool
	// Least is the smallest ratio of a pivot to its diagonal element: about the inverse of
	// H's condition number.
	Least float64
}

// Factor factors a matrix of n rows, whose upper triangle is read and overwritten.
func Factor(h []float64, n int) *Cholesky {
	c := &Cholesky{n: n, u: h, dead: make([]bool, n), Least: 1}
	diag := make([]float64, n)
	for j := range n {
		diag[j] = h[j*n+j]
	}
	for j := range n {
		row := h[j*n:][:n]
		if !(row[j] > float64(1e-13*diag[j])) || diag[j] <= 0 {
			c.dead[j] = true
			continue
		}
		c.Least = min(c.Least, row[j]/diag[j])
		r := math.Sqrt(row[j])
		for k := j; k < n; k++ {
			row[k] /= r
		}
		for i := j + 1; i < n; i++ {
			if row[i] != 0 {
				f64.Axpy(h[i*n+i:][:n-i], -row[i], row[i:])
			}
		}
	}
	return c
}

// Dead reports whether column j is left out.
func (c *Cholesky) Dead(j int) bool { return c.dead[j] }

// Solve sets p so that H·p = b; what is left out is 0.
func (c *Cholesky) Solve(p, b []float64) {
	n, h := c.n, c.u
	copy(p, b)
	// Uᵀ·u = b, then U·p = u
	for j := range n {
		if c.dead[j] {
			p[j] = 0
			continue
		}
		p[j] /= h[j*n+j]
		f64.Axpy(p[j+1:], -p[j], h[j*n+j+1:][:n-j-1])
	}
	for j := n - 1; j >= 0; j-- {
		if c.dead[j] {
			p[j] = 0
			continue
		}
		p[j] = (p[j] - f64.Dot(h[j*n+j+1:][:n-j-1], p[j+1:])) / h[j*n+j]
	}
}
