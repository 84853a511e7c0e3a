package forecast

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// arma has the coefficients of a stationary, invertible process of errors e of variance 1:
//
//	φ(B) Φ(B^m) w = θ(B) Θ(B^m) e    φ(B) = 1 − φ₁B − …, θ(B) = 1 + θ₁B + …, Φ and Θ likewise in steps of a season
type arma struct {
	AR, SeasonalAR, MA, SeasonalMA []float64
}

// lags is a polynomial without its constant and without zeros: coefficient By[i] of B^At[i].
type lags struct {
	at []int
	by []float64
}

// most is the highest power.
func (l lags) most() int {
	if len(l.at) == 0 {
		return 0
	}
	return l.at[len(l.at)-1]
}

// times returns the product of two polynomials of constant 1, whose coefficients are sign·short[i-1] of B^i and
// sign·long[j-1] of B^(m·j), again times sign: 1 + sign·(lags).
func times(short, long []float64, m int, sign float64) lags {
	all := make([]float64, len(short)+m*len(long)+1)
	for i := -1; i < len(short); i++ {
		a := 1.0
		if i >= 0 {
			a = float64(sign * short[i])
		}
		for j := -1; j < len(long); j++ {
			b := 1.0
			if j >= 0 {
				b = float64(sign * long[j])
			}
			all[i+1+m*(j+1)] += float64(a * b)
		}
	}
	var out lags
	for k, v := range all[1:] {
		if v != 0 {
			out.at, out.by = append(out.at, k+1), append(out.by, float64(sign*v))
		}
	}
	return out
}

// ar and ma are the polynomials of the process: w = Σ ar·w before + e + Σ ma·e before.
func (a *arma) ar(m int) lags { return times(a.AR, a.SeasonalAR, m, -1) }
func (a *arma) ma(m int) lags { return times(a.MA, a.SeasonalMA, m, 1) }

// autoregression returns the coefficients of partial autocorrelations r (Durbin and Levinson), and their derivatives,
// by coefficient and r, where d is not nil.
func autoregression(r []float64, d [][]float64) []float64 {
	phi, old := make([]float64, len(r)), make([]float64, len(r))
	for k, rk := range r {
		copy(old, phi[:k])
		phi[k] = rk
		for j := range k {
			phi[j] = old[j] - float64(rk*old[k-1-j])
		}
		if d == nil {
			continue
		}
		for i := range k { // d[j][i] and d[k-1-j][i] need each other's old value
			for j, l := 0, k-1; j <= l; j, l = j+1, l-1 {
				a, b := d[j][i], d[l][i]
				d[j][i], d[l][i] = a-float64(rk*b), b-float64(rk*a)
			}
		}
		for j := range k {
			d[j][k] = -old[k-1-j]
		}
		d[k][k] = 1
	}
	return phi
}

// partials returns the partial autocorrelations of an autoregression; ok is false where it is not stationary.
func partials(phi []float64) (r []float64, ok bool) {
	r = append([]float64{}, phi...)
	old := make([]float64, len(r))
	for k := len(r) - 1; k >= 0; k-- {
		rk := r[k]
		if !(math.Abs(rk) < 1) {
			return nil, false
		}
		copy(old, r[:k])
		by := 1 / (1 - float64(rk*rk))
		for j := range k {
			r[j] = float64((old[j] + float64(rk*old[k-1-j])) * by)
		}
	}
	return r, true
}

// outside reports whether no root of 1 − sign·by₁·z − …, z = B^step, is within 1.01 of the origin.
func outside(by []float64, sign float64, step int) bool {
	scaled, k := make([]float64, len(by)), sign
	for i, v := range by {
		for range step {
			k = float64(k * 1.01)
		}
		scaled[i] = float64(v * k)
	}
	_, ok := partials(scaled)
	return ok
}

// stable reports whether the autoregression is far enough from one that grows. Hyndman and Khandakar leave other models out:
// their forecasts hang on the last digits. Those of a moving average do not, as it reaches only so far and the filter is exact.
func (a *arma) stable(m int) bool { return outside(a.AR, 1, 1) && outside(a.SeasonalAR, 1, m) }

// inner reports whether conditional squares tell what the process is worth: near a root of 1 the errors before the first step,
// which are taken to be 0, last too long.
func (a *arma) inner(m int) bool {
	return a.stable(m) && outside(a.MA, -1, 1) && outside(a.SeasonalMA, -1, m)
}

// autocovariances returns those of the process at 0 … n; ok is false where it is not stationary.
func autocovariances(ar, ma lags, n int) (gamma []float64, ok bool) {
	p, q := ar.most(), ma.most()
	phi := make([]float64, p)
	for i, k := range ar.at {
		phi[k-1] = ar.by[i]
	}
	r, ok := partials(phi)
	if !ok {
		return nil, false
	}
	// Of the autoregression alone: γ(k) = Σ φ⁽ᵏ⁾ γ(k−j), with the predictors of order k.
	u := make([]float64, n+q+1)
	left := 1.0
	for _, v := range r {
		left = float64(left * (1 - float64(v*v)))
	}
	u[0] = 1 / left
	v := u[0] // the error of the predictor of order k
	predict, old := make([]float64, p), make([]float64, p)
	for k := 1; k < len(u); k++ {
		sum := 0.0
		if k <= p {
			rk := r[k-1]
			copy(old, predict[:k-1])
			sum = float64(rk * v)
			for j := range k - 1 {
				sum += float64(old[j] * u[k-1-j])
				predict[j] = old[j] - float64(rk*old[k-2-j])
			}
			predict[k-1] = rk
			v = float64(v * (1 - float64(rk*rk)))
		} else {
			for i, at := range ar.at {
				sum += float64(ar.by[i] * u[k-at])
			}
		}
		u[k] = sum
	}
	if u[0]-u[0] != 0 {
		return nil, false
	}
	// With the moving average: sums over pairs of its coefficients.
	theta := make([]float64, q+1)
	theta[0] = 1
	for i, k := range ma.at {
		theta[k] = ma.by[i]
	}
	at := append([]int{0}, ma.at...)
	pair := make([]float64, q+1)
	for _, i := range at {
		for _, j := range at {
			if j >= i {
				pair[j-i] += float64(theta[i] * theta[j])
			}
		}
	}
	gamma = make([]float64, n+1)
	for k := range gamma {
		sum := float64(pair[0] * u[k])
		for h := 1; h <= q; h++ {
			if pair[h] != 0 {
				back := k - h
				if back < 0 {
					back = -back
				}
				sum += float64(pair[h] * (u[k+h] + u[back]))
			}
		}
		gamma[k] = sum
	}
	return gamma, true
}

// exact is what the exact filter makes of series of a process.
type exact struct {
	Errors [][]float64 // by series: what the values are beside what those before let expect, of variance 1
	Scale  []float64   // by step: the standard deviation of such an error before it was divided by it
	LogDet float64     // Σ log of their squares
	State  [][]float64 // by series: what is expected of the next steps
}

// settled is how little the gain changes when it is taken not to change any more.
const settled = 1e-18

// filter computes the errors of series one step ahead, exactly from the first step on, by the Kalman filter. Its covariance is
// not needed: of a stationary process it grows by a product of one vector with itself in each step (Morf, Sidhu and Kailath
// 1974; Mélard 1984), so that a step takes as long as the state. The state is what is expected of the next r values:
//
//	a ← Ta + Kv/F    L ← TL − K l/F    K ← K − TL l/F    F ← F − l²/F    l = L₁, from K = L = γ(1 … r), F = γ(0)
//
// T moves by one step, and the last value follows from ar. ok is false where the process is not stationary.
func (a *arma) filter(m int, series [][]float64) (out *exact, ok bool) {
	ar, ma := a.ar(m), a.ma(m)
	r := max(ar.most(), ma.most()+1)
	gamma, ok := autocovariances(ar, ma, r)
	if !ok {
		return nil, false
	}
	n := len(series[0])
	out = &exact{Scale: make([]float64, n)}
	// Vectors move by sliding within longer ones.
	slide := make([]float64, n+r+1)
	copy(slide, gamma[1:])
	gain := append([]float64{}, gamma[1:]...)
	before := make([]float64, r)
	states := make([][]float64, len(series))
	for i := range series {
		states[i] = make([]float64, n+r+1)
		out.Errors = append(out.Errors, make([]float64, n))
	}
	next := func(v []float64) { // v[r] = Tv's last
		sum := 0.0
		for i, k := range ar.at {
			sum += float64(ar.by[i] * v[r-k])
		}
		v[r] = sum
	}
	f, changing := gamma[0], true
	scale, sd := 1.0, math.Sqrt(f)
	for t := range n {
		if !(f > 0) {
			return nil, false
		}
		out.Scale[t] = sd
		if scale = float64(scale * f); scale > 1e100 || scale < 1e-100 {
			out.LogDet += f64.Log1(scale)
			scale = 1
		}
		for i, y := range series {
			s := states[i][t:]
			v := y[t] - s[0]
			out.Errors[i][t] = v / sd
			next(s[:r+1])
			f64.Axpy(s[1:r+1], v/f, gain)
		}
		if !changing {
			continue
		}
		l := slide[t : t+r+1]
		next(l)
		copy(before, gain)
		by := l[0] / f
		f64.Axpy(gain, -by, l[1:])
		f -= float64(by * l[0])
		f64.Axpy(l[1:], -by, before)
		sd = math.Sqrt(f)
		if t%8 == 7 {
			changing = f64.Dot(l[1:], l[1:]) > settled
		}
	}
	out.LogDet += f64.Log1(scale)
	for i := range series {
		out.State = append(out.State, states[i][n:n+r])
	}
	return out, !math.IsNaN(out.LogDet - out.LogDet)
}
