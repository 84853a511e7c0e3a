package net

import "math"

// layerNorm brings the numbers of each step to mean 0 and variance 1, then
// scales and shifts each by a parameter (Ba, Kiros and Hinton 2016). Its
// parameters are the scales, then the shifts.
type layerNorm struct{ in shape }

// normEpsilon keeps a variance of 0 from being divided by.
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
	for i := range in.rows() {
		var sum, squares float64
		x := in.row(i)
		for _, v := range x {
			sum += float64(v)
		}
		mean := sum / w
		for _, v := range x {
			d := float64(v) - mean
			squares += float64(d * d)
		}
		by := 1 / math.Sqrt(squares/w+normEpsilon)
		inv.v[i] = float32(by)
		h, o := norm.row(i), out.row(i)
		for j, v := range x {
			h[j] = float32((float64(v) - mean) * by)
			o[j] = float32(h[j]*scale[j]) + shift[j]
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
	for i := range dout.rows() {
		d, h := dout.row(i), norm.row(i)
		var sum, along float64 // of the gradient of h, and of its product with h
		for j, v := range d {
			dscale[j] += float32(v * h[j])
			dshift[j] += v
			v *= scale[j]
			sum += float64(v)
			along += float64(float64(v) * float64(h[j]))
			d[j] = v
		}
		sum, along = sum/w, along/w
		for j, v := range d {
			d[j] = float32((float64(v) - sum - float64(float64(h[j])*along)) * float64(inv.v[i]))
		}
	}
	return dout
}
