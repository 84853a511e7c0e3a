package number

import (
	"math"
	"math/bits"
)

// pow5 are the powers of five that a word holds.
var pow5 = func() (t [28]uint64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 5
	}
	return t
}()

// nearest is the float64 that is nearest to a finite number, the even one of two, if a word holds five to its
// scale. The coefficient's first 128 bits are divided by that power. What is cut off of them, and the remainder,
// cannot change the 63 bits of the quotient, only whether there is more than they say.
func nearest(d Decimal) (float64, bool) {
	if int(d.scale) >= len(pow5) {
		return 0, false
	}
	hi, lo, exp, more := leading128(d)
	if hi == 0 {
		return 0, d.Sign() == 0
	}
	div := pow5[d.scale]
	shift := bits.LeadingZeros64(div)
	if div <<= shift; hi >= div {
		more = more || lo&1 != 0
		hi, lo, exp = hi>>1, lo>>1|hi<<63, exp+1
	}
	q, rem := bits.Div64(hi, lo, div)
	if more || rem != 0 {
		q |= 1
	}
	f := float64(q)
	if e := exp + shift - int(d.scale); -900 < e && e < 900 {
		f *= math.Float64frombits(uint64(e+1023) << 52) // 2^e
	} else {
		f = math.Ldexp(f, e)
	}
	if d.Sign() < 0 {
		f = -f
	}
	return f, true
}

// leading128 is the size of the coefficient as hi and lo, the highest bit set, times two to exp; more says that it
// is a little greater.
func leading128(d Decimal) (hi, lo uint64, exp int, more bool) {
	if d.big == nil {
		c := uint64(d.coef)
		if d.coef < 0 {
			c = -c
		}
		shift := bits.LeadingZeros64(c) // 64 of zero, which leaves it
		return c << shift, 0, -64 - shift, false
	}
	words := d.big.Bits()
	if bits.UintSize < 64 {
		return 0, 0, 0, false // the text has it
	}
	last := len(words) - 1
	shift := bits.LeadingZeros64(uint64(words[last]))
	var w [3]uint64 // the three highest words, whose first 128 bits after the shift are wanted
	for i := range min(len(w), len(words)) {
		w[i] = uint64(words[last-i])
	}
	hi = w[0]<<shift | w[1]>>(64-shift)
	lo = w[1]<<shift | w[2]>>(64-shift)
	more = w[2]<<shift != 0
	for _, below := range words[:max(len(words)-len(w), 0)] {
		more = more || below != 0
	}
	return hi, lo, d.big.BitLen() - 128, more
}
