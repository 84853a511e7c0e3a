package family

import (
	"math"

	"github.com/tributarydb/tributary/sql/types"
)

// Inference returns the columns std_error, statistic, p_value, lower_95 and upper_95 of a weight, by
// Student's distribution of df degrees of freedom, or by the normal one where df is 0; NULLs where the
// error is not known.
func Inference(weight, stdError, df float64) []types.Datum {
	if !(stdError > 0) {
		return make([]types.Datum, 5)
	}
	t, width := weight/stdError, float64(stdError*critical(df))
	return []types.Datum{stdError, t, pValue(t, df), weight - width, weight + width}
}

// critical is the statistic whose p-value is 0.05.
func critical(df float64) float64 {
	low, high := 0.0, 1.0
	for pValue(high, df) > 0.05 && high < 1e6 {
		high *= 2
	}
	for range 100 {
		mid := 0.5 * (low + high)
		if pValue(mid, df) > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// pValue returns the two-sided p-value of a statistic: by Student's distribution, or by
// the normal one where df is 0. It is computed when shown and not stored, since package
// math need not return the same bits on every machine.
func pValue(t, df float64) float64 {
	if df == 0 {
		return math.Erfc(math.Abs(t) / math.Sqrt2)
	}
	return betaShare(df/2, 0.5, df/(df+t*t))
}

// betaShare is the regularised incomplete beta function, by its continued fraction
// (Abramowitz and Stegun 26.5.8), evaluated by Lentz's method.
func betaShare(a, b, x float64) float64 {
	if !(x > 0) {
		return 0
	}
	if x >= 1 {
		return 1
	}
	if x > (a+1)/(a+b+2) {
		return 1 - betaShare(b, a, 1-x)
	}
	ab, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	front := math.Exp(ab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny = 1e-300
	f, c, d := 1.0, 1.0, 0.0
	for k := range 1000 {
		m := float64(k / 2)
		num := 1.0
		switch {
		case k == 0:
		case k%2 == 0:
			num = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			num = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		if d = 1 + num*d; math.Abs(d) < tiny {
			d = tiny
		}
		d = 1 / d
		if c = 1 + num/c; math.Abs(c) < tiny {
			c = tiny
		}
		f *= c * d
		if math.Abs(c*d-1) < 1e-16 {
			break
		}
	}
	return front * (f - 1)
}
