package f64

import "math"

// Constants of the polynomials. exp: Cody-Waite reduction by ln 2 and the
// Taylor series to r^13, whose rest is below 4e-18 for |r| ≤ ln2/2. log1p: the
// series of 2·atanh(s), s = a/(2+a), to s^19, whose rest is below 3e-17 for
// |s| ≤ 0.1716.
const (
	log2e   = 1.4426950408889634
	ln2Hi   = 6.93147180369123816490e-01
	ln2Lo   = 1.90821492927058770002e-10
	ln2     = 0.6931471805599453
	magic   = 0x1.8p52 // adding it leaves the rounded integer in the low bits
	expMin  = -708.0   // below: 0
	expMax  = 709.782712893384
	sqrt2m1 = 0.41421356237309503
)

// expC are 1/k! for k = 13 down to 2.
var expC = [12]float64{
	1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
	1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5,
}

// logC are 1/k for k = 19, 17 … 3.
var logC = [9]float64{1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3}

// FMA returns x*y+z rounded once, the step of every sum of products here.
func FMA(x, y, z float64) float64 { return math.FMA(x, y, z) }

// Exp1 returns e to the x: 0 below -708, +Inf above 709.78.
func Exp1(x float64) float64 {
	if !(x >= expMin) { // also NaN
		if x != x {
			return x
		}
		return 0
	}
	if x > expMax {
		return math.Inf(1)
	}
	t := math.FMA(x, log2e, magic)
	n := t - magic
	r := math.FMA(n, -ln2Hi, x)
	r = math.FMA(n, -ln2Lo, r)
	p := expC[0]
	for _, c := range expC[1:] {
		p = math.FMA(p, r, c)
	}
	p = math.FMA(p, r, 1)
	p = math.FMA(p, r, 1)
	return math.Float64frombits(math.Float64bits(p) + math.Float64bits(t)<<52)
}

// log1p01 returns log(1+t) for t in [0, 1].
func log1p01(t float64) float64 {
	a, base := t, 0.0
	if t > sqrt2m1 {
		a, base = float64(0.5*(t-1)), ln2
	}
	return base + atanh2(a)
}

// atanh2 returns log(1+a) for a in [√½-1, √2-1].
func atanh2(a float64) float64 {
	s := a / (2 + a)
	s2 := float64(s * s)
	q := logC[0]
	for _, c := range logC[1:] {
		q = math.FMA(q, s2, c)
	}
	ss := s + s
	return math.FMA(ss, float64(s2*q), ss)
}

// Log1 returns the natural logarithm of x.
func Log1(x float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	m, e := math.Frexp(x) // exact
	if m < math.Sqrt2/2 {
		m, e = float64(2*m), e-1
	}
	n := float64(e)
	return math.FMA(n, ln2Hi, math.FMA(n, ln2Lo, atanh2(m-1)))
}

// Sigmoid1 returns 1/(1+e^-z), without overflow.
func Sigmoid1(z float64) float64 {
	t := Exp1(-math.Abs(z))
	inv := 1 / (1 + t)
	if z >= 0 {
		return inv
	}
	return float64(t * inv)
}

// LogLoss1 returns log(1+e^-m), without overflow: the logistic loss of margin m.
func LogLoss1(m float64) float64 {
	l := log1p01(Exp1(-math.Abs(m)))
	if m < 0 {
		return l - m
	}
	return l
}
