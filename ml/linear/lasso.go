package linear

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// descend minimises ½·wᵀCw - rᵀw + l1·|w| + ½·l2·‖w‖² from 0 on, a weight at a time
// (Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear models
// via coordinate descent", 2010, with covariance updates: a weight that stays 0 costs
// nothing). It ends when the duality gap, which bounds how much lower the minimum can
// lie, is at most tol·yy, and returns the number of sweeps.
func (q *equations) descend(w []float64, l1, l2, yy float64, skip int, tol float64, sweeps int) (int, bool) {
	n := q.n
	g := append([]float64{}, q.r...) // r - C·w
	for sweep := 1; ; sweep++ {
		moved := false
		for j := range n {
			cjj := q.c[j*n+j]
			if j == skip || !(cjj+l2 > 0) || !(cjj > 0) {
				continue
			}
			at := f64.FMA(cjj, w[j], g[j])
			to := math.Copysign(math.Max(math.Abs(at)-l1, 0)/(cjj+l2), at) + 0
			if step := to - w[j]; step != 0 {
				f64.Axpy(g, -step, q.c[j*n:][:n])
				w[j], moved = to, true
			}
		}
		if q.gap(w, g, l1, l2, yy, skip) <= float64(tol*yy) || !moved {
			return sweep, true
		}
		if sweep == sweeps {
			return sweep, false
		}
	}
}

// gap returns the duality gap of w, whose gradient of the smooth part is -g: the dual
// point is the residual, shrunk until it is feasible.
func (q *equations) gap(w, g []float64, l1, l2, yy float64, skip int) float64 {
	dual := 0.0
	for j, v := range g {
		if j != skip {
			dual = math.Max(dual, math.Abs(v-float64(l2*w[j])))
		}
	}
	wr, wg, ww, abs := f64.Dot(w, q.r), f64.Dot(w, g), f64.Dot(w, w), 0.0
	for _, v := range w {
		abs += math.Abs(v)
	}
	rr := math.Max(yy-wr-wg, 0)
	shrink := 1.0
	if dual > l1 {
		shrink = l1 / dual
	}
	s2 := float64(shrink * shrink)
	gap := float64(float64(0.5*rr)*(1+s2)) + float64(l1*abs) - float64(shrink*(yy-wr))
	return gap + float64(float64(0.5*l2)*float64((1+s2)*ww))
}
