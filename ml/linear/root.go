package linear

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Root turns sums over all rows into the objective that is minimised:
//
//	F(θ) = Σ weight·loss / Σ weight  +  ½·L2·‖weights‖²
//
// The intercepts are not penalised. In scikit-learn's terms C·Σ loss + ½‖w‖² has
// its minimum at the same place with L2 = 1/(C·Σ weight), ridge regression's
// Σ (y-ŷ)² + α‖w‖² with L2 = α/Σ weight.
type Root struct {
	Outputs   int
	Params    int // of an output, without the intercept
	L2        float64
	Intercept bool
}

// Eval gives the objective from the sums at theta.
func (r *Root) Eval(s *reduce.Sums, theta []float64, need optim.Need) (*optim.Eval, error) {
	per := r.Params + 1
	if len(s.Vec) != VectorLen(r.Outputs, r.Params, need) {
		return nil, pgerr.Internal("a gradient has %d members, not %d", len(s.Vec), VectorLen(r.Outputs, r.Params, need))
	}
	e := &optim.Eval{Loss: s.Loss / s.Weight, Grad: s.Vec[:r.Outputs*per], Hess: s.Vec[r.Outputs*per:]}
	for i := range s.Vec {
		s.Vec[i] /= s.Weight
	}
	for k := range r.Outputs {
		th, g := theta[k*per:][:per], e.Grad[k*per:][:per]
		if r.L2 > 0 {
			e.Loss += float64(float64(0.5*r.L2) * f64.Dot(th[:per-1], th[:per-1]))
			f64.Axpy(g[:per-1], r.L2, th[:per-1])
		}
		if !r.Intercept {
			g[per-1] = 0
		}
	}
	if len(e.Hess) > 0 {
		for j := range per - 1 {
			e.Hess[j*per+j] += r.L2
			if !r.Intercept {
				e.Hess[j*per+per-1] = 0
			}
		}
		if !r.Intercept {
			e.Hess[per*per-1] = 0
		}
	}
	return e, nil
}
