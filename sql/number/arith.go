package number

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Cmp is -1, 0 or 1 in PostgreSQL's order: -Infinity, numbers, Infinity, NaN.
func (d Decimal) Cmp(e Decimal) int {
	if d.kind != decFinite || e.kind != decFinite {
		return cmp.Compare(d.rank(), e.rank())
	}
	if d.big == nil && e.big == nil {
		if d.scale == e.scale {
			return cmp.Compare(d.coef, e.coef)
		}
		if a, b, ok := align64(d, e); ok {
			return cmp.Compare(a, b)
		}
	}
	ds, es := d.Sign(), e.Sign()
	if ds != es {
		return cmp.Compare(ds, es)
	}
	if ds == 0 {
		return 0
	}
	if a, b := d.leadExp(), e.leadExp(); a != b {
		return cmp.Compare(a, b) * ds
	}
	a, b, _ := alignBig(d, e)
	return a.Cmp(b)
}

func (d Decimal) rank() int {
	switch d.kind {
	case decNaN:
		return 2
	case decPosInf:
		return 1
	case decNegInf:
		return -1
	}
	return 0
}

// align64 brings two small values to one scale, if both still fit.
func align64(d, e Decimal) (a, b int64, ok bool) {
	a, b = d.coef, e.coef
	switch n := d.scale - e.scale; {
	case n == 0:
		return a, b, true
	case n > 0:
		if n > 18 {
			return 0, 0, false
		}
		b, ok = checked.Mul(b, int64(checked.Pow10[n]))
	default:
		if n < -18 {
			return 0, 0, false
		}
		a, ok = checked.Mul(a, int64(checked.Pow10[-n]))
	}
	return a, b, ok
}

// alignBig brings two values to the greater scale; the results must not be modified.
func alignBig(d, e Decimal) (a, b *big.Int, scale int32) {
	a, b = d.coefBig(), e.coefBig()
	switch n := int(d.scale) - int(e.scale); {
	case n > 0:
		b = new(big.Int).Mul(b, pow10Big(n))
	case n < 0:
		a = new(big.Int).Mul(a, pow10Big(-n))
	}
	return a, b, max(d.scale, e.scale)
}

// Neg is -d.
func (d Decimal) Neg() Decimal {
	switch {
	case d.kind == decPosInf:
		return DecimalNegInf
	case d.kind == decNegInf:
		return DecimalInf
	case d.kind == decNaN:
		return d
	case d.big != nil || d.coef == math.MinInt64:
		return mkDecimal(new(big.Int).Neg(d.coefBig()), d.scale)
	}
	d.coef = -d.coef
	return d
}

// Abs is |d|.
func (d Decimal) Abs() Decimal {
	if d.Sign() < 0 {
		return d.Neg()
	}
	return d
}

// Add is d + e.
func (d Decimal) Add(e Decimal) (Decimal, error) {
	if d.kind != decFinite || e.kind != decFinite {
		switch {
		case d.kind == decNaN || e.kind == decNaN:
			return DecimalNaN, nil
		case d.kind == decFinite:
			return e, nil
		case e.kind == decFinite || d.kind == e.kind:
			return d, nil
		}
		return DecimalNaN, nil
	}
	if d.big == nil && e.big == nil {
		if a, b, ok := align64(d, e); ok {
			if c, ok := checked.Add(a, b); ok {
				return Decimal{coef: c, scale: max(d.scale, e.scale)}, nil
			}
		}
	}
	a, b, scale := alignBig(d, e)
	return mkDecimal(new(big.Int).Add(a, b), scale).checked()
}

// Sub is d - e.
func (d Decimal) Sub(e Decimal) (Decimal, error) { return d.Add(e.Neg()) }

// Mul is d * e.
func (d Decimal) Mul(e Decimal) (Decimal, error) {
	if d.kind != decFinite || e.kind != decFinite {
		if d.kind == decNaN || e.kind == decNaN {
			return DecimalNaN, nil
		}
		return infBySign(d.Sign() * e.Sign()), nil
	}
	scale := d.scale + e.scale
	var r Decimal
	if d.big == nil && e.big == nil {
		if c, ok := checked.Mul(d.coef, e.coef); ok {
			r = Decimal{coef: c, scale: scale}
		} else {
			r = mkDecimal(new(big.Int).Mul(d.coefBig(), e.coefBig()), scale)
		}
	} else {
		r = mkDecimal(new(big.Int).Mul(d.coefBig(), e.coefBig()), scale)
	}
	if scale > maxDisplayScale {
		r = r.Round(maxDisplayScale)
	}
	return r.checked()
}

// infBySign is an infinity of that sign, NaN for 0.
func infBySign(sign int) Decimal {
	switch {
	case sign > 0:
		return DecimalInf
	case sign < 0:
		return DecimalNegInf
	}
	return DecimalNaN
}

// lead4 gives the position of the first digit in base 10000, counted from the
// point, and that digit: PostgreSQL chooses scales of quotients from them.
func (d Decimal) lead4() (weight, digit int) {
	n := d.numDigits()
	if n == 0 {
		return 0, 0
	}
	e := n - 1 - int(d.scale)
	weight = e >> 2
	take := e - 4*weight + 1 // decimal digits in the first group
	if d.big == nil {
		u := checked.Abs(d.coef)
		if n >= take {
			return weight, int(u / checked.Pow10[n-take])
		}
		return weight, int(u * checked.Pow10[take-n])
	}
	q := new(big.Int).Quo(d.big, pow10Big(n-take)) // a big coefficient has more than four digits
	return weight, int(q.Abs(q).Int64())
}

// divScale is the scale of a quotient: at least 16 significant digits, at
// least the scale of either operand, at most 1000.
func divScale(d, e Decimal) int32 {
	w1, f1 := d.lead4()
	w2, f2 := e.lead4()
	q := w1 - w2
	if f1 <= f2 {
		q--
	}
	s := max(16-4*q, int(d.scale), int(e.scale), 0)
	return int32(min(s, 1000))
}

// Div is d / e with PostgreSQL's choice of scale, rounded.
func (d Decimal) Div(e Decimal) (Decimal, error) {
	if d.kind != decFinite || e.kind != decFinite {
		switch {
		case d.kind == decNaN || e.kind == decNaN:
			return DecimalNaN, nil
		case d.kind != decFinite && e.kind != decFinite:
			return DecimalNaN, nil
		case d.kind != decFinite:
			if e.Sign() == 0 {
				return Decimal{}, errDivisionByZero()
			}
			return infBySign(d.Sign() * e.Sign()), nil
		}
		return Decimal{}, nil
	}
	if e.Sign() == 0 {
		return Decimal{}, errDivisionByZero()
	}
	return d.divAt(e, divScale(d, e)).checked()
}

// DivTrunc is div(d, e): the integer quotient, cut toward zero.
func (d Decimal) DivTrunc(e Decimal) (Decimal, error) {
	if d.kind != decFinite || e.kind != decFinite || e.Sign() == 0 {
		return d.Div(e)
	}
	a, b, _ := alignBig(d, e)
	return mkDecimal(new(big.Int).Quo(a, b), 0).checked()
}

// divAt is d / e rounded to scale; e is not 0.
func (d Decimal) divAt(e Decimal, scale int32) Decimal {
	shift := int(scale) + int(e.scale) - int(d.scale)
	if d.big == nil && e.big == nil && shift >= 0 && shift <= 38 {
		if hi, lo, ok := div128(checked.Abs(d.coef), checked.Abs(e.coef), shift); ok {
			return decimalOfWords((d.coef < 0) != (e.coef < 0), hi, lo, scale)
		}
	}
	a, b := d.coefBig(), e.coefBig()
	if shift > 0 {
		a = new(big.Int).Mul(a, pow10Big(shift))
	} else if shift < 0 {
		b = new(big.Int).Mul(b, pow10Big(-shift))
	}
	return mkDecimal(divRound(a, b), scale)
}

// divRound is a / b to the nearest integer, halves away from zero.
func divRound(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Lsh(r, 1).CmpAbs(b) >= 0 {
		if a.Sign()*b.Sign() < 0 {
			q.Sub(q, bigPow10[0])
		} else {
			q.Add(q, bigPow10[0])
		}
	}
	return q
}

// div128 is a · 10^shift / b to the nearest integer, halves up, where the
// dividend has no more than 128 bits.
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
	var r uint64
	hi, r = hi/b, hi%b
	if lo, r = bits.Div64(r, lo, b); r >= b-r {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	return hi, lo, true
}

// Mod is the rest of DivTrunc, with the sign of d.
func (d Decimal) Mod(e Decimal) (Decimal, error) {
	if d.kind != decFinite || e.kind != decFinite {
		switch {
		case d.kind == decNaN || e.kind == decNaN:
			return DecimalNaN, nil
		case d.kind != decFinite:
			if e.kind == decFinite && e.Sign() == 0 {
				return Decimal{}, errDivisionByZero()
			}
			return DecimalNaN, nil
		}
		return d, nil // a finite number modulo an infinity
	}
	if e.Sign() == 0 {
		return Decimal{}, errDivisionByZero()
	}
	if d.big == nil && e.big == nil {
		if a, b, ok := align64(d, e); ok {
			if b == -1 {
				return Decimal{scale: max(d.scale, e.scale)}, nil
			}
			return Decimal{coef: a % b, scale: max(d.scale, e.scale)}, nil
		}
	}
	a, b, scale := alignBig(d, e)
	return mkDecimal(new(big.Int).Rem(a, b), scale).checked()
}

// GCD is the greatest common divisor, NaN for anything that is not finite.
func (d Decimal) GCD(e Decimal) Decimal {
	if d.kind != decFinite || e.kind != decFinite {
		return DecimalNaN
	}
	a, b, scale := alignBig(d, e)
	return mkDecimal(new(big.Int).GCD(nil, nil, new(big.Int).Abs(a), new(big.Int).Abs(b)), scale)
}

// LCM is the least common multiple.
func (d Decimal) LCM(e Decimal) (Decimal, error) {
	if d.kind != decFinite || e.kind != decFinite {
		return DecimalNaN, nil
	}
	scale := max(d.scale, e.scale)
	if d.Sign() == 0 || e.Sign() == 0 {
		return Decimal{scale: scale}, nil
	}
	a, b, _ := alignBig(d, e)
	g := new(big.Int).GCD(nil, nil, new(big.Int).Abs(a), new(big.Int).Abs(b))
	m := new(big.Int).Quo(a, g)
	m.Mul(m, b)
	return mkDecimal(m.Abs(m), scale).checked()
}

// Factorial is n!.
func Factorial(n int64) (Decimal, error) {
	if n < 0 {
		return Decimal{}, pgerr.New(pgerr.NumericValueOutOfRange, "factorial of a negative number is undefined")
	}
	if n > 32177 {
		return Decimal{}, errNumericOverflow()
	}
	return mkDecimal(new(big.Int).MulRange(1, max(n, 1)), 0).checked()
}

func errDivisionByZero() *pgerr.Error {
	return pgerr.New(pgerr.DivisionByZero, "division by zero")
}
