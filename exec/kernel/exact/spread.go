package exact

import (
	"math"
	"math/bits"
)

// fixed is a whole number in two's complement, the lowest word first. It holds N Σxy and Σx Σy of sums
// of a few words, so that a spread takes no numbers of any length: a query has one or more a group.
type fixed [fixedWords]uint64

const fixedWords = 10

// fill puts a number of fewer words.
func (f *fixed) fill(w ...uint64) {
	n := copy(f[:], w)
	sign := uint64(int64(w[n-1]) >> 63)
	for i := n; i < len(f); i++ {
		f[i] = sign
	}
}

func (f *fixed) negative() bool { return int64(f[fixedWords-1]) < 0 }

func (f *fixed) negate() {
	c := uint64(1)
	for i := range f {
		f[i], c = bits.Add64(^f[i], 0, c)
	}
}

// len returns how many bits its size has.
func (f *fixed) len() int {
	a := *f
	if a.negative() {
		a.negate()
	}
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != 0 {
			return 64*i + bits.Len64(a[i])
		}
	}
	return 0
}

// shift multiplies by 2^n.
func (f *fixed) shift(n uint) {
	w, s := int(n/64), n%64
	for i := len(f) - 1; i >= 0; i-- {
		var v uint64
		if i >= w {
			v = f[i-w] << s
		}
		if i > w {
			v |= f[i-w-1] >> 1 >> (63 - s)
		}
		f[i] = v
	}
}

// sub subtracts o.
func (f *fixed) sub(o *fixed) {
	c := uint64(0)
	for i := range f {
		f[i], c = bits.Sub64(f[i], o[i], c)
	}
}

// times returns x·y, which must fit.
func (x fixed) times(y fixed) (p fixed) {
	neg := x.negative() != y.negative()
	if x.negative() {
		x.negate()
	}
	if y.negative() {
		y.negate()
	}
	for i, v := range x {
		if v == 0 {
			continue
		}
		c := uint64(0)
		for k := 0; i+k < len(p); k++ {
			hi, lo := bits.Mul64(v, y[k])
			var over uint64
			lo, over = bits.Add64(lo, c, 0)
			hi += over
			p[i+k], over = bits.Add64(p[i+k], lo, 0)
			c = hi + over
		}
	}
	if neg {
		p.negate()
	}
	return p
}

// over returns f·2^unit / n, rounded to the nearest, ties to even; false where that is no normal float64,
// or may be none.
func (f fixed) over(n uint64, unit int) (float64, bool) {
	size := f.len()
	if size == 0 {
		return 0, true
	}
	if e := size + unit; e < -900 || e > 1000 {
		return 0, false
	}
	neg := f.negative()
	if neg {
		f.negate()
	}
	// Two more words below make at least 65 bits of the quotient.
	var q [fixedWords + 2]uint64
	rest := uint64(0)
	for i := len(q) - 1; i >= 0; i-- {
		d := uint64(0)
		if i >= 2 {
			d = f[i-2]
		}
		q[i], rest = bits.Div64(rest, d, n)
	}
	top := len(q) - 1
	for q[top] == 0 {
		top--
	}
	for _, w := range q[:top-1] {
		rest |= w
	}
	lo := q[top-1]
	if rest != 0 {
		lo |= 1 // it is no tie
	}
	v := roundBits(q[top], lo, unit-128+64*(top-1))
	if neg {
		v = -v
	}
	return v, true
}

// windowBits is the most by which the units of Σxy and Σx Σy may differ.
const windowBits = 160

// spreadOf returns Σxy − Σx Σy / N of sums in units of powers of 2; false
// where numbers of any length must be used.
func spreadOf(xy fixed, xyUnit int, x fixed, xUnit int, y fixed, yUnit int, n int64) (float64, bool) {
	unit, d := xUnit+yUnit, xyUnit-xUnit-yUnit
	if n > 0 && xy.len() == 0 && (x.len() == 0 || y.len() == 0) {
		return 0, true
	}
	if d < -windowBits || d > windowBits || n <= 0 || x.len()+y.len() > 64*fixedWords-2-windowBits || xy.len() > 64*fixedWords-66-windowBits {
		return 0, false
	}
	var by fixed
	by.fill(uint64(n), 0)
	all, part := xy.times(by), x.times(y)
	if d >= 0 {
		all.shift(uint(d))
	} else {
		part.shift(uint(-d))
		unit = xyUnit
	}
	all.sub(&part)
	return all.over(uint64(n), unit)
}

// WordSpread is Σxy − Σx Σy / N of whole numbers, rounded once; false where it may be so large or so small that
// it must be found otherwise. n is at least 1.
func WordSpread(xy *[4]uint64, x, y *[2]uint64, n int64) (float64, bool) {
	return wordSpread(xy, x, y, n, 0)
}

// wordSpread is spreadOf of words, where the unit of Σxy is that of Σx Σy.
func wordSpread(xy *[4]uint64, x, y *[2]uint64, n int64, unit int) (float64, bool) {
	// N Σxy, of its size.
	a, neg := *xy, uint64(int64(xy[3])>>63)
	c := neg & 1
	for i := range a {
		a[i], c = bits.Add64(a[i]^neg, 0, c)
	}
	var d [5]uint64
	for i, w := range a {
		hi, lo := bits.Mul64(w, uint64(n))
		d[i], c = bits.Add64(d[i], lo, 0)
		d[i+1] = hi + c
	}
	c = neg & 1
	for i := range d {
		d[i], c = bits.Add64(d[i]^neg, 0, c)
	}
	// Less Σx Σy.
	x0, x1, sx := size128(x)
	y0, y1, sy := size128(y)
	h00, l00 := bits.Mul64(x0, y0)
	h01, l01 := bits.Mul64(x0, y1)
	h10, l10 := bits.Mul64(x1, y0)
	h11, l11 := bits.Mul64(x1, y1)
	var c1 uint64
	p1, c := bits.Add64(h00, l01, 0)
	p2, c := bits.Add64(h01, l11, c)
	p3 := h11 + c
	p1, c1 = bits.Add64(p1, l10, 0)
	p2, c1 = bits.Add64(p2, h10, c1)
	p3 += c1
	less := sx ^ sy ^ ^uint64(0) // all bits to subtract
	c = less & 1
	for i, w := range [5]uint64{l00, p1, p2, p3, 0} {
		d[i], c = bits.Add64(d[i], w^less, c)
	}
	neg = uint64(int64(d[4]) >> 63)
	c = neg & 1
	for i := range d {
		d[i], c = bits.Add64(d[i]^neg, 0, c)
	}
	v, ok := quotient(&d, uint64(n), unit)
	if neg != 0 {
		v = -v
	}
	return v, ok
}

// size128 returns the size of a number, and all bits if it is negative.
func size128(w *[2]uint64) (lo, hi, neg uint64) {
	neg = uint64(int64(w[1]) >> 63)
	lo, c := bits.Add64(w[0]^neg, 0, neg&1)
	hi, _ = bits.Add64(w[1]^neg, 0, c)
	return lo, hi, neg
}

// quotient returns d·2^unit / n, rounded to the nearest, ties to even; false where that is no normal float64,
// or may be none.
func quotient(d *[5]uint64, n uint64, unit int) (float64, bool) {
	top := len(d) - 1
	for top >= 0 && d[top] == 0 {
		top--
	}
	if top < 0 {
		return 0, true
	}
	if e := 64*top + bits.Len64(d[top]) + unit; e < -900 || e > 1000 {
		return 0, false
	}
	// The quotient of the three highest words has at least 65 bits.
	var w [3]uint64
	rest := uint64(0)
	for i := range top + 1 {
		if k := i + 2 - top; k >= 0 {
			w[k] = d[i]
		} else {
			rest |= d[i]
		}
	}
	q2, r := bits.Div64(0, w[2], n)
	q1, r := bits.Div64(r, w[1], n)
	q0, r := bits.Div64(r, w[0], n)
	rest |= r
	hi, lo, at := q1, q0, unit+64*(top-2)
	if q2 != 0 {
		hi, lo, rest, at = q2, q1, rest|q0, at+64
	}
	if rest != 0 {
		lo |= 1 // it is no tie
	}
	return roundNormal(hi, lo, at), true
}

// roundNormal is roundBits of a number whose result is a normal float64, hi not being 0.
func roundNormal(hi, lo uint64, unit int) float64 {
	z := bits.LeadingZeros64(hi)
	hi, lo = hi<<z|lo>>1>>(63-z), lo<<z
	m, rest := hi>>11, hi<<53 // of 2^64
	if lo != 0 {
		rest |= 1
	}
	if rest > 1<<63 || rest == 1<<63 && m&1 == 1 {
		m++
	}
	return math.Float64frombits(uint64(unit+64+11-z+1075-1)<<52 + m)
}

// roundBits returns hi·2^(64+unit) + lo·2^unit, rounded to the nearest, ties to
// even. What lies below 2^-1074 must be zero.
func roundBits(hi, lo uint64, unit int) float64 {
	n := 128 - bits.LeadingZeros64(hi)
	if hi == 0 {
		n = 64 - bits.LeadingZeros64(lo)
	}
	drop := n - 53
	if drop <= 0 {
		return math.Ldexp(float64(lo), unit)
	}
	var m, rest, half uint64
	if drop < 64 {
		m = lo>>drop | hi<<(64-drop)
		rest, half = lo&(1<<drop-1), 1<<(drop-1)
	} else {
		m = hi >> (drop - 64)
		rest, half = hi&(1<<(drop-64)-1)<<1, 1<<(drop-64)
		if lo>>63 != 0 {
			rest |= 1
		}
		if drop == 64 {
			rest, half = lo, 1<<63
		} else if lo<<1 != 0 {
			// Below the half bit there is more: it is no tie.
			rest, half = rest<<1|1, half<<1
		}
	}
	if rest > half || rest == half && m&1 == 1 {
		m++
	}
	return math.Ldexp(float64(m), unit+drop)
}
