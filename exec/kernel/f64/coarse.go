package f64

import "math"

// Coarse products: of columns as bytes, some seven bits of each value. Their sums are exact, and
// eight times as many are added at once as of float64, where the processor has instructions for it;
// the values are rounded to a 126th of a column's range.
//
// Bytes are of panels of CoarseCols columns, in which four rows of a column are beside
// each other, and then those of the next column: what the instructions add up.
const (
	// CoarseCols is the columns of a panel.
	CoarseCols = 32
	// CoarseMost is the greatest size of the values that are rounded to bytes.
	CoarseMost = 63
	// CoarseMiddle is added to them.
	CoarseMiddle = 64
	// CoarsePanel is the bytes of a panel of FixedRows rows.
	CoarsePanel = FixedRows * CoarseCols
	// CoarseRows is how many rows AddCoarse may add up before a sum can overflow.
	CoarseRows = 1 << 17

	coarseTile = 8 // columns of a that are worked at once
)

// CoarsePack makes bytes of the first rows of whole tiles x with len(shift) columns, at
// most FixedRows rows: (x-shift[j])·scale[j], each step rounded, then to the nearest
// integer, and CoarseMiddle. That must be at most CoarseMost in size. After the columns
// comes one of 1; rows after the first ones are 0.
func CoarsePack[T Elem](dst []byte, x []T, shift, scale []float64, rows int) {
	d := len(shift)
	if d == 0 || len(x) < d*Lanes {
		return
	}
	tiles := len(x) / (d * Lanes)
	_, _ = scale[d-1], dst[d/CoarseCols*CoarsePanel+CoarsePanel-1]
	for j := 0; j < d; j += CoarseCols {
		n := min(CoarseCols, d-j)
		switch x := any(x).(type) {
		case []float32:
			packCoarse32(dst[j/CoarseCols*CoarsePanel:], x[j*Lanes:], shift[j:j+n], scale[j:j+n], d, tiles)
		case []float64:
			packCoarse64(dst[j/CoarseCols*CoarsePanel:], x[j*Lanes:], shift[j:j+n], scale[j:j+n], d, tiles)
		}
	}
	for i := range rows {
		dst[coarseAt(d, i)] = 1
	}
	for i := rows; i < tiles*Lanes; i++ {
		for j := range d + 1 {
			dst[coarseAt(j, i)] = 0
		}
	}
}

// coarseAt returns the place of the byte of row i of column j.
func coarseAt(j, i int) int {
	return j/CoarseCols*CoarsePanel + (i/4*CoarseCols+j%CoarseCols)*4 + i%4
}

// AddCoarse adds to m the sums of products of cols columns of bytes, at most 127, with each other
// over rows rows, a multiple of four: m[i*stride+k] of columns i ≤ k; the others are undefined.
// stride is a multiple of CoarseCols that is not below cols.
func AddCoarse(m []int32, stride int, p []byte, cols, rows int) {
	addCoarseBy(addCoarse, m, stride, p, cols, rows)
}

func addCoarseBy(add func(m []int32, stride int, a, b []byte, quads int), m []int32, stride int, p []byte, cols, rows int) {
	for k := 0; k < cols; k += CoarseCols {
		b := p[k/CoarseCols*CoarsePanel:][:rows*CoarseCols]
		for i := 0; i < min(k+CoarseCols, cols); i += coarseTile {
			at := i/CoarseCols*CoarsePanel + i%CoarseCols*4
			add(m[i*stride+k:i*stride+k+(coarseTile-1)*stride+CoarseCols], stride, p[at:at+rows*CoarseCols-i%CoarseCols*4], b, rows/4)
		}
	}
}

// AddSquares adds to r the squares of v times by: r = fma(v·by, v·by, r), v·by rounded.
func AddSquares(r, v []float64, by float64) {
	v = v[:len(r)]
	n := len(r) &^ (Lanes - 1)
	if n > 0 {
		addSquares(r[:n], v, by)
	}
	addSquaresGo(r[n:], v[n:], by)
}

func packCoarseGo[T Elem](dst []byte, x []T, shift, scale []float64, d, tiles int) {
	for t := range tiles {
		for j := range shift {
			for l, v := range x[(t*d+j)*Lanes:][:Lanes] {
				dst[coarseAt(j, t*Lanes+l)] = byte(int32(math.RoundToEven(float64((float64(v)-shift[j])*scale[j]))) + CoarseMiddle)
			}
		}
	}
}

func addCoarseGo(m []int32, stride int, a, b []byte, quads int) {
	for q := range quads {
		line := b[q*4*CoarseCols:][:4*CoarseCols]
		for i := range coarseTile {
			x := a[q*4*CoarseCols+4*i:][:4]
			x0, x1, x2, x3 := int32(x[0]), int32(x[1]), int32(x[2]), int32(x[3])
			to := m[i*stride:][:CoarseCols]
			for k := range to {
				y := line[4*k:][:4]
				to[k] += x0*int32(y[0]) + x1*int32(y[1]) + x2*int32(y[2]) + x3*int32(y[3])
			}
		}
	}
}

func addSquaresGo(r, v []float64, by float64) {
	for i := range r {
		x := float64(v[i] * by)
		r[i] = math.FMA(x, x, r[i])
	}
}
