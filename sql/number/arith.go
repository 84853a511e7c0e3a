package number

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Cmp returns -1, 0 or 1 in PostgreSQL's order: -Infinity, numbers, Infinity, NaN.
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

// align64 converts two small values to one scale, if both still fit.
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

// alignBig converts two values to the greater scale; the results must not be modified.
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

// Neg returns -d.
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

// Abs returns |d|.
func (d Decimal) Abs() Decimal {
	if d.Sign() < 0 {
		return d.Neg()
	}
	return d
}

// Add returns d + e.
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
	if a, ok := wideOf(d); ok {
		if b, ok := wideOf(e); ok {
			if sum, ok := a.Add(b); ok {
				return decimalOfWords(sum.neg, sum.hi, sum.lo, sum.scale), nil
			}
		}
	}
	a, b, scale := alignBig(d, e)
	return mkDecimal(new(big.Int).Add(a, b), scale).checked()
}

// Sub returns d - e.
func (d Decimal) Sub(e Decimal) (Decimal, error) { return d.Add(e.Neg()) }

// Mul returns d * e.
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
			hi, lo := bits.Mul64(checked.Abs(d.coef), checked.Abs(e.coef))
			r = decimalOfWords(d.coef < 0 != (e.coef < 0), hi, lo, scale)
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

// lead4 returns the position of the first digit in base 10000, counted from the
// point, and that digit: PostgreSQL chooses scales of quotients from them.
func (d Decimal) lead4() (weight, digit int) {
	if d.big == nil {
		return lead64(checked.Abs(d.coef), d.scale)
	}
	n := d.numDigits()
	weight, take := group4(n, d.scale)
	if hi, lo, ok := d.words(); ok {
		hi, lo, _ = divWords(hi, lo, checked.Pow10[min(n-take, 19)])
		_, lo, _ = divWords(hi, lo, checked.Pow10[max(n-take-19, 0)])
		return weight, int(lo)
	}
	q := new(big.Int).Quo(d.big, pow10Big(n-take)) // a big coefficient has more than four digits
	return weight, int(q.Abs(q).Int64())
}

// group4 returns where the first digit in base 10000 of n digits is, and how many decimal digits it
// has.
func group4(n int, scale int32) (weight, take int) {
	e := n - 1 - int(scale)
	weight = e >> 2
	return weight, e - 4*weight + 1
}

// lead64 is lead4 of u times 10^-scale.
func lead64(u uint64, scale int32) (weight, digit int) {
	n := digits64(u)
	if n == 0 {
		return 0, 0
	}
	weight, take := group4(n, scale)
	if n >= take {
		return weight, int(u / checked.Pow10[n-take])
	}
	return weight, int(u * checked.Pow10[take-n])
}

// divScale returns the scale of a quotient: at least 16 significant digits, at least the scale of
// either operand, at most 1000.
func divScale(d, e Decimal) int32 {
	w1, f1 := d.lead4()
	w2, f2 := e.lead4()
	return quotientScale(w1-w2, f1 <= f2, d.scale, e.scale)
}

func quotientScale(weight int, less bool, d, e int32) int32 {
	if less {
		weight--
	}
	return int32(min(max(16-4*weight, int(d), int(e), 0), 1000))
}

// AppendQuotient appends the column encoding of a·10^-ascale / b·10^-bscale, rounded as by Div, for
// kernels.
func AppendQuotient(dst []byte, a int64, ascale int32, b int64, bscale int32) ([]byte, error) {
	ua, ub := checked.Abs(a), checked.Abs(b)
	if b != 0 {
		w1, f1 := lead64(ua, ascale)
		w2, f2 := lead64(ub, bscale)
		scale := quotientScale(w1-w2, f1 <= f2, ascale, bscale)
		if shift := int(scale) + int(bscale) - int(ascale); shift >= 0 && shift <= 38 {
			if hi, lo, ok := div128(ua, ub, shift); ok {
				return appendWords(dst, (a < 0) != (b < 0), hi, lo, scale), nil
			}
		}
	}
	d, err := DecimalFromInt64(a, ascale).Div(DecimalFromInt64(b, bscale))
	if err != nil {
		return nil, err
	}
	return d.AppendBinary(dst), nil
}

// Div returns d / e with PostgreSQL's choice of scale, rounded.
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

// DivTrunc returns div(d, e): the integer quotient, truncated toward zero.
func (d Decimal) DivTrunc(e Decimal) (Decimal, error) {
	if d.kind != decFinite || e.kind != decFinite || e.Sign() == 0 {
		return d.Div(e)
	}
	a, b, _ := alignBig(d, e)
	return mkDecimal(new(big.Int).Quo(a, b), 0).checked()
}

// divAt returns d / e rounded to scale; e is not 0.
func (d Decimal) divAt(e Decimal, scale int32) Decimal {
	shift := int(scale) + int(e.scale) - int(d.scale)
	if d.big == nil && e.big == nil && shift >= 0 && shift <= 38 {
		if hi, lo, ok := div128(checked.Abs(d.coef), checked.Abs(e.coef), shift); ok {
			return decimalOfWords((d.coef < 0) != (e.coef < 0), hi, lo, scale)
		}
	}
	if e.big == nil && shift >= 0 && shift <= 38 {
		if hi, lo, ok := d.words(); ok {
			if hi, lo, ok := div192(hi, lo, checked.Abs(e.coef), shift); ok {
				return decimalOfWords((d.Sign() < 0) != (e.coef < 0), hi, lo, scale)
			}
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

// divRound returns a / b to the nearest integer, halves away from zero.
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

// Mod returns the remainder of DivTrunc, with the sign of d.
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

// GCD returns the greatest common divisor, NaN for anything that is not finite.
func (d Decimal) GCD(e Decimal) Decimal {
	if d.kind != decFinite || e.kind != decFinite {
		return DecimalNaN
	}
	a, b, scale := alignBig(d, e)
	return mkDecimal(new(big.Int).GCD(nil, nil, new(big.Int).Abs(a), new(big.Int).Abs(b)), scale)
}

// LCM returns the least common multiple.
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

// Factorial returns n!.
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
