package f64

import (
	"math"
	"unsafe"
)

// Standardize replaces x by (x-c)·inv in the columns of whole tiles x, each step
// rounded to float64 and the result to x's type.
func Standardize[T Elem](x []T, c, inv []float64) {
	d := len(c)
	if d == 0 || len(x) < d*Lanes {
		return
	}
	tiles := len(x) / (d * Lanes)
	_ = inv[d-1]
	switch x := any(x).(type) {
	case []float32:
		standardize32(x, c, inv, tiles)
	case []float64:
		standardize64(x, c, inv, tiles)
	}
}

// ColumnBounds updates the least and greatest values low and high by whole tiles x of d columns,
// Lanes of each column, of rows 8t+l in lane l. No value may be NaN; a zero's sign is not defined.
func ColumnBounds[T Elem](low, high, x []T, d int) {
	if d == 0 || len(x) < d*Lanes {
		return
	}
	tiles := len(x) / (d * Lanes)
	_, _ = low[d*Lanes-1], high[d*Lanes-1]
	switch x := any(x).(type) {
	case []float32:
		columnBounds32(any(low).([]float32), any(high).([]float32), x, d, tiles)
	case []float64:
		columnBounds64(any(low).([]float64), any(high).([]float64), x, d, tiles)
	}
}

// Gather32 makes n columns of a tile out of eight rows, each n values long:
// dst[8j+l] = rows[l][j].
func Gather32(dst []float32, rows *[Lanes]*float32, n int) {
	if n == 0 {
		return
	}
	_ = dst[n*Lanes-1]
	gather32(dst, rows, n)
}

// Scatter32 makes eight rows of len(cols) values, a distance of stride values
// apart, out of rows [row, row+8) of columns: dst[l*stride+j] = cols[j][row+l],
// but 0 for -0, and one NaN for all.
func Scatter32(dst []float32, stride int, cols [][]float32, row int) {
	if len(cols) == 0 {
		return
	}
	_ = dst[(Lanes-1)*stride+len(cols)-1]
	for _, c := range cols {
		_ = c[row+Lanes-1]
	}
	scatter32(dst, stride, cols, row)
}

// TileScaled32 is Tile32 followed by Standardize; where a value is not finite dst is undefined.
func TileScaled32(dst []float32, cols [][]float32, row, tiles int, c, inv []float64) (finite bool) {
	if len(cols) == 0 || tiles == 0 {
		return true
	}
	_, _, _ = dst[tiles*len(cols)*Lanes-1], c[len(cols)-1], inv[len(cols)-1]
	for _, c := range cols {
		_ = c[row+tiles*Lanes-1]
	}
	return tileScaled32(dst, cols, row, tiles, c, inv)
}

// Tile32 makes tiles out of rows [row, row+8·tiles) of columns: of tile t,
// dst[8(t·len(cols)+j)+l] = cols[j][row+8t+l], but 0 for -0. It reports whether all values
// are finite.
func Tile32(dst []float32, cols [][]float32, row, tiles int) (finite bool) {
	if len(cols) == 0 || tiles == 0 {
		return true
	}
	_ = dst[tiles*len(cols)*Lanes-1]
	for _, c := range cols {
		_ = c[row+tiles*Lanes-1]
	}
	return tile32(dst, cols, row, tiles)
}

// TileColumn64 puts whole tiles of rows of a column where it is among stride columns, the tiles of which begin stride
// columns apart: dst[8·stride·t+l] = col[8t+l], but 0 for -0. It reports whether all values are finite.
func TileColumn64(dst []float64, stride int, col []float64) (finite bool) {
	tiles := len(col) / Lanes
	if tiles == 0 {
		return true
	}
	_ = dst[(tiles-1)*stride*Lanes+Lanes-1]
	return tileColumn64(dst, stride, col)
}

// Canonical32 returns v, but 0 for -0, and one NaN for all.
func Canonical32(v float32) float32 {
	if v != v {
		return math.Float32frombits(0x7fc00000)
	}
	return v + 0
}

func standardizeGo[T Elem](x []T, c, inv []float64, tiles int) {
	d := len(c)
	for t := range tiles {
		for j, cj := range c {
			for l, v := range x[(t*d+j)*Lanes:][:Lanes] {
				x[(t*d+j)*Lanes+l] = T(float64((float64(v) - cj) * inv[j]))
			}
		}
	}
}

func columnBoundsGo[T Elem](low, high, x []T, d, tiles int) {
	n := d * Lanes
	for t := range tiles {
		for i, v := range x[t*n:][:n] {
			if v < low[i] {
				low[i] = v
			}
			if v > high[i] {
				high[i] = v
			}
		}
	}
}

func gather32Go(dst []float32, rows *[Lanes]*float32, n int) {
	for l, r := range rows {
		for j, v := range unsafe.Slice(r, n) {
			dst[j*Lanes+l] = v
		}
	}
}

func scatter32Go(dst []float32, stride int, cols [][]float32, row int) {
	for j, c := range cols {
		for l, v := range c[row : row+Lanes] {
			dst[l*stride+j] = Canonical32(v)
		}
	}
}

func tileScaledGo(dst []float32, cols [][]float32, row, tiles int, c, inv []float64) (finite bool) {
	finite = tile32Go(dst, cols, row, tiles)
	standardizeGo(dst, c, inv, tiles)
	return finite
}

func tile32Go(dst []float32, cols [][]float32, row, tiles int) (finite bool) {
	finite = true
	for j, c := range cols {
		for i, v := range c[row : row+tiles*Lanes] {
			dst[(i/Lanes*len(cols)+j)*Lanes+i%Lanes] = v + 0
			finite = finite && v-v == 0
		}
	}
	return finite
}

func tileColumnGo(dst []float64, stride int, col []float64) (finite bool) {
	finite = true
	for i, v := range col[:len(col)&^(Lanes-1)] {
		dst[i/Lanes*stride*Lanes+i%Lanes] = v + 0
		finite = finite && v-v == 0
	}
	return finite
}
