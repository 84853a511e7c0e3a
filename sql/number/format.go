package number

import (
	"math"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/tochar"
)

// numFlags are the features a numeric format uses.
type numFlags uint16

const (
	nfDecimal numFlags = 1 << iota
	nfZero
	nfFill
	nfSign // S
	nfBracket
	nfMinus
	nfPlus
	nfRoman
	nfMulti
	nfExp
	nfBlank
)

type signPlace uint8

const (
	signNone signPlace = iota
	signPre
	signPost
)

// Format is a format of to_char for numbers, read once for many values.
type Format struct {
	nodes              []tochar.Node
	pre, post          int // digit places before and after the point
	sign               signPlace
	preAtSign          int
	flags              numFlags
	multi              int
	zeroStart, zeroEnd int
}

func (f *Format) has(x numFlags) bool { return f.flags&x != 0 }

// ParseFormat reads a format of to_char for numbers.
func ParseFormat(format string) (*Format, error) {
	f := &Format{}
	var err error
	f.nodes, err = tochar.Parse(format, false, f.note)
	return f, err
}

func errNumFormat(s string) *pgerr.Error { return pgerr.New(pgerr.SyntaxError, "%s", s) }

// note takes one node of the format into account.
func (f *Format) note(n *tochar.Node) error {
	if n.Kind != tochar.KindField {
		return nil
	}
	if f.has(nfExp) && n.Key.ID != tochar.NumE {
		return errNumFormat(`"EEEE" must be the last pattern used`)
	}
	switch n.Key.ID {
	case tochar.Num9:
		switch {
		case f.has(nfBracket):
			return errNumFormat(`"9" must be ahead of "PR"`)
		case f.has(nfMulti):
			f.multi++
		case f.has(nfDecimal):
			f.post++
		default:
			f.pre++
		}
	case tochar.Num0:
		if f.has(nfBracket) {
			return errNumFormat(`"0" must be ahead of "PR"`)
		}
		if !f.has(nfZero | nfDecimal) {
			f.flags |= nfZero
			f.zeroStart = f.pre + 1
		}
		if f.has(nfDecimal) {
			f.post++
		} else {
			f.pre++
		}
		f.zeroEnd = f.pre + f.post
	case tochar.NumB:
		if f.pre == 0 && f.post == 0 && !f.has(nfZero) {
			f.flags |= nfBlank
		}
	case tochar.NumD, tochar.NumPoint:
		if f.has(nfDecimal) {
			return errNumFormat("multiple decimal points")
		}
		if f.has(nfMulti) {
			return errNumFormat(`cannot use "V" and decimal point together`)
		}
		f.flags |= nfDecimal
	case tochar.NumFM:
		f.flags |= nfFill
	case tochar.NumS:
		if f.has(nfSign) {
			return errNumFormat(`cannot use "S" twice`)
		}
		if f.has(nfPlus | nfMinus | nfBracket) {
			return errNumFormat(`cannot use "S" and "PL"/"MI"/"SG"/"PR" together`)
		}
		f.flags |= nfSign
		if !f.has(nfDecimal) {
			f.sign, f.preAtSign = signPre, f.pre
		} else if f.sign == signNone {
			f.sign = signPost
		}
	case tochar.NumMI:
		if f.has(nfSign) {
			return errNumFormat(`cannot use "S" and "MI" together`)
		}
		f.flags |= nfMinus
	case tochar.NumPL:
		if f.has(nfSign) {
			return errNumFormat(`cannot use "S" and "PL" together`)
		}
		f.flags |= nfPlus
	case tochar.NumSG:
		if f.has(nfSign) {
			return errNumFormat(`cannot use "S" and "SG" together`)
		}
		f.flags |= nfMinus | nfPlus
	case tochar.NumPR:
		if f.has(nfSign | nfPlus | nfMinus) {
			return errNumFormat(`cannot use "PR" and "S"/"PL"/"MI"/"SG" together`)
		}
		f.flags |= nfBracket
	case tochar.NumRN:
		f.flags |= nfRoman
	case tochar.NumV:
		if f.has(nfDecimal) {
			return errNumFormat(`cannot use "V" and decimal point together`)
		}
		f.flags |= nfMulti
	case tochar.NumE:
		if f.has(nfExp) {
			return errNumFormat(`cannot use "EEEE" twice`)
		}
		if f.has(nfBlank | nfFill | nfSign | nfBracket | nfMinus | nfPlus | nfRoman | nfMulti) {
			return errNumFormat(`"EEEE" is incompatible with other formats`).
				WithDetail(`"EEEE" may only be used together with digit and decimal point patterns.`)
		}
		f.flags |= nfExp
	}
	return nil
}

// Numeric is to_char() of a numeric. The format is not changed, its copy is.
func (f Format) Numeric(d Decimal) (string, error) {
	switch {
	case f.has(nfRoman):
		n, err := d.Round(0).ToInt(32)
		if err != nil {
			return "", err
		}
		return f.write(roman(n), 0, '+')
	case f.has(nfExp):
		if d.kind != decFinite {
			return f.hashes(), nil
		}
		s := d.scientific(f.post)
		return plusToBlank(s), nil
	}
	if f.has(nfMulti) {
		p, err := Decimal{coef: 10}.Pow(Decimal{coef: int64(f.multi)})
		if err != nil {
			return "", err
		}
		if d, err = d.Mul(p); err != nil {
			return "", err
		}
		f.pre += f.multi
	}
	return f.digits(d.Round(int32(f.post)).String())
}

// Int is to_char() of an integer type; int8 goes by numeric.
func (f Format) Int(bits int, v int64) (string, error) {
	if f.has(nfExp) && bits < 64 {
		return plusToBlank(strconv.FormatFloat(float64(v), 'e', f.post, 64)), nil
	}
	if f.has(nfMulti) && !f.has(nfRoman) && bits < 64 {
		// The value moved by V must be an integer of four bytes again.
		if p := math.Pow(10, float64(f.multi)); math.Abs(float64(v))*p > math.MaxInt32 {
			return "", pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range")
		}
	}
	return f.Numeric(DecimalFromInt64(v, 0))
}

func plusToBlank(s string) string {
	if s[0] != '-' {
		return " " + s
	}
	return s
}

// Float is to_char() of float8 (bits 64) or float4 (bits 32).
func (f Format) Float(v float64, bits int) (string, error) {
	finite := !math.IsNaN(v) && !math.IsInf(v, 0)
	wide := 15
	if bits == 32 {
		wide = 6
	}
	switch {
	case f.has(nfRoman):
		r := math.RoundToEven(v)
		if !(r >= math.MinInt32 && r <= math.MaxInt32) {
			r = 0 // has no numeral
		}
		return f.write(roman(int64(r)), 0, '+')
	case f.has(nfExp):
		if !finite {
			return f.hashes(), nil
		}
		return plusToBlank(strconv.FormatFloat(v, 'e', f.post, 64)), nil
	}
	if f.has(nfMulti) {
		v *= math.Pow(10, float64(f.multi))
		if bits == 32 {
			v = float64(float32(v))
		}
		f.pre += f.multi
	}
	// No more digits than the type has, for which Infinity counts as eight.
	n := len(strconv.FormatFloat(math.Abs(v), 'f', 0, 64))
	if !finite {
		n = len(AppendFloat(nil, math.Abs(v), 64, 1))
	}
	if n >= wide {
		f.post = 0
	} else if n+f.post > wide {
		f.post = wide - n
	}
	if !finite {
		return f.digits(string(AppendFloat(nil, v, 64, 1)))
	}
	return f.digits(strconv.FormatFloat(v, 'f', f.post, 64))
}

// scientific prints d with so many digits after the point and an exponent of
// at least two digits.
func (d Decimal) scientific(digits int) string {
	exp := 0
	if d.Sign() != 0 {
		exp = d.leadExp()
	}
	// The exponent is of the number before rounding: 999.5 is written as 10e+02.
	coef := d.Abs()
	if n := digits - exp - int(d.scale); n >= 0 {
		coef = coef.Round(int32(digits - exp))
		coef = mkDecimal(coef.coefBig(), int32(digits))
	} else {
		coef = mkDecimal(coef.coefBig(), int32(digits)-int32(n)).Round(int32(digits))
	}
	s := coef.String()
	if d.Sign() < 0 {
		s = "-" + s
	}
	sign := "+"
	if exp < 0 {
		sign, exp = "-", -exp
	}
	e := strconv.Itoa(exp)
	if len(e) < 2 {
		e = "0" + e
	}
	return s + "e" + sign + e
}

func roman(n int64) string {
	if n > 3999 || n < 1 {
		return strings.Repeat("#", 15)
	}
	var b strings.Builder
	for _, r := range []struct {
		v int64
		s string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"},
		{10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= r.v {
			b.WriteString(r.s)
			n -= r.v
		}
	}
	return b.String()
}

// hashes is what EEEE shows for what is not finite.
func (f *Format) hashes() string {
	return " " + strings.Repeat("#", f.pre) + "." + strings.Repeat("#", f.post+4)
}

// digits lays the text of a number out.
func (f *Format) digits(s string) (string, error) {
	sign := byte('+')
	if s[0] == '-' {
		sign, s = '-', s[1:]
	}
	n := strings.IndexByte(s, '.')
	if n < 0 {
		n = len(s)
	}
	spaces := 0
	if n < f.pre {
		spaces = f.pre - n
	} else if n > f.pre {
		s = strings.Repeat("#", f.pre) + "." + strings.Repeat("#", f.post)
	}
	return f.write(s, spaces, sign)
}
