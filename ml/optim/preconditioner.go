package optim

import "github.com/tributarydb/tributary/ml/canon"

// Preconditioner is the initial Hessian approximation of limited-memory BFGS: a matrix
// for the parameters of an output, the same one for each output. It removes the effect
// of badly scaled and correlated columns, which cost most of its steps.
type Preconditioner struct {
	n int
	h []float64 // the given matrix, upper triangle
	c *Cholesky
}

// ridge times the diagonal is added to it: the matrix may be singular along directions
// of linearly dependent columns in which the loss is not as flat.
const ridge = 0x1p-30

// NewPreconditioner returns a preconditioner for a matrix of n rows, whose upper
// triangle is read.
func NewPreconditioner(h []float64, n int) *Preconditioner {
	p := &Preconditioner{n: n, h: h}
	f := append([]float64{}, h...)
	for j := range n {
		f[j*n+j] += float64(ridge * f[j*n+j])
	}
	p.c = Factor(f, n)
	return p
}

// solve multiplies each output's part of q by the inverse.
func (p *Preconditioner) solve(q []float64) {
	for ; len(q) > 0; q = q[p.n:] {
		p.c.Solve(q[:p.n], q[:p.n])
	}
}

func (p *Preconditioner) encode(e *canon.E) {
	e.Int(p.n)
	for j := range p.n {
		for _, v := range p.h[j*p.n+j : (j+1)*p.n] {
			e.F64(v)
		}
	}
}

// decodePreconditioner reads that of size parameters.
func decodePreconditioner(d *canon.D, size int) *Preconditioner {
	n := d.Int()
	if n <= 0 || n > size || size%n != 0 || d.Left() < 4*n*(n+1) {
		d.Fail()
		return nil
	}
	h := make([]float64, n*n)
	for j := range n {
		for k := j; k < n; k++ {
			h[j*n+k] = d.F64()
		}
	}
	return NewPreconditioner(h, n)
}
