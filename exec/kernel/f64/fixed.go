package f64

import "math"

// Sums of products that do not depend on their order.
//
// An accumulator that starts in the middle of a binade and stays in it holds a
// multiple of the binade's last place, so that adding a product with an FMA adds
// the product rounded to that grid, whatever was added before. Only a product
// half-way between two multiples would be rounded by what it is added to. There
// is none: factors are made odd multiples of 2^-52 (or are 0, or ½), and so a
// product is an odd multiple of something far below half the grid. It is the
// pre-rounding of Demmel and Nguyen ("Parallel reproducible summation", 2015) at
// the price of the product itself.
//
// Factors are at most ½, FixedRows rows are summed in four lanes, of at most 16
// in size, around FixedStart; sums are then integers, multiples of FixedUnit.
const (
	// FixedRows is the most rows that are summed before sums become integers.
	FixedRows = 256
	// FixedStride is the distance of columns in a pack. A power of two would
	// bring all columns to the same lines of a cache.
	FixedStride = FixedRows + Lanes
	// FixedUnit is the unit of the sums.
	FixedUnit = 0x1p-46
	// FixedChunks is how many times AddFixed may add to a sum before it can
	// overflow.
	FixedChunks = 1 << 10

	fixedStart = 96
	fetched    = 64 // bytes of a line of memory
)

// FixedPack makes factors of whole tiles x with len(shift) columns, at most
// FixedRows rows: column j of dst, from dst[j*FixedStride], is Fix of
// (x-shift[j])·scale[j], each step rounded; scale is of powers of two. The results must be at
// most ½ in size.
func FixedPack[T Elem](dst []float64, x []T, shift, scale []float64) {
	d := len(shift)
	if d == 0 || len(x) < d*Lanes {
		return
	}
	tiles := len(x) / (d * Lanes)
	_, _ = scale[d-1], dst[(d-1)*FixedStride+tiles*Lanes-1]
	switch x := any(x).(type) {
	case []float32:
		packFixed32(dst, x, shift, scale, tiles)
	case []float64:
		packFixed64(dst, x, shift, scale, tiles)
	}
}

// Fix makes a factor of v, which is at most ½ in size.
func Fix(v float64) float64 {
	return math.Float64frombits(math.Float64bits(float64(v)+1.5)|1) - 1.5
}

// AddFixed adds to m the sums of products of na columns of a with nb columns of b over rows rows,
// in units of FixedUnit: m[i*stride+k] for column i of a and k of b. With upper only those with k ≥
// i are computed; the others are undefined. Columns lie FixedStride apart; there is room for a
// multiple of 3 of a and of 4 of b, or of 12 of both, rows are a multiple of 4 and at most
// FixedRows. next, which is read after that, is prefetched meanwhile.
func AddFixed(m []int64, stride int, a, b []float64, na, nb, rows int, upper bool, next []byte) {
	if na == 0 || nb == 0 || rows == 0 {
		return
	}
	if upper && nb <= fewFixed && triangles && rows%Lanes == 0 {
		if n := (nb + 5) / 6 * 6; n <= stride && n*stride <= len(m) && n*FixedStride <= min(len(a), len(b)) {
			addFixedUpper(m, stride, a, b, nb, rows, next)
			return
		}
	}
	na, nb = (na+2)/3*3, (nb+3)/4*4
	_, _, _ = m[(na-1)*stride+nb-1], a[(na-1)*FixedStride+rows-1], b[(nb-1)*FixedStride+rows-1]
	calls := (na + 2) / 3 * ((nb + 7) / 8)
	if upper {
		calls = (calls + 1) / 2
	}
	ahead := newAhead(next, calls)
	for k := 0; k < nb; k += 8 { // these stay in the nearest cache
		groups := min(2, (nb-k)/4)
		for i := 0; i < na && (!upper || i < k+4*groups); i += 3 {
			ahead.ask()
			if upper && groups == 2 && i >= k+4 { // the first four are below the diagonal
				addFixed(m[i*stride+k+4:], stride, a[i*FixedStride:], b[(k+4)*FixedStride:], rows, 1)
				continue
			}
			addFixed(m[i*stride+k:], stride, a[i*FixedStride:], b[k*FixedStride:], rows, groups)
		}
	}
}

// fewFixed is up to how many columns it pays to skip the half of products that is not needed.
const fewFixed = 96

// addFixedUpper is AddFixed of the upper half of n columns and no more, six columns of b
// after six, of which the last four or fewer take kernels for four.
func addFixedUpper(m []int64, stride int, a, b []float64, n, rows int, next []byte) {
	sixes := (n + 5) / 6
	ahead := newAhead(next, sixes*sixes)
	for k := 0; k < n; k += 6 {
		ahead.ask()
		addTriangle(m[k*stride+k:], stride, a[k*FixedStride:], b[k*FixedStride:], rows)
		for i := 0; i < k; i += 3 {
			ahead.ask()
			if to, x, y := m[i*stride+k:], a[i*FixedStride:], b[k*FixedStride:]; n-k <= 4 {
				addFixed(to, stride, x, y, rows, 1)
			} else {
				addSix(to, stride, x, y, rows)
			}
		}
	}
}

// ahead prefetches bytes of memory in equal parts.
type ahead struct {
	next []byte
	each int
}

// newAhead makes an ahead of so many parts.
func newAhead(next []byte, parts int) ahead {
	return ahead{next, (len(next)/fetched + parts - 1) / parts * fetched}
}

func (a *ahead) ask() {
	if n := min(a.each, len(a.next)); n >= fetched {
		fetch(a.next[:n])
		a.next = a.next[n:]
	}
}

// FixAll replaces values by factors of v·scale, which must be at most ½ in size, 0 by 0, and
// returns their sum in units of FixedUnit, each rounded to it, and the size of the greatest value:
// infinite if one is not finite, and then, or where a factor is greater than ½, the other results
// are undefined. len(v) is a multiple of Lanes, below 2^16.
func FixAll(v []float64, scale float64) (sum int64, most float64) {
	if len(v) == 0 {
		return 0, 0
	}
	return fixAll(v, scale)
}

// FixedPart returns a factor as an integer in units of FixedUnit.
func FixedPart(factor float64) int64 {
	return int64(math.Float64bits(factor+fixedStart) - math.Float64bits(fixedStart))
}

// FixedLanes is how many rows AddGrad may add to accumulators that Starts made
// before Take must empty them.
const FixedLanes = 1 << 10

// Starts makes accumulators for AddGrad whose sums do not depend on the order of
// rows: of columns that are at most bound[j] in size, powers of two, times
// factors, which FixAll makes. A column's values need not be odd multiples: a
// product could be half-way between two multiples of the accumulator's last
// place only if the value had 2^5 times the bound.
func Starts(acc, bound []float64) {
	for j, b := range bound {
		for l := range acc[j*Lanes:][:Lanes] {
			acc[j*Lanes+l] = float64(2 * fixedStart * b)
		}
	}
}

// Take adds the accumulators to sums, in units of 2·FixedUnit·bound, and resets them.
func Take(sums []int64, acc, bound []float64) {
	for j, b := range bound {
		start := float64(2 * fixedStart * b)
		zero, n := math.Float64bits(start), int64(0)
		a := (*[Lanes]float64)(acc[j*Lanes:])
		for _, v := range a {
			n += int64(math.Float64bits(v) - zero)
		}
		for l := range a {
			a[l] = start
		}
		sums[j] += n
	}
}

func fixAllGo(v []float64, scale float64) (sum int64, most float64) {
	bad := 0.0
	for i, x := range v {
		most = max(most, math.Abs(x))
		bad += x - x
		f := 0.0
		if x != 0 {
			f = Fix(float64(x * scale))
		}
		sum += FixedPart(f)
		v[i] = f
	}
	if bad != 0 {
		return 0, math.Inf(1)
	}
	return sum, most
}

func packFixedGo[T Elem](dst []float64, x []T, shift, scale []float64, tiles int) {
	d := len(shift)
	for t := range tiles {
		for j := range d {
			to := dst[j*FixedStride+t*Lanes:][:Lanes]
			for l, v := range x[(t*d+j)*Lanes:][:Lanes] {
				to[l] = Fix(float64((float64(v) - shift[j]) * scale[j]))
			}
		}
	}
}

func addFixedGo(m []int64, stride int, a, b []float64, rows, groups int) {
	for i := range 3 {
		for k := range 4 * groups {
			acc := [4]float64{fixedStart, fixedStart, fixedStart, fixedStart}
			x, y := a[i*FixedStride:][:rows], b[k*FixedStride:][:rows]
			for r := 0; r < rows; r += 4 {
				for l := range acc {
					acc[l] = math.FMA(x[r+l], y[r+l], acc[l])
				}
			}
			for _, v := range acc {
				m[i*stride+k] += int64(math.Float64bits(v) - math.Float64bits(fixedStart))
			}
		}
	}
}
