package number

import (
	"strconv"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// NumericMod splits a numeric's modifier.
func NumericMod(mod int32) (prec, scale int, ok bool) {
	if mod < 4 {
		return 0, 0, false
	}
	mod -= 4
	scale = int(mod & 0x7ff)
	return int(mod >> 16 & 0xffff), (scale ^ 1024) - 1024, true // eleven bits, signed
}

func errFieldOverflow() *pgerr.Error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow")
}

// FitNumeric rounds d to the modifier numeric(p,s), or refuses it.
func FitNumeric(mod int32, d Decimal) (Decimal, error) {
	prec, scale, ok := NumericMod(mod)
	if !ok || d.kind == decNaN {
		return d, nil
	}
	if d.kind != decFinite {
		return Decimal{}, errFieldOverflow().WithDetail(
			"A field with precision %d, scale %d cannot hold an infinite value.", prec, scale)
	}
	r := d.Round(int32(scale))
	if r.Sign() != 0 && r.leadExp() >= prec-scale {
		limit := "1"
		if prec != scale {
			limit = "10^" + strconv.Itoa(prec-scale)
		}
		return Decimal{}, errFieldOverflow().WithDetail(
			"A field with precision %d, scale %d must round to an absolute value less than %s.", prec, scale, limit)
	}
	return r, nil
}

// NumericTypmod packs the modifiers of numeric(p,s).
func NumericTypmod(mods []int32) (int32, error) {
	prec, scale := int32(0), int32(0)
	switch len(mods) {
	case 2:
		prec, scale = mods[0], mods[1]
	case 1:
		prec = mods[0]
	default:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid NUMERIC type modifier")
	}
	if prec < 1 || prec > MaxNumericPrecision {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "NUMERIC precision %d must be between 1 and %d", prec, MaxNumericPrecision)
	}
	if scale < -1000 || scale > 1000 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "NUMERIC scale %d must be between %d and %d", scale, -1000, 1000)
	}
	return (prec<<16 | scale&0x7ff) + 4, nil
}

// FitFixed rounds d to scale and checks that it fits the int64 of a fixed numeric.
func FitFixed(prec, scale int, d Decimal) (Decimal, error) {
	switch d.kind {
	case decFinite:
	case decNaN:
		return Decimal{}, pgerr.Unsupported("NaN in numeric(%d,%d) is not supported", prec, scale).
			WithHint("Use numeric, or numeric of more than 18 digits, which hold NaN.")
	default:
		return Decimal{}, errFieldOverflow().WithDetail(
			"A field with precision %d, scale %d cannot hold an infinite value.", prec, scale)
	}
	r := d.Round(int32(scale))
	if r.big != nil {
		return Decimal{}, errFieldOverflow()
	}
	return r, nil
}

// Fixed returns the int64 that represents d in a fixed numeric column of scale.
func (d Decimal) Fixed(scale int32) (int64, error) {
	c, ok := d.Coefficient(scale)
	if !ok {
		return 0, errFieldOverflow()
	}
	if d.scale > scale && (Decimal{coef: c, scale: scale}).Cmp(d) != 0 {
		return 0, pgerr.Internal("numeric %s does not fit scale %d", d, scale)
	}
	return c, nil
}
