package linear

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/optim"
)

// equations are the normal equations of least squares: the mean products of what is learnt.
type equations struct {
	n     int       // columns
	c     []float64 // n×n, full
	r     []float64 // of the columns with the target
	yy    float64
	mean  []float64 // of the shifted columns
	meanY float64   // of the shifted target
}

// products returns the sums of products of the columns, of ones and of the target.
func (d *driver) products(p *partial) []float64 {
	return matrix(&p.Hess, append(append([]float64{}, d.columns.Scale...), 0.5, d.factor), d.columns.Unit)
}

// equations returns the normal equations from sums of products; with an intercept they
// are those of centred columns and target.
func (d *driver) equations(p *partial) *equations {
	n := d.root.per - 1
	m := d.products(p)
	w := n + 2
	weight := m[n*w+n]
	q := &equations{n: n, c: make([]float64, n*n), r: make([]float64, n), mean: make([]float64, n)}
	for j := range n {
		q.mean[j] = m[j*w+n] / weight
	}
	q.meanY = m[n*w+n+1] / weight
	off := func(a, b float64) float64 {
		if d.root.intercept {
			return float64(a * b)
		}
		return 0
	}
	for i := range n {
		for j := i; j < n; j++ {
			v := m[i*w+j]/weight - off(q.mean[i], q.mean[j])
			q.c[i*n+j], q.c[j*n+i] = v, v
		}
		q.r[i] = m[i*w+n+1]/weight - off(q.mean[i], q.meanY)
	}
	q.yy = m[(n+1)*w+n+1]/weight - off(q.meanY, q.meanY)
	return q
}

// loss returns half the mean squared error of weights.
func (q *equations) loss(w []float64) float64 {
	v := q.yy
	for i, x := range w {
		if x != 0 {
			v += float64(x * (f64.Dot(q.c[i*q.n:][:q.n], w) - float64(2*q.r[i])))
		}
	}
	return math.Max(float64(0.5*v), 0)
}

// rough is the relative precision below which the solution of the Gram matrix is
// refined by passes over the rows: after cancellation in the elimination, or for a
// nearly perfect fit.
const rough = 1e-6

// solve ends a training by least squares.
func (d *driver) solve(p *partial) error {
	q := d.equations(p)
	off, yy := d.root.offset, q.yy
	if off >= 0 { // its coefficient is known, so it is moved to the target's side
		yy += q.c[off*q.n+off] - float64(2*q.r[off])
		f64.Axpy(q.r, -1, q.c[off*q.n:][:q.n])
	}
	w := make([]float64, q.n)
	st := &d.state
	st.Iteration, st.Converged, st.Stopped = 1, true, optim.Converged.String()
	exact := true
	if d.root.l1 > 0 {
		o := d.s.Options
		st.Iteration, st.Converged = q.descend(w, d.root.l1, d.root.l2, yy, off, o.Float("tolerance", 1e-10), d.s.Plan.MaxIterations)
		if !st.Converged {
			st.Stopped = optim.Exhausted.String()
		}
	} else {
		h := append([]float64{}, q.c...)
		for j := range q.n {
			h[j*q.n+j] += d.root.l2
			if j == off {
				for k := range q.n {
					h[j*q.n+k], h[k*q.n+j] = 0, 0
				}
			}
		}
		c := optim.FactorOn(h, q.n, d.threads.each)
		if d.threads.broken != nil {
			return d.threads.broken
		}
		c.Solve(w, q.r)
		exact = c.Least > rough
	}
	if off >= 0 {
		f64.Axpy(q.r, 1, q.c[off*q.n:][:q.n])
		w[off] = 1
	}
	loss := q.loss(w)
	theta := append(w, 0)
	if d.root.intercept {
		b := d.shift + q.meanY
		for j := range q.n {
			b -= float64(w[j] * (d.columns.Shift[j] + q.mean[j]))
		}
		theta[q.n] = b
	}
	st.TrainLoss = float64(loss * d.g.scale)
	if d.root.l1 == 0 && (!exact || loss < float64(rough*q.yy)) {
		// Continue with Newton's method: its gradients are computed from the rows' residuals.
		d.how, d.columns = newton, uncentred(d)
		st.Iteration, st.Converged, st.Stopped = 0, false, ""
		return d.begin(theta)
	}
	d.columns = uncentred(d)
	d.theta = theta
	if d.s.Held > 0 {
		d.phase = toHeld
		return nil
	}
	return d.finish()
}

// uncentred returns the factors of the columns without centring.
func uncentred(d *driver) gram.Columns {
	c := gram.Columns{Shift: make([]float64, d.root.per-1), Unit: d.columns.Unit}
	for _, b := range d.bound {
		c.Scale = append(c.Scale, gram.Half(b))
	}
	for range d.root.oneHot {
		c.Scale = append(c.Scale, gram.Half(1))
	}
	return c
}

// few reports whether the rows are so few. Rows of a weight above 0 are no more than their weight where
// weights are copies.
func few(d *driver) bool {
	p, rows := d.root.problem, d.s.Counted
	return d.g.direct && d.root.l1 == 0 && !d.errors && d.s.Options.Text("optimizer", "auto") == "auto" &&
		d.s.Weight < float64(p.per-1) && rows > 0 && rows <= mostRows && rows*int64(p.per+p.width()) <= mostValues
}

// solveRows ends a training by the rows themselves.
func (d *driver) solveRows(flat []float64) error {
	p := d.root.problem
	s := p.gathered(flat)
	mean, meanY := make([]float64, p.per-1), 0.0
	if d.root.intercept {
		mean, meanY = s.center()
	}
	w, square, ok := s.dual(d.root.l2, d.threads.each).solve(d.root.intercept)
	if d.threads.broken != nil {
		return d.threads.broken
	}
	if !ok { // by the columns, as if there were more rows
		d.how, d.phase, d.bound = d.primal, toBound, nil
		return nil
	}
	intercept := 0.0
	if d.root.intercept {
		intercept = meanY - f64.Dot(mean, w)
	}
	if p.offset >= 0 {
		w[p.offset] = 1
	}
	st := &d.state
	st.Iteration, st.Converged, st.Stopped = 1, true, optim.Converged.String()
	st.TrainLoss = float64(0.5 * float64(s.within+square) * d.g.scale)
	d.theta = append(w, intercept)
	if d.s.Held > 0 {
		d.phase = toHeld
		return nil
	}
	return d.finish()
}
