package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// loss compares a net's outputs z with the target y.
type loss interface {
	// eval returns the sum over samples of weight · loss, where a sample's loss is
	// the mean over its numbers, and sets dz, where it is not nil, to that sum's
	// gradient by z.
	eval(z, y *tensor, weight []float64, dz *tensor) float64
}

// pointwise is a loss of each number alone: of a column of numbers z with targets y it
// adds the values to sum, and sets slope to the derivatives.
type pointwise func(z, y []float32, sum, slope []float64)

func (f pointwise) eval(z, y *tensor, weight []float64, dz *tensor) float64 {
	var sums, bys, slopes [microRows]float64
	sum, by, slope := sums[:z.n], bys[:z.n], slopes[:z.n]
	for i, w := range weight[:z.n] {
		by[i] = w / float64(z.size())
	}
	for at := 0; at < len(z.v); at += z.n {
		f(z.v[at:][:z.n], y.v[at:][:z.n], sum, slope)
		if dz == nil {
			continue
		}
		d := dz.v[at:][:len(slope)]
		for i, v := range slope {
			d[i] = float32(v * by[i])
		}
	}
	total := 0.0
	for i, v := range sum {
		total += float64(v * by[i])
	}
	return total
}

func squaredError(z, y []float32, sum, slope []float64) {
	y, sum, slope = y[:len(z)], sum[:len(z)], slope[:len(z)]
	for i, v := range z {
		r := float64(v) - float64(y[i])
		sum[i] += float64(r * r)
		slope[i] = 2 * r
	}
}

func absoluteError(z, y []float32, sum, slope []float64) {
	y, sum, slope = y[:len(z)], sum[:len(z)], slope[:len(z)]
	for i, v := range z {
		r := float64(v) - float64(y[i])
		sum[i] += math.Abs(r)
		if r == 0 || r != r {
			slope[i] = 0
		} else {
			slope[i] = math.Copysign(1, r) // without a branch, which would be mispredicted for half the residuals
		}
	}
}

// huber is squared below delta and linear above (Huber 1964).
func huber(delta float64) pointwise {
	return func(z, y []float32, sum, slope []float64) {
		for i, v := range z {
			r := float64(v) - float64(y[i])
			if a := math.Abs(r); a > delta {
				sum[i] += float64(delta * (a - float64(0.5*delta)))
				slope[i] = math.Copysign(delta, r)
			} else {
				sum[i] += float64(0.5 * r * r)
				slope[i] = r
			}
		}
	}
}

// softmax is the cross-entropy of the classes' probabilities e^z/Σe^z; y holds
// the number of the class. One output alone is the log-odds of the second of
// two classes.
type softmax struct{}

func (softmax) eval(z, y *tensor, weight []float64, dz *tensor) float64 {
	total := 0.0
	probs := make([]float64, z.width)
	steps := float64(z.steps)
	for at, class := range y.v {
		s, i := at/z.n, at%z.n
		w := weight[i] / steps
		if z.width == 1 {
			m, sign := float64(z.v[at]), 1.0
			if class == 0 {
				sign = -1
			}
			total += float64(w * f64.LogLoss1(m*sign))
			if dz != nil {
				dz.v[at] = float32(w * -sign * f64.Sigmoid1(-m*sign))
			}
			continue
		}
		top, sum := softmaxInto(probs, z.step(s)[i:], z.n)
		total += float64(w * (f64.Log1(sum) - (float64(z.column(s, int(class))[i]) - top)))
		if dz == nil {
			continue
		}
		for k, p := range probs {
			if k == int(class) {
				p--
			}
			dz.column(s, k)[i] = float32(w * p)
		}
	}
	return total
}

// softmaxInto sets p to the probabilities, and returns the greatest of z, whose
// numbers are this far apart, and the sum of e^(z-that).
func softmaxInto(p []float64, z []float32, apart int) (top, sum float64) {
	top = math.Inf(-1)
	for k := range p {
		top = max(top, float64(z[k*apart]))
	}
	for k := range p {
		p[k] = f64.Exp1(float64(z[k*apart]) - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return top, sum
}
