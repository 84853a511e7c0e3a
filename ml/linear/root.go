package linear

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/optim"
)

// root turns sums over all rows into the objective that is minimised, except the L1
// penalty, which OWL-QN adds itself.
//
// In scikit-learn's terms C·Σ loss + ½‖w‖² has its minimum at the same place with
// l2 = 1/(C·Σ weight), ridge regression's Σ (y-ŷ)² + α‖w‖² with l2 = α/Σ weight.
type root struct {
	*problem
	l1, l2    float64
	intercept bool
}

// penalised reports whether parameter i is a penalised weight.
func (r *root) penalised(i int) bool {
	j := r.column(i)
	return i < r.slopes*r.per && j != r.per-1 && j != r.offset
}

// learnt reports whether parameter i is learnt.
func (r *root) learnt(i int) bool {
	j := r.column(i)
	return i >= r.slopes*r.per || j != r.offset && (j != r.per-1 || r.intercept)
}

// eval returns the mean of sums over rows of this total weight, plus the penalty.
func (r *root) eval(theta, grad []float64, loss, weight float64, hess []float64) *optim.Eval {
	e := &optim.Eval{Loss: loss / weight, Grad: grad, Hess: hess}
	square := 0.0
	for i, v := range grad {
		switch grad[i] = v / weight; {
		case r.penalised(i):
			grad[i] = f64.FMA(r.l2, theta[i], grad[i])
			square = f64.FMA(theta[i], theta[i], square)
		case !r.learnt(i):
			grad[i] = 0
		}
	}
	e.Loss += float64(float64(0.5*r.l2) * square)
	for i := range hess {
		hess[i] /= weight
	}
	r.hessian(hess)
	return e
}

// hessian adds the penalty to a Hessian of the mean loss, and takes out what is
// not learnt.
func (r *root) hessian(hess []float64) {
	if len(hess) == 0 {
		return
	}
	n := r.per
	for j := range n {
		switch {
		case r.penalised(j):
			hess[j*n+j] += r.l2
		case !r.learnt(j):
			for k := range n {
				hess[j*n+k], hess[k*n+j] = 0, 0
			}
		}
	}
}

// unit returns the vector scaled by a power of two to a norm of about 1, so that the
// bounds of its products are valid for the next vector.
func unit(v []float64) []float64 {
	out := append([]float64{}, v...)
	f64.Scale(out, 1/unitOf(v))
	return out
}

func unitOf(v []float64) float64 { return most2(math.Sqrt(f64.Dot(v, v))) }

// product returns the product of the objective's Hessian with the requested vector.
func (d *driver) product(r *request, p *partial) []float64 {
	along := d.opt.Next().Along
	if p.Bend-p.Bend != 0 {
		return slices.Repeat([]float64{math.NaN()}, len(along))
	}
	out, _ := d.root.gradient(r, &p.Sums, nil)
	scale := unitOf(along) / d.s.Weight
	for i, v := range out {
		switch out[i] = float64(v * scale); {
		case d.root.penalised(i):
			out[i] = f64.FMA(d.root.l2, along[i], out[i])
		case !d.root.learnt(i):
			out[i] = 0
		}
	}
	return out
}

// penalty returns what the penalties add to the loss.
func (r *root) penalty(theta []float64) float64 {
	abs, square := 0.0, 0.0
	for i, v := range theta {
		if r.penalised(i) {
			abs += math.Abs(v)
			square = f64.FMA(v, v, square)
		}
	}
	return float64(r.l1*abs) + float64(float64(0.5*r.l2)*square)
}

// l1s returns the L1 penalty of each parameter.
func (r *root) l1s() []float64 {
	out := make([]float64, r.size())
	for i := range out {
		if r.penalised(i) {
			out[i] = r.l1
		}
	}
	return out
}
