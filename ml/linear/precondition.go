package linear

import (
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/optim"
)

// gramParams is the number of parameters of an output up to which L-BFGS is
// preconditioned with the Gram matrix of the columns: computing it takes at most as
// long as four evaluations and saves more, since L-BFGS need not learn how columns are
// scaled and correlated.
const gramParams = 96

// preconditions reports whether that is worth while.
func (d *driver) preconditions() bool {
	return d.how == lbfgs && d.root.l1 == 0 && d.g.task == family.Classification && d.root.per <= gramParams
}

// precondition returns the preconditioner of L-BFGS from the products of the columns:
// the Hessian at weights of 0, without the blocks that couple classes.
func (d *driver) precondition(p *partial) *optim.Preconditioner {
	n := d.root.per
	m := d.products(p)
	bend := 0.25
	switch o := d.root.objective(1).(type) {
	case objective.Softmax:
		bend = 1 / float64(o.K)
	case objective.SquaredHinge:
		bend = 2
	}
	weight := m[n*(n+1)-2]
	h := make([]float64, n*n)
	for i := range n {
		for j := i; j < n; j++ {
			h[i*n+j] = float64(bend*m[i*(n+1)+j]) / weight
		}
	}
	d.root.hessian(h)
	return optim.NewPreconditioner(h, n)
}
