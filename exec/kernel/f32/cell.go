package f32

// CellForward computes a step of the cells of an LSTM. z has the pre-activations of the four gates,
// all input gates first, then the forget gates, the output gates and the candidates, and is
// replaced by the gates; was is c of the step before. c, its tanh th and h are set, and out is a
// copy of h, for the next layer: it may be h itself.
func CellForward(z, was, c, th, h, out []float32) {
	n := len(c)
	if n == 0 {
		return
	}
	cellForward(z[:4*n], was[:n], c[:n], th[:n], h[:n], out[:n])
}

// CellBackward replaces the gates that CellForward made by the gradients of their pre-activations,
// and dc, the gradient of c from later steps, by that of was. dh is the gradient of h.
func CellBackward(z, was, th, dh, dc []float32) {
	n := len(dc)
	if n == 0 {
		return
	}
	cellBackward(z[:4*n], was[:n], th[:n], dh[:n], dc)
}

func cellForwardGo(z, was, c, th, h, out []float32) {
	n := len(c)
	i, f, o, g := z[:n], z[n:2*n], z[2*n:3*n], z[3*n:]
	for j := range c {
		i[j], f[j], o[j], g[j] = sigmoid1(i[j]), sigmoid1(f[j]), sigmoid1(o[j]), tanh1(g[j])
		c[j] = float32(f[j]*was[j]) + float32(i[j]*g[j])
		th[j] = tanh1(c[j])
		h[j] = o[j] * th[j]
		out[j] = h[j]
	}
}

func cellBackwardGo(z, was, th, dh, dc []float32) {
	n := len(dc)
	ig, fg, og, gg := z[:n], z[n:2*n], z[2*n:3*n], z[3*n:]
	for j := range dc {
		i, f, o, g := ig[j], fg[j], og[j], gg[j]
		d := dc[j] + float32(float32(dh[j]*o)*(1-float32(th[j]*th[j])))
		og[j] = float32(dh[j]*th[j]) * float32(o*(1-o))
		ig[j] = float32(d*g) * float32(i*(1-i))
		gg[j] = float32(d*i) * (1 - float32(g*g))
		dc[j] = d * f
		fg[j] = float32(d*was[j]) * float32(f*(1-f))
	}
}
