package impute

import "math"

// regression fits regressions of one column on all others to sums of products.
type regression struct {
	d       int
	factors []float64 // fitted: the intercept, then by column, 0 for the column itself
	space   []float64 // d+1
	sums    []float64 // moments of the rows that have the column
	cols    []int     // the other columns
	a, v    []float64 // their spreads, which become eigenvalues, and eigenvectors by rows
	xy      []float64 // spreads with the column
	b       []float64 // factors of cols
	t       []float64 // scratch
}

func newRegression(d int) *regression {
	return &regression{d: d, factors: make([]float64, d+1), space: make([]float64, d+1), sums: make([]float64, Moments(d)), cols: make([]int, 0, d),
		a: make([]float64, d*d), v: make([]float64, d*d), xy: make([]float64, d), b: make([]float64, d), t: make([]float64, d)}
}

// fit fits the regression of column j.
func (r *regression) fit(e Estimator, patterns []Pattern, j int) {
	clear(r.sums)
	for i := range patterns {
		if p := &patterns[i]; p.has(j) {
			for k, v := range p.Moments {
				r.sums[k] += v
			}
		}
	}
	r.cols = r.cols[:0]
	for k := range r.d {
		if k != j {
			r.cols = append(r.cols, k)
		}
	}
	n, p := r.d+1, len(r.cols)
	weight := r.sums[0]
	spread := func(k, l int) float64 {
		return r.sums[(k+1)*n+l+1] - float64(r.sums[k+1]/weight*r.sums[l+1])
	}
	for i, k := range r.cols {
		r.xy[i] = spread(k, j)
		for h, l := range r.cols {
			r.a[i*p+h] = spread(k, l)
		}
		r.a[i*p+i] = max(r.a[i*p+i], 0)
	}
	yy := max(spread(j, j), 0)
	if e == LeastSquares {
		r.leastSquares(p)
	} else {
		r.bayesianRidge(p, weight, yy)
	}
	clear(r.factors)
	r.factors[0] = r.sums[j+1] / weight
	for i, k := range r.cols {
		r.factors[k+1] = r.b[i]
		r.factors[0] -= float64(r.b[i] * (r.sums[k+1] / weight))
	}
}

// leastSquares solves for b in units of the columns' deviations, the shortest solution where there are several.
func (r *regression) leastSquares(p int) {
	for i := range p {
		if r.t[i] = 0; r.a[i*p+i] > 0 {
			r.t[i] = 1 / math.Sqrt(r.a[i*p+i])
		}
	}
	for i := range p {
		r.xy[i] *= r.t[i]
		for h := range p {
			r.a[i*p+h] = float64(r.a[i*p+h] * r.t[i] * r.t[h])
		}
	}
	eigen(r.a, r.v, p)
	clear(r.b)
	for i := range p {
		value, row := r.a[i*p+i], r.v[i*p:(i+1)*p]
		if !(value > 1e-11) { // all of them are p in sum
			continue
		}
		f := dot(row, r.xy[:p]) / value
		for h := range p {
			r.b[h] += float64(f * row[h])
		}
	}
	for i := range p {
		r.b[i] *= r.t[i]
	}
}

// Constants of scikit-learn's BayesianRidge.
const (
	bayesRounds    = 300
	bayesTolerance = 1e-3
	bayesPrior     = 1e-6 // alpha_1, alpha_2, lambda_1 and lambda_2
)

// bayesianRidge is a ridge regression whose strength follows from the data (MacKay, "Bayesian Interpolation", 1992;
// Tipping, "Sparse Bayesian Learning and the Relevance Vector Machine", 2001), with the steps of scikit-learn's.
func (r *regression) bayesianRidge(p int, weight, yy float64) {
	eigen(r.a, r.v, p)
	for i := range p {
		r.t[i] = dot(r.v[i*p:(i+1)*p], r.xy[:p])
	}
	alpha, lambda := 1/(yy/weight+0x1p-52), 1.0
	solve := func() (rest float64) {
		clear(r.b)
		rest = yy
		for i := range p {
			value := max(r.a[i*p+i], 0)
			f := r.t[i] / (value + lambda/alpha)
			rest += float64(f * (float64(f*value) - float64(2*r.t[i])))
			for h, v := range r.v[i*p : (i+1)*p] {
				r.b[h] += float64(f * v)
			}
		}
		return max(rest, 0)
	}
	before := r.space[:p]
	for round := range bayesRounds {
		rest := solve()
		gamma, squares, change := 0.0, 0.0, 0.0
		for i := range p {
			value := float64(alpha * max(r.a[i*p+i], 0))
			gamma += value / (lambda + value)
			squares += float64(r.b[i] * r.b[i])
			change += math.Abs(r.b[i] - before[i])
		}
		lambda = (gamma + 2*bayesPrior) / (squares + 2*bayesPrior)
		alpha = (weight - gamma + 2*bayesPrior) / (rest + 2*bayesPrior)
		if round > 0 && change < bayesTolerance {
			break
		}
		copy(before, r.b[:p])
	}
	solve()
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += float64(v * b[i])
	}
	return sum
}

// eigen turns the symmetric p×p matrix a into one with its eigenvalues on the diagonal, and v into their vectors, by
// rows, by Jacobi's rotations, which find the small eigenvalues of columns of very different scales too (Demmel and
// Veselić, "Jacobi's method is more accurate than QR", 1992).
func eigen(a, v []float64, p int) {
	clear(v[:p*p])
	for i := range p {
		v[i*p+i] = 1
	}
	const sweeps = 60
	for range sweeps {
		rotated := false
		for i := range p {
			for j := i + 1; j < p; j++ {
				off := a[i*p+j]
				if float64(off*off) <= float64(float64(0x1p-104*math.Abs(a[i*p+i]))*math.Abs(a[j*p+j])) {
					continue
				}
				rotated = true
				rotate(a, v, p, i, j)
			}
		}
		if !rotated {
			return
		}
	}
}

// rotate makes a[i,j] zero.
func rotate(a, v []float64, p, i, j int) {
	off := a[i*p+j]
	theta := (a[j*p+j] - a[i*p+i]) / (2 * off)
	t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(float64(t*t)+1)
	s := float64(t * c)
	a[i*p+i] -= float64(t * off)
	a[j*p+j] += float64(t * off)
	a[i*p+j], a[j*p+i] = 0, 0
	for k := range p {
		if k == i || k == j {
			continue
		}
		x, y := a[i*p+k], a[j*p+k]
		x, y = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
		a[i*p+k], a[k*p+i], a[j*p+k], a[k*p+j] = x, x, y, y
	}
	for k := range p {
		x, y := v[i*p+k], v[j*p+k]
		v[i*p+k], v[j*p+k] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
}
