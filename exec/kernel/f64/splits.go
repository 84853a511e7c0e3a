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
	Plain bool // squares are not needed: their sums are 0

	low32, up32  []float32
	small        []uint32
	sums         []float64 // by column
	least32      []float32
	low, up      []float64 // by lane
	least        []float64
	exps         []int // that grids are of
	grids, parts []float64
	lo, hi, out  []float64 // results of the last call
	ok           []bool
}

// SplitRows is the most rows that Splits adds at once.
const SplitRows = 256

// splitRange bounds the ratio of the greatest size to the least above 0, as a power of two.
const splitRange = 18

// plainRange is that where squares are not needed. Of values below 2^e the parts are multiples of
// 2^(e-44), so that the rest of each is at most 2^(e-45) and of all 2^(e-37), 53 bits above the
// last place of a value of 2^(e-38).
const plainRange = 38

// ColumnSplits returns, for each of d columns of whole tiles x, at most SplitRows rows, the least
// and greatest value, and whether the sums are exact in parts: if ok[j], sum and square of column j
// are the sums of sums[6j], sums[6j+1] and of the four that follow. A column with an infinity or a
// NaN is not ok. The slices are s's and valid until its next call.
func ColumnSplits[T Elem](s *Splits, x []T, d int) (low, high, sums []float64, ok []bool) {
	n := d * Lanes
	if len(x) == 0 {
		return nil, nil, nil, nil
	}
	tiles := len(x) / n
	s.room(d)
	if x32, ok := any(x).([]float32); ok && s.Plain {
		s.ends(x32, d, tiles)
	} else {
		splits(s, x, d, tiles)
	}
	return s.lo, s.hi, s.out, s.ok
}

// Tile32 is Tile32 of whole columns into memory that is not read soon (non-temporal stores), and
// returns the results of ColumnSplits for these tiles without squares (Plain).
func (s *Splits) Tile32(dst []float32, cols [][]float32, row, tiles int) (low, high, sums []float64, ok []bool, finite bool) {
	d := len(cols)
	_ = dst[tiles*d*Lanes-1]
	for _, c := range cols {
		_ = c[row+tiles*Lanes-1]
	}
	s.room(d)
	s.roomEnds(d)
	tileEnds32(s, dst, cols, row, tiles)
	s.foldEnds(d)
	finite = true
	for _, v := range s.sums {
		finite = finite && v-v == 0 // no float64 is too small for a sum of few float32s
	}
	return s.lo, s.hi, s.out, s.ok, finite
}

// room makes the slices large enough for the results of d columns.
func (s *Splits) room(d int) {
	if s.lo == nil {
		s.lo, s.hi, s.out, s.ok = make([]float64, d), make([]float64, d), make([]float64, 6*d), make([]bool, d)
	}
}

func (s *Splits) roomEnds(d int) {
	if s.low32 == nil {
		s.low32, s.up32, s.small, s.sums = make([]float32, d), make([]float32, d), make([]uint32, d), make([]float64, d)
	}
}

// ends is ColumnSplits of the values of float32s alone, of which few differ in size by
// so much that a float64 has no bits for their sum.
func (s *Splits) ends(x []float32, d, tiles int) {
	s.roomEnds(d)
	columnEnds32(s.low32, s.up32, s.small, s.sums, x, d, tiles)
	s.foldEnds(d)
}

func (s *Splits) foldEnds(d int) {
	for j := range d {
		lo, hi, sum := float64(s.low32[j]), float64(s.up32[j]), s.sums[j]
		s.lo[j], s.hi[j], s.out[6*j], s.out[6*j+1] = lo, hi, sum, 0
		least := math.Float32frombits((s.small[j] + 1) / 2)
		top := max(math.Abs(lo), math.Abs(hi))
		// Values are multiples of the least one's last place, 2^24 below it, and 2^8 of them
		// are less than 2^8 times the greatest.
		s.ok[j] = sum-sum == 0 && top-top == 0 && (top == 0 || exponent(top)-exponent(float64(least)) <= 53-24-8)
	}
}

// exponent returns the least e for which 2 to the e is above a positive v.
func exponent(v float64) int {
	if e := int(math.Float64bits(v) >> 52); e > 0 {
		return e - 1022
	}
	_, e := math.Frexp(v)
	return e
}

// splits is ColumnSplits for all other values.
func splits[T Elem](s *Splits, x []T, d, tiles int) {
	n := d * Lanes
	if s.grids == nil {
		s.grids, s.parts = make([]float64, 3*d), make([]float64, 6*n)
		s.low, s.up, s.least = make([]float64, n), make([]float64, n), make([]float64, n)
		s.low32, s.up32, s.least32 = make([]float32, n), make([]float32, n), make([]float32, n)
		s.exps = make([]int, d)
		for i := range s.exps {
			s.exps[i] = math.MaxInt
		}
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
	most := splitRange
	if s.Plain {
		most = plainRange
	}
	for j := range d {
		lo, hi, least := inf, -inf, inf
		for l := j * Lanes; l < (j+1)*Lanes; l++ {
			lo, hi, least = min(lo, s.low[l]), max(hi, s.up[l]), min(least, s.least[l])
		}
		s.lo[j], s.hi[j] = lo, hi
		top := max(math.Abs(lo), math.Abs(hi))
		e, el := exponent(top), exponent(least)
		// Values and squares are below 2^e and 2^2e, and above what the range
		// leaves; e is in the middle of what a square can be.
		if s.ok[j] = top-top == 0 && (top == 0 || e-el < most && e < 500 && el > -450); !s.ok[j] || top == 0 {
			e = 0
		}
		if s.exps[j] != e {
			s.exps[j] = e
			g := s.grids[3*j : 3*j+3]
			g[0], g[1], g[2] = math.Ldexp(1.5, e-44+52), math.Ldexp(1.5, 2*e-44+52), math.Ldexp(1.5, 2*e-97+52)
		}
	}
	parts := 6
	if s.Plain {
		parts = 2
	}
	switch x := any(x).(type) {
	case []float32:
		columnSplits32(s.parts, x, s.grids, d, tiles)
	case []float64:
		if s.Plain {
			columnSums64(s.parts, x, s.grids, d, tiles)
		} else {
			columnSplits64(s.parts, x, s.grids, d, tiles)
		}
	}
	for j := range d {
		for i := 6 * j; i < 6*j+parts; i++ {
			s.out[i] = fold((*[Lanes]float64)(s.parts[i*Lanes:]))
			if s.out[i]-s.out[i] != 0 {
				s.ok[j] = false
			}
		}
	}
}

// columnEndsGo is of few values: sums that float64s have no bits for may be others.
func columnEndsGo(low, high []float32, least []uint32, sums []float64, x []float32, d, tiles int) {
	for j := range d {
		lo, hi, small, sum := float32(math.Inf(1)), float32(math.Inf(-1)), uint32(math.MaxUint32), 0.0
		for t := range tiles {
			for _, v := range x[(t*d+j)*Lanes:][:Lanes] {
				if v < lo {
					lo = v
				}
				if v > hi {
					hi = v
				}
				small = min(small, 2*math.Float32bits(v)-1)
				sum += float64(v)
			}
		}
		low[j], high[j], least[j], sums[j] = lo, hi, small, sum
	}
}

// tileEndsGo is Splits.Tile32 one after the other.
func tileEndsGo(s *Splits, dst []float32, cols [][]float32, row, tiles int) {
	tile32(dst, cols, row, tiles)
	columnEnds32(s.low32, s.up32, s.small, s.sums, dst, len(cols), tiles)
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
