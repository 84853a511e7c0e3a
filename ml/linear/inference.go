package linear

import (
	"math"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/types"
)

// theory is the distribution of the standard errors of a family's weights.
type theory uint8

const (
	none      theory = iota
	studentT         // the variance of residuals is estimated; Student's distribution
	normal           // the variance follows from the mean
	dispersed        // it does up to a dispersion factor, which Pearson's statistic estimates
)

// inference has the standard errors of weights: for maximum likelihood, from the
// inverse of the expected Hessian (Fisher information) of all rows' losses, times the
// dispersion. Rows of weight 2 are two rows, unless weight_type is analytic.
type inference struct {
	errors []float64 // by weight and of the intercept; NaN for what is not learnt
	base   float64   // of the intercept for unscaled columns
	df     float64   // degrees of freedom of Student's distribution, 0 for the normal one
}

// infer computes the standard errors of an evaluation at the solution.
func (d *driver) infer(r *request, p *partial) {
	n := d.root.per
	in := &d.inference
	in.errors, in.base, in.df = make([]float64, n), math.NaN(), 0
	for j := range in.errors {
		in.errors[j] = math.NaN()
	}
	h := matrix(&p.Hess, append(append([]float64{}, r.Columns.Scale...), 0.5), 2*gram.Half(r.Curv))
	d.root.hessian(h)
	c := optim.Factor(h, n)
	rank := 0
	for j := range n {
		if !c.Dead(j) {
			rank++
		}
	}
	phi := 1.0
	if d.g.estimates() {
		left := d.s.Weight - float64(rank)
		if d.s.Options.Text("weight_type", "frequency") == "analytic" {
			left = float64(d.s.Counted) - float64(rank)
		}
		if !(left > 0) {
			return
		}
		if phi = p.Pearson.Value() / left; d.g.theory == studentT {
			in.df = left
		}
	}
	unit, column := make([]float64, n), make([]float64, n)
	for j := range n {
		if c.Dead(j) {
			continue
		}
		clear(unit)
		unit[j] = 1
		c.Solve(column, unit)
		in.errors[j] = math.Sqrt(math.Max(float64(phi*column[j]), 0))
	}
	// The intercept for unscaled columns is that less each weight's share.
	for j, s := range d.s.Fitted.Slots() {
		unit[j] = -s.Center / s.Scale
	}
	if unit[n-1] = 1; !c.Dead(n - 1) {
		c.Solve(column, unit)
		v := 0.0
		for j, x := range column {
			v += float64(x * unit[j])
		}
		in.base = math.Sqrt(math.Max(float64(phi*v), 0))
	}
}

func (in *inference) encode(e *canon.E) {
	e.F64s(in.errors)
	e.F64(in.base)
	e.F64(in.df)
}

func decodeInference(d *canon.D) inference { return inference{d.F64s(), d.F64(), d.F64()} }

// columns returns what ml.weights has of a weight beside itself.
func (in *inference) columns(weight, stdError float64) []types.Datum {
	return family.Inference(weight, stdError, in.df)
}
