package number

import (
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/sql/checked"
)

type rounding uint8

const (
	halfAway rounding = iota
	truncate
	floorward
	ceilward
)

// Round returns d with scale digits after the point, halves away from zero, zeros
// added where d has fewer. A negative scale rounds before the point.
func (d Decimal) Round(scale int32) Decimal { return d.rescale(scale, halfAway) }

// AppendRounded appends the column encoding of coef·10^-from, as by Round(scale), for kernels.
func AppendRounded(dst []byte, coef int64, from, scale int32) []byte {
	if n := scale - from; n >= 0 && int(n) < len(checked.Pow10) {
		hi, lo := bits.Mul64(checked.Abs(coef), checked.Pow10[n])
		return appendWords(dst, coef < 0, hi, lo, scale)
	}
	return DecimalFromInt64(coef, from).Round(scale).AppendBinary(dst)
}

// Rescale is Round.
func (d Decimal) Rescale(scale int32) Decimal { return d.rescale(scale, halfAway) }

// Trunc returns d with scale digits after the point, the rest cut off.
func (d Decimal) Trunc(scale int32) Decimal { return d.rescale(scale, truncate) }

// Floor is the greatest integer not above d.
func (d Decimal) Floor() Decimal { return d.rescale(0, floorward) }

// Ceil is the least integer not below d.
func (d Decimal) Ceil() Decimal { return d.rescale(0, ceilward) }

func (d Decimal) rescale(scale int32, how rounding) Decimal {
	if d.kind != decFinite || scale == d.scale {
		return d
	}
	scale = min(max(scale, -maxIntDigits), maxDisplayScale)
	if scale > d.scale {
		n := int(scale - d.scale)
		if d.big == nil {
			if n < len(checked.Pow10)-1 {
				if v, ok := checked.Mul(d.coef, int64(checked.Pow10[n])); ok {
					return Decimal{coef: v, scale: scale}
				}
			}
			if d.coef == 0 {
				return Decimal{scale: scale}
			}
		}
		r := d.shift(n)
		r.scale = scale
		return r
	}
	n := int(d.scale - scale)
	neg := d.Sign() < 0
	if d.big == nil {
		if n > 18 {
			// less than a half unless a 19-digit coefficient meets 10^19
			v := int64(0)
			switch {
			case how == halfAway && n == 19 && checked.Abs(d.coef) >= 5e18,
				how == floorward && neg, how == ceilward && d.coef > 0:
				v = 1
			}
			if neg {
				v = -v
			}
			return Decimal{coef: v, scale: scale}.unscale()
		}
		p := int64(checked.Pow10[n])
		q, r := d.coef/p, d.coef%p
		if bump(how, neg, r != 0, r >= p-p/2 || -r >= p-p/2) {
			if neg {
				q--
			} else {
				q++
			}
		}
		return Decimal{coef: q, scale: scale}.unscale()
	}
	p := pow10Big(n)
	q, r := new(big.Int).QuoRem(d.big, p, new(big.Int))
	nonzero := r.Sign() != 0
	half := nonzero && r.Lsh(r, 1).CmpAbs(p) >= 0
	if bump(how, neg, nonzero, half) {
		if neg {
			q.Sub(q, bigPow10[0])
		} else {
			q.Add(q, bigPow10[0])
		}
	}
	return mkDecimal(q, scale).unscale()
}

// bump reports whether a quotient cut toward zero moves one away from zero.
func bump(how rounding, neg, rest, half bool) bool {
	switch how {
	case halfAway:
		return half
	case floorward:
		return neg && rest
	case ceilward:
		return !neg && rest
	}
	return false
}

// unscale turns a negative scale into zeros before the point.
func (d Decimal) unscale() Decimal {
	if d.scale >= 0 {
		return d
	}
	n := int(-d.scale)
	d.scale = 0
	if d.coef == 0 && d.big == nil {
		return d
	}
	return d.shift(n)
}
