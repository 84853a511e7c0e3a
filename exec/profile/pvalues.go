package profile

import "math"

// gammaQ is the upper regularised incomplete gamma function Q(a, x): the probability that a chi² with 2a degrees of
// freedom is above 2x (Press and others, Numerical Recipes, 3rd edition, 6.2).
func gammaQ(a, x float64) float64 {
	if x <= 0 {
		return 1
	}
	lg, _ := math.Lgamma(a)
	front := math.Exp(a*math.Log(x) - x - lg)
	if x < a+1 { // the series of the lower one
		term, sum := 1/a, 1/a
		for n := a + 1; math.Abs(term) > 1e-17*math.Abs(sum); n++ {
			term *= x / n
			sum += term
		}
		return 1 - front*sum
	}
	const tiny = 1e-300 // the continued fraction, by Lentz's method
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for i := 1.0; i < 1e5; i++ {
		an := -i * (i - a)
		b += 2
		if d = an*d + b; math.Abs(d) < tiny {
			d = tiny
		}
		if c = b + an/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		step := d * c
		h *= step
		if math.Abs(step-1) < 1e-16 {
			break
		}
	}
	return front * h
}

// kolmogorov is the probability that the limit of √n·D, Kolmogorov's statistic, is above x (Marsaglia, Tsang and
// Wang, "Evaluating Kolmogorov's distribution", 2003, has both series).
func kolmogorov(x float64) float64 {
	switch {
	case x <= 0:
		return 1
	case x < 1: // the other series needs many terms here
		sum := 0.0
		for k := 1.0; k < 20; k += 2 {
			sum += math.Exp(-k * k * math.Pi * math.Pi / (8 * x * x))
		}
		return 1 - math.Sqrt(2*math.Pi)/x*sum
	}
	sum, sign := 0.0, 1.0
	for k := 1.0; k < 20; k++ {
		sum += sign * math.Exp(-2*k*k*x*x)
		sign = -sign
	}
	return 2 * sum
}
