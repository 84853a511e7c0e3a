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

// Each runs do with 0 to n-1, in any order and possibly several at once.
type Each func(n int, do func(i int))

// InTurn is Each of one thread.
func InTurn(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// Factor factors a matrix of n rows, whose upper triangle is read and overwritten.
func Factor(h []float64, n int) *Cholesky { return factor(h, n, n, InTurn) }

// panelRows is the number of rows that FactorOn eliminates at once.
const panelRows = 64

// FactorBytes is the memory that FactorOn takes besides the matrix.
func FactorBytes(n int) int64 { return 16 * panelRows * int64(n+f64.Lanes) }

// FactorOn is Factor for large matrices. Below the diagonal it writes too.
func FactorOn(h []float64, n int, each Each) *Cholesky { return factor(h, n, panelRows, each) }

// factor eliminates so many rows at once. Whatever their number, what is taken from an element is taken row
// after row.
func factor(h []float64, n, panel int, each Each) *Cholesky {
	c := &Cholesky{n: n, u: h, dead: make([]bool, n), Least: 1}
	diag := make([]float64, n)
	for j := range n {
		diag[j] = h[j*n+j]
	}
	var space []float64
	if panel < n {
		space = make([]float64, 2*panel*(n+f64.Lanes))
	}
	for from := 0; from < n; from += panel {
		to := min(from+panel, n)
		for j := from; j < to; j++ {
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
			for i := j + 1; i < to; i++ {
				if row[i] != 0 {
					f64.Axpy(h[i*n+i:][:n-i], -row[i], row[i:])
				}
			}
		}
		if to < n {
			c.eliminate(from, to, space, each)
		}
	}
	return c
}

// eliminate takes the rows [from, to) of the factor from the rows below, eight by eight:
//
//	        to  first
//	from  ┌ U    U     U      U     ┐
//	to    │      few   few    few   │  fewer than eight columns, so that the others are tiles
//	first │            tile   tile  │
//	      └                   tile  ┘
func (c *Cholesky) eliminate(from, to int, space []float64, each Each) {
	n, h := c.n, c.u
	first := to + (n-to)%f64.Lanes
	var live []int
	for j := from; j < to; j++ {
		if !c.dead[j] {
			live = append(live, j)
		}
	}
	d := len(live)
	if d == 0 {
		return
	}
	for i := to; i < first; i++ {
		for _, j := range live {
			f64.Axpy(h[i*n+i:][:n-i], -h[j*n+i], h[j*n+i:][:n-i])
		}
	}
	groups := (n - first) / f64.Lanes
	tiles, by := space[:d*groups*f64.Lanes], space[len(space)/2:] // by has what the rows are multiplied by
	each(groups, func(g int) {
		at := g * d * f64.Lanes
		for k, j := range live {
			u := h[j*n+first+g*f64.Lanes:][:f64.Lanes]
			copy(tiles[at+k*f64.Lanes:], u)
			for l, v := range u {
				by[at+l*d+k] = -v
			}
		}
	})
	each(groups, func(g int) {
		i, at := first+g*f64.Lanes, g*d*f64.Lanes
		f64.MarginsOf(h[i*n+i:], n, n-i, tiles[at:], by[at:at+d*f64.Lanes], d)
	})
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
