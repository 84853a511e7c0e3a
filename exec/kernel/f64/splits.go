package f64

import "math"

// Splits adds up values and their squares exactly, for columns whose values do not
// differ in size by more than float64s have bits for.
//
// A part of a value that a grid makes, (x + g) - g for a constant g, is a multiple
// of the grid, and so is what is left of a smaller one: sums of few such parts are
// not rounded. That is so in whatever order they are added, and however rows are
// cut: the parts may differ, their sum does not.
type Splits struct {
	Plain bool // squares are not wanted: their sums are 0

	least32     []float32
	low32, up32 []float32
	low, up     []float64 // by lane
	least       []float64
	grids, sums []float64
	lo, hi, out []float64 // what the last call gave
	ok          []bool
}

// SplitRows is the most rows that Splits adds at once.
const SplitRows = 256

// splitRange is how many times the least size above 0 the greatest may be, as a
// power of two.
const splitRange = 18

// ColumnSplits gives, for each of d columns of whole tiles x, at most SplitRows
// rows, the least and greatest value, and whether parts tell the sums: if ok[j],
// sum and square of column j are the sums of sums[6j], sums[6j+1] and of the four
// that follow. A column with an infinity or a NaN is not ok. The slices are s's,
// until it is used again.
func ColumnSplits[T Elem](s *Splits, x []T, d int) (low, high, sums []float64, ok []bool) {
	n := d * Lanes
	if len(x) == 0 {
		return nil, nil, nil, nil
	}
	tiles := len(x) / n
	if s.grids == nil {
		s.grids, s.sums = make([]float64, 3*d), make([]float64, 6*n)
		s.low, s.up, s.least = make([]float64, n), make([]float64, n), make([]float64, n)
		s.lo, s.hi, s.out, s.ok = make([]float64, d), make([]float64, d), make([]float64, 6*d), make([]bool, d)
		s.low32, s.up32, s.least32 = make([]float32, n), make([]float32, n), make([]float32, n)
	}
	inf := math.Inf(1)
	switch x := any(x).(type) {
	case []float32:
		for i := range s.low32 {
			s.low32[i], s.up32[i], s.least32[i] = float32(inf), float32(-inf), float32(inf)
		}
		columnBounds32(s.low32, s.up32, x, d, tiles)
		columnLeast32(s.least32, x, d, tiles)
		for i, v := range s.low32 {
			s.low[i], s.up[i], s.least[i] = float64(v), float64(s.up32[i]), float64(s.least32[i])
		}
	case []float64:
		for i := range s.low {
			s.low[i], s.up[i], s.least[i] = inf, -inf, inf
		}
		columnBounds64(s.low, s.up, x, d, tiles)
		columnLeast64(s.least, x, d, tiles)
	}
	low, high, sums, ok = s.lo, s.hi, s.out, s.ok
	for j := range d {
		lo, hi, least := inf, -inf, inf
		for l := j * Lanes; l < (j+1)*Lanes; l++ {
			lo, hi, least = min(lo, s.low[l]), max(hi, s.up[l]), min(least, s.least[l])
		}
		low[j], high[j] = lo, hi
		top := max(math.Abs(lo), math.Abs(hi))
		_, e := math.Frexp(top)
		_, el := math.Frexp(least)
		g := s.grids[3*j : 3*j+3]
		// Values and squares are below 2^e and 2^2e, and above what the range
		// leaves; e is in the middle of what a square can be.
		if ok[j] = top-top == 0 && (top == 0 || e-el < splitRange && e < 500 && el > -450); !ok[j] || top == 0 {
			g[0], g[1], g[2] = 1, 1, 1
			continue
		}
		g[0], g[1], g[2] = math.Ldexp(1.5, e-44+52), math.Ldexp(1.5, 2*e-44+52), math.Ldexp(1.5, 2*e-97+52)
	}
	switch x := any(x).(type) {
	case []float32:
		if s.Plain {
			columnSums32(s.sums, x, s.grids, d, tiles)
		} else {
			columnSplits32(s.sums, x, s.grids, d, tiles)
		}
	case []float64:
		if s.Plain {
			columnSums64(s.sums, x, s.grids, d, tiles)
		} else {
			columnSplits64(s.sums, x, s.grids, d, tiles)
		}
	}
	for i := range sums {
		sums[i] = Fold((*[Lanes]float64)(s.sums[i*Lanes:]))
		if sums[i]-sums[i] != 0 {
			ok[i/6] = false
		}
	}
	return low, high, sums, ok
}

func columnLeastGo[T Elem](least, x []T, d, tiles int) {
	n := d * Lanes
	for i, v := range x[:tiles*n] {
		if v < 0 {
			v = -v
		}
		if v > 0 && v < least[i%n] {
			least[i%n] = v
		}
	}
}

func columnSplitsGo[T Elem](sums []float64, x []T, grids []float64, d, tiles int) {
	columnPartsGo(sums, x, grids, d, tiles, 3)
}

func columnSumsGo[T Elem](sums []float64, x []T, grids []float64, d, tiles int) {
	columnPartsGo(sums, x, grids, d, tiles, 1)
}

// columnPartsGo adds up the values, and of three parts their squares.
func columnPartsGo[T Elem](sums []float64, x []T, grids []float64, d, tiles, parts int) {
	clear(sums[:6*d*Lanes])
	for t := range tiles {
		for j := range d {
			for l, xv := range x[(t*d+j)*Lanes:][:Lanes] {
				v := float64(xv)
				q := float64(v * v)
				for i, part := range []float64{v, q, math.FMA(v, v, -q)}[:parts] {
					g := grids[3*j+i]
					h := (part + g) - g
					sums[(6*j+2*i)*Lanes+l] += h
					sums[(6*j+2*i+1)*Lanes+l] += part - h
				}
			}
		}
	}
}
