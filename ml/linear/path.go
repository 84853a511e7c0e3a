package linear

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/optim"
)

// bendAfter is after how many steps of a penalty the Hessian, with which L-BFGS begins, is computed again for the
// next ones: it takes about as long as five evaluations. Sooner costs what it saves.
const bendAfter = 5

// PathOptions implements family.Path.
func (g *glm) PathOptions() []string { return []string{family.L2.Names[0], g.strength.Names[0]} }

// Strength implements family.Path: with an L2 penalty there is one minimum.
func (g *glm) Strength(o *family.Values) (strength float64, ok bool) {
	l1, l2 := g.penalty(o, 1)
	how := o.Text("optimizer", "auto")
	return l2, l1 == 0 && l2 > 0 && !g.bends && (how == "auto" || how == lbfgs) && !o.Bool("early_stop", o.Given("min_rel_progress")) && !o.Bool("calculate_p_values", false)
}

// Leave implements family.Follower: what is known of the rows, and where L-BFGS ended.
func (d *driver) Leave(e *canon.E) {
	o, ok := d.opt.(*optim.LBFGS)
	if !ok || d.units != nil || !d.preconditions() || d.products0 == nil {
		return
	}
	e.F64s(d.bound)
	d.columns.Encode(e)
	for _, v := range []float64{d.shift, d.factor, d.spread, d.held, d.width, d.middle, d.root.l2} {
		e.F64(v)
	}
	d.train.encode(e)
	e.F64s(d.products0)
	o.Leave(e)
}

// bends reports whether the next penalty of a path shall begin with the Hessian here: where this
// one took steps, it has changed.
func bends(d *driver) bool {
	return d.follows && d.root.outputs == 1 && d.state.Iteration >= bendAfter
}

// bend returns the Hessian at the end, without the penalty.
func bend(r *request, p *partial, weight float64) []float64 {
	h := matrix(&p.Hess, append(append([]float64{}, r.Columns.Scale...), 0.5), 2*gram.Half(r.Curv))
	for i := range h {
		h[i] /= weight
	}
	return h
}

// Follow implements family.Follower.
func (d *driver) Follow(r *canon.D) error {
	p := progress{phase: toTrain, state: d.state}
	p.bound, p.columns = r.F64s(), gram.DecodeColumns(r)
	p.shift, p.factor, p.spread, p.held, p.width, p.middle = r.F64(), r.F64(), r.F64(), r.F64(), r.F64(), r.F64()
	l2 := r.F64()
	p.train = decodeMost(r)
	h, n := r.F64s(), d.root.per
	if len(h) != n*n || len(p.bound) != d.root.dense || len(p.columns.Scale) != n-1 {
		r.Fail()
	}
	if !r.OK() {
		return r.Done("the end of a training")
	}
	p.lastTr, p.lastVal, p.bestLoss = d.lastTr, d.lastVal, d.bestLoss
	d.progress, d.products0, d.follows = p, h, true
	d.first = d.root.precondition(slices.Clone(h))
	o := d.s.Options
	opt, done, err := optim.FollowLBFGS(r, d.root.size(), optim.Stop{Tolerance: o.Float("tolerance", 1e-6), MaxIter: d.s.Plan.MaxIterations}, d.first, func(x, g []float64) {
		for i := range g {
			if d.root.penalised(i) {
				g[i] = f64.FMA(d.root.l2-l2, x[i], g[i])
			}
		}
	})
	if err != nil {
		return err
	}
	d.opt, d.ended = opt, done
	if !done {
		return nil
	}
	d.state.TrainLoss = d.trainLoss()
	return d.finish()
}
