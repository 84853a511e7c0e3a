package f64

import "math"

// Errors adds up truths y, errors y-p, their squares and the errors' sizes, exactly, as Splits
// does for columns.
type Errors struct {
	ends   [4 * Lanes]float64
	sums   [13 * Lanes]float64
	exps   [2]int // that grids are of
	grids  [5]float64
	filled bool
	out    [12]float64
}

// Parts returns parts of sums over whole lanes of rows, at most SplitRows: of the truths those of y
// in truth[:2] and of its square in truth[2:], of the errors those of y-p in errs[:2], of its size
// in errs[2:4] and of its square in errs[4:]. Each is nil where its sums are not exact in such
// parts: values differ too much in size or are not finite, or squares of truths have more bits than
// float64s. The slices are e's and valid until its next call.
func (e *Errors) Parts(y, p []float64) (truth, errs []float64) {
	if len(y) == 0 {
		return e.out[:0], e.out[:0]
	}
	_ = p[len(y)-1]
	errorEnds(&e.ends, y, p)
	var fits [2]bool
	for i := range fits {
		top, least := 0.0, math.Inf(1)
		for l := range Lanes {
			top, least = max(top, e.ends[2*i*Lanes+l]), min(least, e.ends[(2*i+1)*Lanes+l])
		}
		exp := exponent(top)
		if least < math.Inf(1) {
			el := exponent(math.Float64frombits(math.Float64bits(least) + 1))
			fits[i] = exp-el < splitRange && exp < 500 && el > -450
		} else {
			fits[i] = top == 0
		}
		if !fits[i] || top == 0 {
			exp = 0
		}
		if exp != e.exps[i] || !e.filled {
			e.exps[i] = exp
			e.grids[2*i], e.grids[2*i+1] = math.Ldexp(1.5, exp-44+52), math.Ldexp(1.5, 2*exp-44+52)
			if i == 1 {
				e.grids[4] = math.Ldexp(1.5, 2*exp-97+52)
			}
		}
	}
	e.filled = true
	errorParts(&e.sums, &e.grids, y, p)
	for i := range e.out {
		e.out[i] = fold((*[Lanes]float64)(e.sums[i*Lanes:]))
		if e.out[i]-e.out[i] != 0 {
			fits[min(i/4, 1)] = false
		}
	}
	for _, lost := range e.sums[12*Lanes:] {
		fits[0] = fits[0] && lost == 0
	}
	if fits[0] {
		truth = e.out[:4]
	}
	if fits[1] {
		errs = e.out[4:]
	}
	return truth, errs
}

func errorEndsGo(ends *[4 * Lanes]float64, y, p []float64) {
	for l := range Lanes {
		for i := range 2 {
			top, least := 0.0, math.Inf(1)
			for r := l; r < len(y); r += Lanes {
				v := y[r]
				if i == 1 {
					v -= p[r]
				}
				v = math.Abs(v)
				if v > top {
					top = v
				}
				if less := math.Float64frombits(math.Float64bits(v) - 1); less < least {
					least = less
				}
			}
			ends[2*i*Lanes+l], ends[(2*i+1)*Lanes+l] = top, least
		}
	}
}

// errorPartsGo adds values to grids, which rounds them to multiples, and the rounding errors to
// other sums; the last lanes are the bits of the errors of the truths' squares.
func errorPartsGo(sums *[13 * Lanes]float64, grids *[5]float64, y, p []float64) {
	of := [6]int{0, 1, 2, 2, 3, 4} // sums' grids
	for l := range Lanes {
		var acc, rest [6]float64
		for i, g := range of {
			acc[i] = grids[g]
		}
		lost := uint64(0)
		for r := l; r < len(y); r += Lanes {
			v := y[r]
			d := v - p[r]
			q, s := float64(v*v), float64(d*d)
			lost |= math.Float64bits(math.FMA(v, v, -q))
			for i, x := range [6]float64{v, q, d, math.Abs(d), s, math.FMA(d, d, -s)} {
				t := acc[i] + x
				rest[i] += x - (t - acc[i])
				acc[i] = t
			}
		}
		for i, g := range of {
			sums[2*i*Lanes+l], sums[(2*i+1)*Lanes+l] = acc[i]-grids[g], rest[i]
		}
		sums[12*Lanes+l] = math.Float64frombits(lost)
	}
}
