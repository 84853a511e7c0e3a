package number

import (
	"math/bits"

	"github.com/tributarydb/tributary/sql/checked"
)

// Wide is a number whose coefficient's magnitude fits two words: sums, averages and quotients mostly do. What its functions
// return is exact, and what Decimal's do; ok is false where two words do not hold it.
type Wide struct {
	hi, lo uint64
	neg    bool
	scale  int32
}

// WideFromInt64 returns v·10^-scale.
func WideFromInt64(v int64, scale int32) Wide { return Wide{0, checked.Abs(v), v < 0, scale} }

// WideOf reads an encoding.
func WideOf(b []byte) (w Wide, ok bool) {
	hi, lo, scale, ok := WideDecimalBytes(b)
	u := uint64(hi)
	if hi < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		u, _ = bits.Sub64(0, u, borrow)
	}
	return Wide{u, lo, hi < 0, scale}, ok
}

// Words returns the coefficient, its magnitude in two words, and the scale.
func (w Wide) Words() (neg bool, hi, lo uint64, scale int32) { return w.neg, w.hi, w.lo, w.scale }

// Append appends the encoding.
func (w Wide) Append(dst []byte) []byte { return appendWords(dst, w.neg, w.hi, w.lo, w.scale) }

// Neg returns -w.
func (w Wide) Neg() Wide {
	w.neg = !w.neg
	return w
}

// at returns w with a larger scale.
func (w Wide) at(scale int32) (Wide, bool) {
	for scale > w.scale {
		by := min(scale-w.scale, 19)
		var ok bool
		if w.hi, w.lo, ok = timesWord(w.hi, w.lo, checked.Pow10[by]); !ok {
			return w, false
		}
		w.scale += by
	}
	return w, true
}

// Add returns w + o.
func (w Wide) Add(o Wide) (sum Wide, ok bool) {
	if w.scale < o.scale {
		w, ok = w.at(o.scale)
	} else {
		o, ok = o.at(w.scale)
	}
	if !ok {
		return w, false
	}
	var carry uint64
	if w.neg == o.neg {
		w.lo, carry = bits.Add64(w.lo, o.lo, 0)
		w.hi, carry = bits.Add64(w.hi, o.hi, carry)
		return w, carry == 0
	}
	if w.hi < o.hi || w.hi == o.hi && w.lo < o.lo {
		w, o = o, w
	}
	w.lo, carry = bits.Sub64(w.lo, o.lo, 0)
	w.hi, _ = bits.Sub64(w.hi, o.hi, carry)
	return w, true
}

// Mul returns w · o.
func (w Wide) Mul(o Wide) (product Wide, ok bool) {
	if o.hi != 0 {
		w, o = o, w
	}
	scale := w.scale + o.scale
	hi, lo, ok := timesWord(w.hi, w.lo, o.lo)
	return Wide{hi, lo, w.neg != o.neg, scale}, ok && o.hi == 0 && scale <= maxDisplayScale
}

// Div returns w / o with the scale and the rounding of Decimal's.
func (w Wide) Div(o Wide) (quotient Wide, ok bool) {
	if o.hi != 0 || o.lo == 0 {
		return w, false
	}
	w1, f1 := w.lead4()
	w2, f2 := o.lead4()
	scale := quotientScale(w1-w2, f1 <= f2, w.scale, o.scale)
	shift := int(scale) + int(o.scale) - int(w.scale)
	if shift < 0 || shift > 38 {
		return w, false
	}
	hi, lo, ok := div192(w.hi, w.lo, o.lo, shift)
	return Wide{hi, lo, w.neg != o.neg, scale}, ok
}

// lead4 is Decimal's.
func (w Wide) lead4() (weight, digit int) {
	if w.hi == 0 {
		return lead64(w.lo, w.scale)
	}
	n := 39
	if hi, lo, _ := divWords(w.hi, w.lo, checked.Pow10[19]); hi == 0 {
		n = 19 + digits64(lo)
	}
	weight, take := group4(n, w.scale)
	hi, lo, _ := divWords(w.hi, w.lo, checked.Pow10[min(n-take, 19)])
	_, lo, _ = divWords(hi, lo, checked.Pow10[max(n-take-19, 0)])
	return weight, int(lo)
}

// timesWord returns (hi·2^64 + lo) · by.
func timesWord(hi, lo, by uint64) (h, l uint64, ok bool) {
	carry, l := bits.Mul64(lo, by)
	over, h := bits.Mul64(hi, by)
	h, more := bits.Add64(h, carry, 0)
	return h, l, over|more == 0
}
