package number

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Limits of a numeric, as PostgreSQL's storage form sets them.
const (
	MaxNumericPrecision = 1000   // largest p of numeric(p,s)
	maxDisplayScale     = 16383  // digits after the point
	maxResultScale      = 2000   // what round() and trunc() accept
	maxIntDigits        = 131072 // digits before the point
)

type decKind uint8

const (
	decFinite decKind = iota
	decNaN
	decPosInf
	decNegInf
)

// Decimal is an exact number with a display scale: the value is the
// coefficient times 10^-scale, and scale is how many digits after the point it
// prints, so 1.0 and 1.00 are equal but print differently. NaN and the two
// infinities are values too, as in PostgreSQL, NaN being equal to itself and
// greater than everything. A Decimal is immutable; the zero value is 0.
type Decimal struct {
	coef  int64
	big   *big.Int // set only where the coefficient does not fit coef; never modified
	scale int32
	kind  decKind
}

// The special values.
var (
	DecimalNaN    = Decimal{kind: decNaN}
	DecimalInf    = Decimal{kind: decPosInf}
	DecimalNegInf = Decimal{kind: decNegInf}
)

var (
	bigTen   = big.NewInt(10)
	bigPow10 = func() (t [80]*big.Int) {
		t[0] = big.NewInt(1)
		for i := 1; i < len(t); i++ {
			t[i] = new(big.Int).Mul(t[i-1], bigTen)
		}
		return t
	}()
)

// pow10Big returns 10^n; the result must not be modified.
func pow10Big(n int) *big.Int {
	if n < len(bigPow10) {
		return bigPow10[n]
	}
	return new(big.Int).Exp(bigTen, big.NewInt(int64(n)), nil)
}

// digits64 counts decimal digits; 0 has none.
func digits64(u uint64) int {
	if u == 0 {
		return 0
	}
	n := bits.Len64(u) * 1233 >> 12
	if n < 20 && u >= checked.Pow10[n] {
		n++
	}
	return n
}

func digitsBig(b *big.Int) int {
	if b.Sign() == 0 {
		return 0
	}
	n := int(float64(b.BitLen()-1) * 0.30102999566398120) // at most one below the answer less one
	for p := pow10Big(n); b.CmpAbs(p) >= 0; {
		if n++; n < len(bigPow10) {
			p = bigPow10[n]
		} else {
			p = new(big.Int).Mul(p, bigTen)
		}
	}
	return n
}

// mkDecimal takes over b.
func mkDecimal(b *big.Int, scale int32) Decimal {
	if b.IsInt64() {
		return Decimal{coef: b.Int64(), scale: scale}
	}
	return Decimal{big: b, scale: scale}
}

func errNumericOverflow() *pgerr.Error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")
}

// checked returns d, or the overflow error where d is beyond what a numeric may be.
func (d Decimal) checked() (Decimal, error) {
	if d.scale > maxDisplayScale {
		return Decimal{}, errNumericOverflow()
	}
	if d.big != nil && d.big.BitLen() > 400000 && d.leadExp() >= maxIntDigits {
		return Decimal{}, errNumericOverflow()
	}
	return d, nil
}

// coefBig returns the coefficient as a big.Int that must not be modified.
func (d Decimal) coefBig() *big.Int {
	if d.big != nil {
		return d.big
	}
	return big.NewInt(d.coef)
}

func (d Decimal) numDigits() int {
	if d.big != nil {
		return digitsBig(d.big)
	}
	return digits64(checked.Abs(d.coef))
}

// leadExp returns the power of ten of the first significant digit; 0 has -scale-1.
func (d Decimal) leadExp() int { return d.numDigits() - 1 - int(d.scale) }

// DecimalFromInt64 returns v times 10^-scale.
func DecimalFromInt64(v int64, scale int32) Decimal {
	if scale < 0 {
		return Decimal{coef: v}.shift(int(-scale))
	}
	return Decimal{coef: v, scale: scale}
}

// shift returns d times 10^n (n >= 0) without a scale change.
func (d Decimal) shift(n int) Decimal {
	return mkDecimal(new(big.Int).Mul(d.coefBig(), pow10Big(n)), d.scale)
}

// DecimalFromBig returns v times 10^-scale; it copies v.
func DecimalFromBig(v *big.Int, scale int32) Decimal { return mkDecimal(new(big.Int).Set(v), scale) }

// DecimalFromFloat64 converts with the 15 significant digits that PostgreSQL
// keeps of a double precision.
func DecimalFromFloat64(f float64) Decimal { return decimalFromFloat(f, 15) }

// DecimalFromFloat32 converts with 6 significant digits, as for real.
func DecimalFromFloat32(f float32) Decimal { return decimalFromFloat(float64(f), 6) }

func decimalFromFloat(f float64, prec int) Decimal {
	switch {
	case math.IsNaN(f):
		return DecimalNaN
	case math.IsInf(f, 1):
		return DecimalInf
	case math.IsInf(f, -1):
		return DecimalNegInf
	}
	// A float64 nearest to a decimal of up to 15 digits has that decimal as its first 15, as prices have.
	if n := math.RoundToEven(f * 1e6); prec == 15 && n/1e6 == f && math.Abs(n) < 1e15 {
		return Decimal{coef: int64(n), scale: 6}.trimZeros()
	}
	var room [32]byte
	text := strconv.AppendFloat(room[:0], f, 'e', prec-1, 64)
	if d, ok := decimalOfScientific(text); ok {
		return d.trimZeros()
	}
	d, ok := scanDecimal(string(text))
	if !ok {
		return Decimal{}
	}
	return d.trimZeros()
}

// decimalOfScientific reads what strconv.AppendFloat wrote of up to 18 digits, where a fraction is left: -1.234e+02.
func decimalOfScientific(b []byte) (d Decimal, ok bool) {
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	places, at := 0, 0
	for ; at < len(b) && b[at] != 'e'; at++ {
		if b[at] != '.' {
			d.coef, places = 10*d.coef+int64(b[at]-'0'), places+1
		}
	}
	if at+2 > len(b) || places > 18 {
		return Decimal{}, false
	}
	exp := 0
	for _, digit := range b[at+2:] {
		exp = 10*exp + int(digit-'0')
	}
	if b[at+1] == '-' {
		exp = -exp
	}
	if d.scale = int32(places - 1 - exp); d.scale < 0 {
		return Decimal{}, false
	}
	if neg {
		d.coef = -d.coef
	}
	return d, true
}

// trimZeros drops the zeros at the end of the fraction.
func (d Decimal) trimZeros() Decimal {
	if d.kind != decFinite || d.scale <= 0 {
		return d
	}
	if d.big == nil {
		for d.scale > 0 && d.coef%10 == 0 {
			d.coef /= 10
			d.scale--
		}
		return d
	}
	q, r := new(big.Int), new(big.Int)
	b := d.big
	for step := 1024; step >= 1; step /= 2 {
		for int(d.scale) >= step {
			q.QuoRem(b, pow10Big(step), r)
			if r.Sign() != 0 {
				break
			}
			b = new(big.Int).Set(q)
			d.scale -= int32(step)
		}
	}
	return mkDecimal(b, d.scale)
}

// TrimScale returns trim_scale(): d at the least scale without loss.
func (d Decimal) TrimScale() Decimal { return d.trimZeros() }

// MinScale returns min_scale(): the scale that the value needs.
func (d Decimal) MinScale() int32 { return d.trimZeros().scale }

// ParseDecimal reads PostgreSQL's text form: digits with an optional point and
// exponent, NaN, Infinity, blanks around.
func ParseDecimal(s string) (Decimal, error) {
	d, ok := scanDecimal(s)
	if !ok {
		return Decimal{}, pgerr.InvalidText("numeric", s)
	}
	if d.kind == decFinite && d.scale < 0 {
		return Decimal{}, errNumericOverflow() // scanDecimal's mark for an exponent out of bounds
	}
	return d.checked()
}

// scanDecimal is ParseDecimal without the error value and the limits.
func scanDecimal(text string) (Decimal, bool) {
	s := ascii.TrimSpace(text)
	if s == "" {
		return Decimal{}, false
	}
	if len(s) <= 9 {
		switch strings.ToLower(s) {
		case "nan":
			return DecimalNaN, true
		case "infinity", "+infinity", "inf", "+inf":
			return DecimalInf, true
		case "-infinity", "-inf":
			return DecimalNegInf, true
		}
	}
	neg := false
	if s[0] == '+' || s[0] == '-' {
		neg = s[0] == '-'
		s = s[1:]
	}
	i, point, nd := 0, -1, 0
	var u uint64
	small := true
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && point < 0 {
			point = i
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		nd++
		if small {
			if u > (math.MaxInt64-9)/10 {
				small = false
			} else {
				u = u*10 + uint64(c-'0')
			}
		}
	}
	if nd == 0 {
		return Decimal{}, false
	}
	mant, scale := s[:i], 0
	if point >= 0 {
		scale = i - point - 1
	}
	exp := 0
	if i < len(s) {
		if s[i] != 'e' && s[i] != 'E' {
			return Decimal{}, false
		}
		e := s[i+1:]
		j, eneg := 0, false
		if j < len(e) && (e[j] == '+' || e[j] == '-') {
			eneg = e[j] == '-'
			j++
		}
		if j == len(e) {
			return Decimal{}, false
		}
		for ; j < len(e); j++ {
			if e[j] < '0' || e[j] > '9' {
				return Decimal{}, false
			}
			if exp = exp*10 + int(e[j]-'0'); exp >= math.MaxInt32/2 {
				return Decimal{scale: -1}, true
			}
		}
		if eneg {
			exp = -exp
		}
	}
	var d Decimal
	if small {
		d.coef = int64(u)
		if neg {
			d.coef = -d.coef
		}
	} else {
		digits := mant
		if point >= 0 {
			digits = mant[:point] + mant[point+1:]
		}
		b, ok := new(big.Int).SetString(digits, 10)
		if !ok {
			return Decimal{}, false
		}
		if neg {
			b.Neg(b)
		}
		d = mkDecimal(b, 0)
	}
	scale -= exp
	switch {
	case d.Sign() == 0:
		d.scale = int32(max(scale, 0))
	case scale >= 0:
		d.scale = int32(scale)
	case -scale+d.numDigits() > maxIntDigits:
		return Decimal{scale: -1}, true
	default:
		d = d.shift(-scale)
	}
	return d, true
}

// IsNaN reports whether d is NaN.
func (d Decimal) IsNaN() bool { return d.kind == decNaN }

// IsInf reports whether d is an infinity: of either sign for 0, else of sign's.
func (d Decimal) IsInf(sign int) bool {
	return sign >= 0 && d.kind == decPosInf || sign <= 0 && d.kind == decNegInf
}

// IsFinite reports whether d is an ordinary number.
func (d Decimal) IsFinite() bool { return d.kind == decFinite }

// Scale returns the number of digits after the point that d prints.
func (d Decimal) Scale() int32 { return d.scale }

// Sign returns -1, 0 or 1; 0 for NaN.
func (d Decimal) Sign() int {
	switch {
	case d.kind == decPosInf:
		return 1
	case d.kind == decNegInf:
		return -1
	case d.big != nil:
		return d.big.Sign()
	case d.coef > 0:
		return 1
	case d.coef < 0:
		return -1
	}
	return 0
}

// String returns PostgreSQL's text form.
func (d Decimal) String() string { return string(d.AppendText(nil)) }

// AppendText appends the text form.
func (d Decimal) AppendText(dst []byte) []byte {
	switch d.kind {
	case decNaN:
		return append(dst, "NaN"...)
	case decPosInf:
		return append(dst, "Infinity"...)
	case decNegInf:
		return append(dst, "-Infinity"...)
	}
	var buf [24]byte
	var digits []byte
	if d.big == nil {
		digits = strconv.AppendUint(buf[:0], checked.Abs(d.coef), 10)
	} else {
		digits = d.big.Append(buf[:0], 10)
		if digits[0] == '-' {
			digits = digits[1:]
		}
	}
	if d.Sign() < 0 {
		dst = append(dst, '-')
	}
	scale := int(d.scale)
	if scale == 0 {
		return append(dst, digits...)
	}
	if n := len(digits); n > scale {
		dst = append(dst, digits[:n-scale]...)
		dst = append(dst, '.')
		return append(dst, digits[n-scale:]...)
	}
	dst = append(dst, '0', '.')
	for range scale - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// Float64 returns the nearest float64, an infinity beyond the range.
func (d Decimal) Float64() float64 {
	switch d.kind {
	case decNaN:
		return math.NaN()
	case decPosInf:
		return math.Inf(1)
	case decNegInf:
		return math.Inf(-1)
	}
	if d.big == nil && d.scale <= 22 && checked.Abs(d.coef) < 1<<53 {
		return float64(d.coef) / float64Pow10[d.scale] // both exact: correctly rounded
	}
	if f, ok := nearest(d); ok {
		return f
	}
	f, _ := strconv.ParseFloat(d.String(), 64)
	return f
}

var float64Pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Int64 rounds to the nearest integer, halves away from zero; ok is false
// where that does not fit, and for NaN and infinities.
func (d Decimal) Int64() (v int64, ok bool) {
	if d.kind != decFinite {
		return 0, false
	}
	if d.scale > 0 {
		d = d.Round(0)
	}
	return d.coef, d.big == nil
}

// Coefficient returns d times 10^scale where that is an exact int64 after
// rounding to scale, as the fixed form of a numeric column needs.
func (d Decimal) Coefficient(scale int32) (v int64, ok bool) {
	if d.kind != decFinite {
		return 0, false
	}
	if d.scale != scale {
		d = d.Round(scale)
	}
	return d.coef, d.big == nil
}

// ToInt casts to an integer type, rounding halves away from zero.
func (d Decimal) ToInt(bits int) (int64, error) {
	name := intName(bits)
	switch d.kind {
	case decFinite:
	case decNaN:
		return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot convert NaN to %s", name)
	default:
		return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot convert infinity to %s", name)
	}
	v, ok := d.Int64()
	if !ok || v != v<<(64-bits)>>(64-bits) {
		return 0, pgerr.OutOfRange(name)
	}
	return v, nil
}

// ToFloat casts to float8 (bits 64) or float4 (bits 32).
func (d Decimal) ToFloat(bits int) (float64, error) {
	if d.kind != decFinite || bits == 64 && d.big == nil && d.scale <= 22 {
		return d.Float64(), nil
	}
	return ParseFloat(bits, d.String())
}
