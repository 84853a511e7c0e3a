package f64

import "math"

// The Go twins: each is the definition of its kernel.

func marginsGo[T Elem](z []float64, x []T, w []float64) {
	d := len(w)
	for t := 0; t*Lanes < len(z); t++ {
		a := (*[Lanes]float64)(z[t*Lanes:])
		xt := x[t*Lanes*d:][:Lanes*d]
		for j, wj := range w {
			c := (*[Lanes]T)(xt[j*Lanes:])
			a[0] = math.FMA(wj, float64(c[0]), a[0])
			a[1] = math.FMA(wj, float64(c[1]), a[1])
			a[2] = math.FMA(wj, float64(c[2]), a[2])
			a[3] = math.FMA(wj, float64(c[3]), a[3])
			a[4] = math.FMA(wj, float64(c[4]), a[4])
			a[5] = math.FMA(wj, float64(c[5]), a[5])
			a[6] = math.FMA(wj, float64(c[6]), a[6])
			a[7] = math.FMA(wj, float64(c[7]), a[7])
		}
	}
}

func margins4Go[T Elem](z []float64, zstride int, x []T, w []float64, tiles int) {
	d := len(w) / 4
	for k := range 4 {
		marginsGo(z[k*zstride:][:tiles*Lanes], x[:tiles*Lanes*d], w[k*d:(k+1)*d])
	}
}

func gradGo[T Elem](acc []float64, x []T, r []float64) {
	d := len(acc) / Lanes
	for t := 0; t*Lanes < len(r); t++ {
		rt := (*[Lanes]float64)(r[t*Lanes:])
		xt := x[t*Lanes*d:][:Lanes*d]
		for j := range d {
			a := (*[Lanes]float64)(acc[j*Lanes:])
			c := (*[Lanes]T)(xt[j*Lanes:])
			a[0] = math.FMA(rt[0], float64(c[0]), a[0])
			a[1] = math.FMA(rt[1], float64(c[1]), a[1])
			a[2] = math.FMA(rt[2], float64(c[2]), a[2])
			a[3] = math.FMA(rt[3], float64(c[3]), a[3])
			a[4] = math.FMA(rt[4], float64(c[4]), a[4])
			a[5] = math.FMA(rt[5], float64(c[5]), a[5])
			a[6] = math.FMA(rt[6], float64(c[6]), a[6])
			a[7] = math.FMA(rt[7], float64(c[7]), a[7])
		}
	}
}

func logisticGo(z, h, l, y, w []float64) {
	for i, zi := range z {
		t := Exp1(-math.Abs(zi))
		inv := 1 / (1 + t)
		ti := float64(t * inv)
		p, m := ti, 0.0
		if zi >= 0 {
			p = inv
		}
		if zi > 0 {
			m = zi
		}
		loss := math.FMA(-y[i], zi, m) + log1p01(t)
		z[i], h[i], l[i] = float64(w[i]*(p-y[i])), float64(w[i]*float64(ti*inv)), float64(w[i]*loss)
	}
}

func expGo(x []float64) {
	for i, v := range x {
		x[i] = Exp1(v)
	}
}

func dotGo(acc *[Lanes]float64, a, b []float64) {
	for i := 0; i < len(a); i += Lanes {
		for l := range Lanes {
			acc[l] = math.FMA(a[i+l], b[i+l], acc[l])
		}
	}
}

func axpyGo(y, u []float64, a float64) {
	u = u[:len(y)]
	for i, v := range u {
		y[i] = FMA(a, v, y[i])
	}
}

func axpy2Go(y, u, v []float64, a, b float64) {
	u, v = u[:len(y)], v[:len(y)]
	for i := range y {
		y[i] = math.FMA(a, u[i], math.FMA(b, v[i], y[i]))
	}
}
