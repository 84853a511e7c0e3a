package number

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/sql/checked"
)

// Quotients and roots of numerics have sixteen digits or more. They do not fit in one word but usually in
// two. The functions here avoid math/big, which allocates at each step.

// decimalOfWords returns hi·2^64 + lo, or less 0, times 10^-scale.
func decimalOfWords(neg bool, hi, lo uint64, scale int32) Decimal {
	if hi == 0 && lo <= math.MaxInt64 {
		if neg {
			return Decimal{coef: -int64(lo), scale: scale}
		}
		return Decimal{coef: int64(lo), scale: scale}
	}
	var b *big.Int
	if bits.UintSize == 64 {
		w := &struct { // one allocation for the number and its words
			big.Int
			words [2]big.Word
		}{words: [2]big.Word{big.Word(lo), big.Word(hi)}}
		b = w.SetBits(w.words[:])
	} else {
		b = new(big.Int).SetUint64(hi)
		b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(lo))
	}
	if neg {
		b.Neg(b)
	}
	return mkDecimal(b, scale)
}

// DecimalFromInt128 returns hi·2^64 + lo times 10^-scale, for sums in two words.
func DecimalFromInt128(hi int64, lo uint64, scale int32) Decimal {
	u := uint64(hi)
	if hi < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		u, _ = bits.Sub64(0, u, borrow)
	}
	return decimalOfWords(hi < 0, u, lo, scale)
}

// words returns the magnitude of d's coefficient where two words hold it.
func (d Decimal) words() (hi, lo uint64, ok bool) {
	if d.big == nil {
		return 0, checked.Abs(d.coef), true
	}
	if w := d.big.Bits(); bits.UintSize == 64 && len(w) <= 2 {
		lo = uint64(w[0])
		if len(w) == 2 {
			hi = uint64(w[1])
		}
		return hi, lo, true
	}
	return 0, 0, false
}

// wideOf is d where two words hold its coefficient.
func wideOf(d Decimal) (w Wide, ok bool) {
	hi, lo, ok := d.words()
	return Wide{hi, lo, d.Sign() < 0, d.scale}, ok
}

// wordsOf reads a magnitude of no more than 16 bytes, big-endian.
func wordsOf(b []byte) (hi, lo uint64) {
	for _, x := range b {
		hi, lo = hi<<8|lo>>56, lo<<8|uint64(x)
	}
	return hi, lo
}

// div128 returns a · 10^shift / b to the nearest integer, halves up, where the dividend has no more
// than 128 bits.
func div128(a, b uint64, shift int) (hi, lo uint64, ok bool) {
	hi, lo = bits.Mul64(a, checked.Pow10[min(shift, 19)])
	if shift > 19 {
		h2, l2 := bits.Mul64(lo, checked.Pow10[shift-19])
		over, h1 := bits.Mul64(hi, checked.Pow10[shift-19])
		var carry uint64
		hi, carry = bits.Add64(h1, h2, 0)
		if over != 0 || carry != 0 {
			return 0, 0, false
		}
		lo = l2
	}
	hi, lo, r := divWords(hi, lo, b)
	if r >= b-r {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	return hi, lo, true
}

// div192 returns (hi·2^64 + lo) · 10^shift / b to the nearest integer, halves up, where the
// dividend has no more than 192 bits and the quotient no more than 128.
func div192(hi, lo, b uint64, shift int) (qhi, qlo uint64, ok bool) {
	var top, over uint64
	for ; shift > 0; shift -= 19 {
		p := checked.Pow10[min(shift, 19)]
		var carry, h uint64
		carry, lo = bits.Mul64(lo, p)
		h, hi = bits.Mul64(hi, p)
		hi, carry = bits.Add64(hi, carry, 0)
		over, top = bits.Mul64(top, p)
		var more uint64
		if top, more = bits.Add64(top, h, carry); over|more != 0 {
			return 0, 0, false
		}
	}
	if top >= b {
		return 0, 0, false
	}
	hi, r := bits.Div64(top, hi, b)
	lo, r = bits.Div64(r, lo, b)
	if r < b-r {
		return hi, lo, true
	}
	lo, carry := bits.Add64(lo, 1, 0)
	hi, carry = bits.Add64(hi, 0, carry)
	return hi, lo, carry == 0
}

// divWords returns hi·2^64 + lo divided by b, and the remainder.
func divWords(hi, lo, b uint64) (qhi, qlo, rest uint64) {
	qlo, rest = bits.Div64(hi%b, lo, b)
	return hi / b, qlo, rest
}

// Share is how many n-ths of the way from lo to hi lie before x, if that is between them and the numbers are small
// enough that a quotient of numeric would not be rounded up to the next.
func Share(x, lo, hi Decimal, n int64) (int64, bool) {
	scale := max(x.scale, lo.scale, hi.scale)
	var c [3]int64
	for i, d := range [...]Decimal{x, lo, hi} {
		by := int(scale - d.scale)
		if d.big != nil || d.kind != decFinite || by >= len(checked.Pow10)-1 {
			return 0, false
		}
		var ok bool
		if c[i], ok = checked.Mul(d.coef, int64(checked.Pow10[by])); !ok {
			return 0, false
		}
	}
	part, ok := checked.Sub(c[0], c[1])
	whole, fits := checked.Sub(c[2], c[1])
	if !ok || !fits || part < 0 || part >= whole || whole <= 0 || whole >= 1e14 || n <= 0 || n >= 1e4 {
		return 0, false
	}
	return part * n / whole, true
}
