package forecast

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/optim"
)

// regression is a differenced series with ARMA errors beside its regressors, differenced likewise: w = Xβ + u.
type regression struct {
	w []float64
	x [][]float64 // by regressor; the first is the constant, where there is one
	m int
}

// arimaFitted is an order fitted to a series.
type arimaFitted struct {
	Order    order
	ARMA     arma
	Weights  []float64 // of the regressors
	Deviance float64   // −2 log likelihood
	AICc     float64
	squares  float64 // of the errors
}

// mostPartial is the largest partial autocorrelation of a process that is sought.
const mostPartial = 0.9995

// process returns the coefficients of free numbers: tanh(z) are partial autocorrelations (Monahan 1984), of moving averages those
// of −θ. Where d is not nil it becomes their derivatives, by part, coefficient and number.
func (o *order) process(z []float64, d *[4][][]float64) (a arma) {
	for i, p := range []struct {
		n    int
		to   *[]float64
		sign float64
	}{{o.P, &a.AR, 1}, {o.SeasonalP, &a.SeasonalAR, 1}, {o.Q, &a.MA, -1}, {o.SeasonalQ, &a.SeasonalMA, -1}} {
		r, slope := make([]float64, p.n), make([]float64, p.n)
		for j := range r {
			tanh := float64(2*f64.Sigmoid1(float64(2*z[j]))) - 1
			r[j], slope[j] = float64(mostPartial*tanh), float64(mostPartial*(1-float64(tanh*tanh)))
		}
		z = z[p.n:]
		var of [][]float64
		if d != nil {
			of = make([][]float64, p.n)
			for j := range of {
				of[j] = make([]float64, p.n)
			}
			d[i] = of
		}
		c := autoregression(r, of)
		for j := range c {
			c[j] = float64(p.sign * c[j])
		}
		for _, row := range of {
			for k := range row {
				row[k] = float64(float64(p.sign*row[k]) * slope[k])
			}
		}
		*p.to = c
	}
	return a
}

// stages are a series on its way to its errors, from step from on: before the seasonal autoregression, the other one, the seasonal
// moving average and the other one, and after it.
type stages [5][]float64

// filtered runs a series through the polynomials of a process, on the condition that errors before from are 0.
func (a *arma) filtered(s *stages, w []float64, m, from int) {
	s[0] = w
	prior := func(to, v []float64, by []float64, step int) {
		copy(to, v)
		for j, c := range by {
			if k := step * (j + 1); k < len(v) {
				f64.Axpy(to[k:], -c, v[:len(v)-k])
			}
		}
	}
	own := func(to, v []float64, by []float64, step int) {
		clear(to[:from])
		for t := from; t < len(v); t++ {
			e := v[t]
			for j, c := range by {
				if k := t - step*(j+1); k >= from {
					e -= float64(c * to[k])
				}
			}
			to[t] = e
		}
	}
	prior(s[1], s[0], a.SeasonalAR, m)
	prior(s[2], s[1], a.AR, 1)
	own(s[3], s[2], a.SeasonalMA, m)
	own(s[4], s[3], a.MA, 1)
}

// conditional is the search for the process of least conditional squares.
type conditional struct {
	*regression
	o     *order
	from  int // the first step with an error
	of    stages
	cols  [][]float64 // errors of the regressors
	rest  []float64   // the series without them
	l, l2 []float64   // derivatives by errors
}

func newStages(n int) (s stages) {
	all := make([]float64, 4*n)
	for i := range 4 {
		s[i+1] = all[i*n : (i+1)*n]
	}
	return s
}

func newConditional(r *regression, o *order) *conditional {
	n := len(r.w)
	c := &conditional{regression: r, o: o, of: newStages(n), rest: make([]float64, n), l: make([]float64, n), l2: make([]float64, n)}
	if p := o.P + r.m*o.SeasonalP; n-p >= 3*o.parameters()+10 {
		c.from = p
	}
	for range r.x {
		c.cols = append(c.cols, make([]float64, n))
	}
	return c
}

// evaluate returns n log of the squares at free numbers, and the derivatives by them. Those by the weights of regressors are 0:
// they are the best ones of each process.
func (c *conditional) evaluate(z []float64) *optim.Eval {
	var d [4][][]float64
	a := c.o.process(z, &d)
	weights := c.weights(&a)
	copy(c.rest, c.w)
	for i, b := range weights {
		f64.Axpy(c.rest, -b, c.x[i])
	}
	a.filtered(&c.of, c.rest, c.m, c.from)
	e := c.of[4]
	sum := f64.Dot(e, e)
	n := float64(len(e) - c.from)
	out := &optim.Eval{Loss: float64(n * f64.Log1(sum+leastSquares)), Grad: make([]float64, len(z))}
	each := float64(2*n) / (sum + leastSquares)
	copy(c.l, e)
	f64.Scale(c.l, each)
	var by [4][]float64
	by[3] = c.back(a.MA, c.of[4], 1, true)
	by[2] = c.back(a.SeasonalMA, c.of[3], c.m, true)
	by[1] = c.back(a.AR, c.of[1], 1, false)
	by[0] = c.back(a.SeasonalAR, c.of[0], c.m, false)
	at := 0
	// As the numbers lie: autoregressions, then moving averages, the seasonal part after the other.
	for _, p := range []struct {
		by []float64
		d  [][]float64
	}{{by[1], d[0]}, {by[0], d[1]}, {by[3], d[2]}, {by[2], d[3]}} {
		for j, g := range p.by {
			for k := range p.by {
				out.Grad[at+k] += float64(g * p.d[j][k])
			}
		}
		at += len(p.by)
	}
	return out
}

// leastSquares keeps the logarithm of the squares of a series without errors finite.
const leastSquares = 1e-280

// back takes the derivatives by the values after a polynomial to those before it, and returns those by its coefficients: of a
// moving average the values are those after it, else those before it.
func (c *conditional) back(by, v []float64, step int, average bool) []float64 {
	if len(by) == 0 {
		return nil
	}
	out := make([]float64, len(by))
	n := len(v)
	if average {
		for t := n - 1; t >= c.from; t-- {
			l := c.l[t]
			for j, b := range by {
				if k := t + step*(j+1); k < n {
					l -= float64(b * c.l[k])
				}
			}
			c.l[t] = l
		}
	}
	first := 0
	if average {
		first = c.from
	}
	for j := range by {
		if k := step * (j + 1); first+k < n {
			out[j] = -f64.Dot(c.l[first+k:], v[first:n-k])
		}
	}
	if average {
		return out
	}
	copy(c.l2, c.l)
	for j, b := range by {
		if k := step * (j + 1); k < n {
			f64.Axpy(c.l2[:n-k], -b, c.l[k:])
		}
	}
	c.l, c.l2 = c.l2, c.l
	return out
}

// weights returns the weights of the regressors that leave the least squares.
func (c *conditional) weights(a *arma) []float64 {
	if len(c.x) == 0 {
		return nil
	}
	for i, x := range c.x {
		a.filtered(&c.of, x, c.m, c.from)
		copy(c.cols[i], c.of[4])
	}
	a.filtered(&c.of, c.w, c.m, c.from)
	return solve(c.of[4], c.cols)
}

// solve returns the weights of columns with which their sum is nearest to y, by the modified Gram-Schmidt process; 0 for a column
// that those before it make up. The columns become orthogonal, and y what is left of it.
func solve(y []float64, cols [][]float64) []float64 {
	k := len(cols)
	upper, shares := make([]float64, k*k), make([]float64, k)
	for j, c := range cols {
		size := f64.Dot(c, c)
		for i, q := range cols[:j] {
			r := f64.Dot(q, c)
			upper[i*k+j] = r
			f64.Axpy(c, -r, q)
		}
		left := f64.Dot(c, c)
		if !(left > float64(1e-16*size)) || left < math.SmallestNonzeroFloat64*1e16 {
			clear(c)
			continue
		}
		norm := math.Sqrt(left)
		upper[j*k+j] = norm
		f64.Scale(c, 1/norm)
		shares[j] = f64.Dot(c, y)
		f64.Axpy(y, -shares[j], c)
	}
	out := make([]float64, k)
	for j := k - 1; j >= 0; j-- {
		if upper[j*k+j] == 0 {
			continue
		}
		v := shares[j]
		for i := j + 1; i < k; i++ {
			v -= float64(upper[j*k+i] * out[i])
		}
		out[j] = v / upper[j*k+j]
	}
	return out
}

// likelihood fits the regressors to a process, and returns what the exact filter makes of both; ok is false where the process has
// no likelihood.
func (r *regression) likelihood(a *arma) (f arimaFitted, ok bool) {
	series := append([][]float64{r.w}, r.x...)
	e, ok := a.filter(r.m, series)
	if !ok {
		return f, false
	}
	left, cols := append([]float64{}, e.Errors[0]...), e.Errors[1:]
	f.Weights = solve(left, cols)
	f.squares = f64.Dot(left, left)
	n := float64(len(left))
	f.Deviance = float64(n*(f64.Log1(float64(2*math.Pi)/n)+f64.Log1(f.squares+leastSquares)+1)) + e.LogDet
	f.ARMA = *a
	return f, !math.IsNaN(f.Deviance - f.Deviance)
}

// The end of searches: as gradients of numbers that are about twice the number of steps.
const (
	conditionalSteps = 60
	conditionalTo    = 1e-2
	exactSteps       = 100
	exactTo          = 1e-3
)

// Where the likelihood is sought: conditional squares often lead to a root near 1, and nothing leads back from there.
const mostFree = 2.3

// fit fits an order, by conditional squares and, where exactly, from there on by the likelihood.
func (r *regression) fit(o order, exactly bool) (*arimaFitted, bool) {
	n, k := float64(len(r.w)), float64(o.parameters()+len(r.x)+1)
	if n-k-1 <= 0 {
		return nil, false
	}
	z := make([]float64, o.parameters())
	if len(z) > 0 {
		if z = minimize(z, conditionalSteps, conditionalTo, newConditional(r, &o).evaluate); z == nil {
			return nil, false
		}
		inner := slices.Clone(z)
		for i, v := range z {
			inner[i] = min(max(v, -mostFree), mostFree)
		}
		moved := !slices.Equal(inner, z)
		if exactly {
			if inner = minimize(inner, exactSteps, exactTo, func(z []float64) *optim.Eval { return r.exactly(&o, z) }); inner == nil {
				return nil, false
			}
		}
		if !moved || !(r.deviance(&o, z) < r.deviance(&o, inner)) {
			z = inner
		}
	}
	a := o.process(z, nil)
	f, ok := r.likelihood(&a)
	if !ok {
		return nil, false
	}
	f.Order = o
	f.AICc = f.Deviance + 2*k + 2*k*(k+1)/(n-k-1)
	return &f, true
}

// minimize returns where a function has its least value near z; nil where it has none.
func minimize(z []float64, steps int, to float64, f func([]float64) *optim.Eval) []float64 {
	o := optim.NewLBFGS(z, optim.Stop{Tolerance: to, From: 1, MaxIter: steps}, nil)
	for {
		done, err := o.Tell(f(o.Next().Theta))
		if err != nil {
			return nil
		}
		if done {
			return o.State().Theta
		}
	}
}

// deviance returns −2 log likelihood at free numbers, infinite where there is none.
func (r *regression) deviance(o *order, z []float64) float64 {
	a := o.process(z, nil)
	f, ok := r.likelihood(&a)
	if !ok {
		return math.Inf(1)
	}
	return f.Deviance
}

// exactly returns the deviance at free numbers, and by differences its derivatives.
func (r *regression) exactly(o *order, z []float64) *optim.Eval {
	at := func(z []float64) float64 { return r.deviance(o, z) }
	out := &optim.Eval{Loss: at(z), Grad: make([]float64, len(z))}
	near := append([]float64{}, z...)
	for i := range z {
		const h = 1e-4
		near[i] = z[i] + h
		up := at(near)
		near[i] = z[i] - h
		out.Grad[i] = (up - at(near)) / (2 * h)
		near[i] = z[i]
	}
	return out
}
