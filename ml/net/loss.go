package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// loss compares a net's outputs z with the target y.
type loss interface {
	// eval gives the sum over samples of weight · loss, where a sample's loss is
	// the mean over its numbers, and sets dz, where it is not nil, to that sum's
	// gradient by z.
	eval(z, y *tensor, weight []float64, dz *tensor) float64
}

// pointwise is a loss of each number alone: by its residual, the value and the
// derivative.
type pointwise func(r float64) (value, slope float64)

func (f pointwise) eval(z, y *tensor, weight []float64, dz *tensor) float64 {
	size := z.size()
	total := 0.0
	for i, w := range weight[:z.n] {
		sum, by := 0.0, w/float64(size)
		for j := i * size; j < (i+1)*size; j++ {
			v, d := f(float64(z.v[j]) - float64(y.v[j]))
			sum += v
			if dz != nil {
				dz.v[j] = float32(d * by)
			}
		}
		total += float64(sum * by)
	}
	return total
}

func squaredError(r float64) (float64, float64) { return float64(r * r), 2 * r }

func absoluteError(r float64) (float64, float64) {
	if r == 0 || r != r {
		return r, 0
	}
	return math.Abs(r), math.Copysign(1, r) // without a branch that half the residuals take
}

// huber is squared below delta and linear above (Huber 1964).
func huber(delta float64) pointwise {
	return func(r float64) (float64, float64) {
		if a := math.Abs(r); a > delta {
			return float64(delta * (a - float64(0.5*delta))), math.Copysign(delta, r)
		}
		return float64(0.5 * r * r), r
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
	for i := range z.rows() {
		w := weight[i/z.steps] / steps
		row := z.row(i)
		if z.width == 1 {
			m, sign := float64(row[0]), 1.0
			if y.v[i] == 0 {
				sign = -1
			}
			total += float64(w * f64.LogLoss1(m*sign))
			if dz != nil {
				dz.row(i)[0] = float32(w * -sign * f64.Sigmoid1(-m*sign))
			}
			continue
		}
		class := int(y.v[i])
		top, sum := softmaxInto(probs, row)
		total += float64(w * (f64.Log1(sum) - (float64(row[class]) - top)))
		if dz == nil {
			continue
		}
		d := dz.row(i)
		for k, p := range probs {
			if k == class {
				p--
			}
			d[k] = float32(w * p)
		}
	}
	return total
}

// softmaxInto sets p to the probabilities, and gives the greatest of z and the
// sum of e^(z-that).
func softmaxInto(p []float64, z []float32) (top, sum float64) {
	top = math.Inf(-1)
	for _, v := range z {
		top = max(top, float64(v))
	}
	for k, v := range z {
		p[k] = f64.Exp1(float64(v) - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return top, sum
}
