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

// add adds o, sub subtracts it.
func (f *fixed) add(o *fixed) {
	c := uint64(0)
	for i := range f {
		f[i], c = bits.Add64(f[i], o[i], c)
	}
}

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
