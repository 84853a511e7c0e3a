package net

import "math"

// layerNorm brings the numbers of each step to mean 0 and variance 1, then
// scales and shifts each by a parameter (Ba, Kiros and Hinton 2016). Its
// parameters are the scales, then the shifts.
type layerNorm struct{ in shape }

// normEpsilon is added to the variance, which may be 0, before dividing by its root.
const normEpsilon = 1e-5

func (l *layerNorm) params() int { return 2 * l.in.width }

func (l *layerNorm) weights() int { return 0 }

func (l *layerNorm) out() shape { return l.in }

func (l *layerNorm) scratch(n int) int { return n*2*l.in.size() + n*l.in.steps }

func (l *layerNorm) init(p []float32, _ *rng) {
	for i := range l.in.width {
		p[i], p[l.in.width+i] = 1, 0
	}
}

func (l *layerNorm) forward(p []float32, in *tensor, t *tape) *tensor {
	out, norm, inv := t.tensor(in.n, l.in), t.tensor(in.n, l.in), t.tensor(in.n, shape{l.in.steps, 1})
	scale, shift := p[:l.in.width], p[l.in.width:]
	w := float64(l.in.width)
	var mean, by [microRows]float64
	for s := range l.in.steps {
		mean, by := mean[:in.n], by[:in.n]
		clear(mean)
		clear(by)
		for j := range l.in.width {
			for i, v := range in.column(s, j) {
				mean[i] += float64(v)
			}
		}
		for i := range mean {
			mean[i] /= w
		}
		for j := range l.in.width {
			for i, v := range in.column(s, j) {
				d := float64(v) - mean[i]
				by[i] += float64(d * d)
			}
		}
		inverse := inv.column(s, 0)
		for i, v := range by {
			by[i] = 1 / math.Sqrt(v/w+normEpsilon)
			inverse[i] = float32(by[i])
		}
		for j := range l.in.width {
			h, o := norm.column(s, j), out.column(s, j)
			for i, v := range in.column(s, j) {
				h[i] = float32((float64(v) - mean[i]) * by[i])
				o[i] = float32(h[i]*scale[j]) + shift[j]
			}
		}
	}
	t.push(norm)
	t.push(inv)
	return out
}

func (l *layerNorm) backward(p, g []float32, dout *tensor, t *tape) *tensor {
	inv, norm := t.pop(), t.pop()
	scale, dscale, dshift := p[:l.in.width], g[:l.in.width], g[l.in.width:]
	w := float64(l.in.width)
	var sum, along [microRows]float64 // of the gradient of h, and of its product with h
	for s := range l.in.steps {
		sum, along, inverse := sum[:dout.n], along[:dout.n], inv.column(s, 0)
		clear(sum)
		clear(along)
		for j := range l.in.width {
			d, h := dout.column(s, j), norm.column(s, j)
			for i, v := range d {
				dscale[j] += float32(v * h[i])
				dshift[j] += v
				v *= scale[j]
				sum[i] += float64(v)
				along[i] += float64(float64(v) * float64(h[i]))
				d[i] = v
			}
		}
		for i := range sum {
			sum[i], along[i] = sum[i]/w, along[i]/w
		}
		for j := range l.in.width {
			d, h := dout.column(s, j), norm.column(s, j)
			for i, v := range d {
				d[i] = float32((float64(v) - sum[i] - float64(float64(h[i])*along[i])) * float64(inverse[i]))
			}
		}
	}
	return dout
}
