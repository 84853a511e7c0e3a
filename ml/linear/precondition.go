package linear

import (
	"math"
	"slices"

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
	return d.how == lbfgs && !d.sparse && d.root.l1 == 0 && d.g.task == family.Classification && d.root.per <= gramParams
}

// inUnits reports whether the optimiser works in units of its own: of Huber's target, whose
// scale is learnt, of quantiles' where it is far from 1, and of columns that are not
// standardised, unless L-BFGS is preconditioned.
func (d *driver) inUnits() bool {
	return d.how == lbfgs && !d.preconditions() && (d.uneven() || d.scales())
}

// scales reports whether the target has a unit of its own.
func (d *driver) scales() bool {
	const near = 1 << 20
	_, huber := d.root.objective(1).(objective.Huber)
	return huber || d.g.bends && (d.uneven() || !(d.spread >= 1.0/near && d.spread <= near))
}

// uneven reports whether there are columns of any scale.
func (d *driver) uneven() bool {
	offset := ""
	if d.root.offset >= 0 {
		offset = d.s.Plan.Plain[0]
	}
	return d.s.Fitted.Uneven(offset)
}

// setUnits chooses the units by the bounds of the columns and of the target.
func (d *driver) setUnits(b *bounds) {
	n := d.root.per - 1
	u := &optim.Units{Target: 1, Center: make([]float64, n), Scale: make([]float64, n)}
	for j := range u.Scale {
		u.Scale[j] = 1
	}
	if d.scales() {
		u.Target = most2(d.spread)
	}
	if d.units = u; !d.uneven() {
		return
	}
	for j, low := range b.Low {
		if half := 0.5*b.High[j] - 0.5*low; half > 0 && j != d.root.offset {
			u.Scale[j] = half
			if d.root.intercept {
				u.Center[j] = low + half
			}
		}
	}
}

// refineUnits chooses those of the columns by their products.
func (d *driver) refineUnits(p *partial) {
	q := d.equations(p)
	for j := range d.root.dense {
		v := q.c[j*q.n+j]
		if j == d.root.offset || !(v > float64(1e-10*float64(q.mean[j]*q.mean[j]))) {
			continue
		}
		if d.units.Scale[j] = math.Sqrt(v); d.root.intercept {
			d.units.Center[j] = q.mean[j]
		}
	}
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
	d.products0 = slices.Clone(h)
	return d.root.precondition(h)
}

// precondition is that of L-BFGS by the Hessian without the penalty.
func (r *root) precondition(h []float64) *optim.Preconditioner {
	r.hessian(h)
	return optim.NewPreconditioner(h, r.per)
}
