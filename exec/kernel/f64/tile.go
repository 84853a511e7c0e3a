package f64

// Lanes is the number of rows of a tile and of accumulators of a sum.
const Lanes = 8

// Elem are the types in which feature values are kept.
type Elem interface{ ~float32 | ~float64 }

// fold adds up lanes in the one order that is used everywhere:
// ((0+4)+(2+6)) + ((1+5)+(3+7)).
func fold(a *[Lanes]float64) float64 {
	return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
}

// Tiles returns the number of tiles that hold n rows.
func Tiles(n int) int { return (n + Lanes - 1) / Lanes }

// Margins adds X·w to z: for each row, z = fma(w[j], x[j], z) over ascending j.
// len(z) is a multiple of Lanes, len(x) = len(z)*len(w).
func Margins[T Elem](z []float64, x []T, w []float64) {
	if len(z) == 0 || len(w) == 0 {
		return
	}
	_ = x[len(z)*len(w)-1]
	switch x := any(x).(type) {
	case []float32:
		margins32(z, x, w)
	case []float64:
		margins64(z, x, w)
	}
}

// MarginsOf adds to z[k*stride:], n rows each, X times the weights w[k*d:], as Margins does
// for each k. n is a multiple of Lanes, at most stride.
func MarginsOf[T Elem](z []float64, stride, n int, x []T, w []float64, d int) {
	if n == 0 || len(w) == 0 {
		return
	}
	of := len(w) / d
	_, _ = x[n*d-1], z[:(of-1)*stride+n]
	k := 0
	for ; k+4 <= of; k += 4 {
		switch x := any(x).(type) {
		case []float32:
			margins4x32(z[k*stride:], stride, x, w[k*d:(k+4)*d], n/Lanes)
		case []float64:
			margins4x64(z[k*stride:], stride, x, w[k*d:(k+4)*d], n/Lanes)
		}
	}
	for ; k+2 <= of; k += 2 {
		switch x := any(x).(type) {
		case []float32:
			margins2x32(z[k*stride:], stride, x, w[k*d:(k+2)*d], n/Lanes)
		case []float64:
			margins2x64(z[k*stride:], stride, x, w[k*d:(k+2)*d], n/Lanes)
		}
	}
	for ; k < of; k++ {
		Margins(z[k*stride:][:n], x[:n*d], w[k*d:(k+1)*d])
	}
}

// marginsTwice is two vectors of MarginsOf, one after the other.
func marginsTwice[T Elem](z []float64, zstride int, x []T, w []float64, tiles int) {
	n, d := tiles*Lanes, len(w)/2
	Margins(z[:n], x[:n*d], w[:d])
	Margins(z[zstride:][:n], x[:n*d], w[d:])
}

// AddGrad adds Xᵀ·r to the lane sums acc, which hold Lanes values for each of
// the d columns: acc[j][l] = fma(r[8t+l], x[8t+l][j], acc[j][l]) over
// ascending t. len(acc) = d*Lanes, len(x) = len(r)*d.
func AddGrad[T Elem](acc []float64, x []T, r []float64) {
	if len(acc) == 0 || len(r) == 0 {
		return
	}
	_ = x[len(r)*(len(acc)/Lanes)-1]
	switch x := any(x).(type) {
	case []float32:
		grad32(acc, x, r)
	case []float64:
		grad64(acc, x, r)
	}
}

// Logistic is the pointwise pass of binary cross-entropy with y in {0, 1}: it
// replaces the margins z by the weighted residuals w·(p-y), and writes the
// weighted curvatures w·p·(1-p) to h and the weighted losses to l. All slices
// have the same length, a multiple of Lanes.
func Logistic(z, h, l, y, w []float64) {
	if len(z) == 0 {
		return
	}
	_, _, _, _ = h[len(z)-1], l[len(z)-1], y[len(z)-1], w[len(z)-1]
	logistic(z, h, l, y, w)
}

// Exp replaces each x by e^x as Exp1 does. len(x) is a multiple of Lanes.
func Exp(x []float64) {
	if len(x) > 0 {
		expAll(x)
	}
}

// Dot returns the sum of products in Lanes lanes, folded; the elements after the last full eight go
// to lanes 0, 1, ….
func Dot(a, b []float64) float64 {
	var acc [Lanes]float64
	n := len(a) &^ (Lanes - 1)
	b = b[:len(a)]
	if n > 0 {
		dotLanes(&acc, a[:n], b[:n])
	}
	for i := n; i < len(a); i++ {
		acc[i-n] = FMA(a[i], b[i], acc[i-n])
	}
	return fold(&acc)
}

// Axpy adds alpha*x to y.
func Axpy(y []float64, alpha float64, x []float64) { axpy(y, x[:len(y)], alpha) }

// Axpy2 adds alpha*u and beta*v to y: fma(alpha, u, fma(beta, v, y)).
func Axpy2(y []float64, alpha float64, u []float64, beta float64, v []float64) {
	axpy2(y, u[:len(y)], v[:len(y)], alpha, beta)
}

// Scale multiplies x by alpha.
func Scale(x []float64, alpha float64) {
	for i := range x {
		x[i] = float64(x[i] * alpha)
	}
}

// Add adds x to y.
func Add(y, x []float64) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += v
	}
}
