package number

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// intName is the type of integers of so many bits.
func intName(bits int) string {
	switch bits {
	case 16:
		return "smallint"
	case 32:
		return "integer"
	}
	return "bigint"
}

// ParseInt reads an integer of 16, 32 or 64 bits.
func ParseInt(bits int, text string) (int64, error) {
	s := ascii.TrimSpace(text)
	lo, hi, name := int64(-1)<<(bits-1), int64(1)<<(bits-1)-1, intName(bits)
	i, neg := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	if i == len(s) {
		return 0, pgerr.InvalidText(name, text)
	}
	var v int64 // kept negative: that side is longer
	for ; i < len(s); i++ {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, pgerr.InvalidText(name, text)
		}
		d := int64(c - '0')
		if v < (lo+d)/10 {
			return 0, pgerr.TextOutOfRange(name, text)
		}
		v = v*10 - d
	}
	switch {
	case neg:
	case v < -hi:
		return 0, pgerr.TextOutOfRange(name, text)
	default:
		v = -v
	}
	return v, nil
}

// ParseFloat reads a float4 (bits 32) or float8 (bits 64).
func ParseFloat(bits int, text string) (float64, error) {
	name := "double precision"
	if bits == 32 {
		name = "real"
	}
	s := ascii.TrimSpace(text)
	body := strings.TrimLeft(s, "+-")
	if len(s)-len(body) > 1 || body == "" || strings.IndexByte(s, '_') >= 0 {
		return 0, pgerr.InvalidText(name, text)
	}
	hex := len(body) > 2 && body[0] == '0' && body[1]|0x20 == 'x'
	if hex && !strings.ContainsAny(body, "pP") {
		s += "p0"
	}
	switch c := body[0] | 0x20; {
	case c == 'n':
		if len(body) != 3 {
			return 0, pgerr.InvalidText(name, text)
		}
	case c == 'i':
	case c >= '0' && c <= '9', body[0] == '.':
	default:
		return 0, pgerr.InvalidText(name, text)
	}
	if strings.EqualFold(body, "nan") {
		return math.NaN(), nil
	}
	num := s
	if !hex && !strings.EqualFold(body, "inf") && !strings.EqualFold(body, "infinity") {
		num = s[:len(s)-len(numberTail(s))]
	}
	f, err := strconv.ParseFloat(num, bits)
	if err == nil && f == 0 && !hex {
		// Go returns 0 for what is too small; here that is out of range too.
		mant := num
		if i := strings.IndexAny(num, "eE"); i >= 0 {
			mant = num[:i]
		}
		if strings.ContainsAny(mant, "123456789") {
			err = strconv.ErrRange
		}
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		// found before what follows the number is looked at
		if bits == 32 {
			num = text
		}
		return 0, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", num, name)
	case err != nil || num != s:
		return 0, pgerr.InvalidText(name, text)
	}
	return f, nil
}

// numberTail is what follows a decimal number.
func numberTail(s string) string {
	i := 0
	digits := func() {
		for i < len(s) && ascii.IsDigit(s[i]) {
			i++
		}
	}
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits()
	if i < len(s) && s[i] == '.' {
		i++
		digits()
	}
	if j := i; i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		from := i
		if digits(); i == from {
			i = j
		}
	}
	return s[i:]
}

// AppendFloat appends a float8 (bits 64) or float4 (bits 32) as PostgreSQL
// prints it: the shortest digits that read back the same where extra is above
// 0, else 15 + extra (6 + extra) significant digits.
func AppendFloat(dst []byte, f float64, bits, extra int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	prec, wide := -1, 15
	if bits == 32 {
		wide = 6
	}
	if extra <= 0 {
		prec = max(wide+extra, 1) - 1
	}
	// d.ddde±xx holds the digits and the exponent; choose the layout from them.
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], f, 'e', prec, bits)
	if prec < 0 && math.Abs(f) >= 1<<24 {
		e = strictShortest(e, f, bits)
	}
	if e[0] == '-' {
		dst = append(dst, '-')
		e = e[1:]
	}
	i := len(e) - 1
	for e[i] != 'e' {
		i--
	}
	exp, _ := strconv.Atoi(string(e[i+1:]))
	digits := e[:i]
	if len(digits) > 1 { // drop the point
		copy(digits[1:], digits[2:])
		digits = digits[:len(digits)-1]
	}
	if extra <= 0 {
		wide = max(wide+extra, 1)
		for len(digits) > 1 && digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
	}
	switch {
	case exp < -4 || exp >= wide:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		dst = append(dst, 'e')
		if exp < 0 {
			dst, exp = append(dst, '-'), -exp
		} else {
			dst = append(dst, '+')
		}
		if exp < 10 {
			dst = append(dst, '0')
		}
		return strconv.AppendInt(dst, int64(exp), 10)
	case exp < 0:
		dst = append(dst, '0', '.')
		for range -exp - 1 {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	case len(digits) <= exp+1:
		dst = append(dst, digits...)
		for range exp + 1 - len(digits) {
			dst = append(dst, '0')
		}
		return dst
	}
	dst = append(append(dst, digits[:exp+1]...), '.')
	return append(dst, digits[exp+1:]...)
}

// strictShortest returns more digits if e, the shortest text of f, is exactly halfway between f and its
// neighbour. It reads back as f only by the rule for ties, and PostgreSQL does not print such a text.
func strictShortest(e []byte, f float64, bits int) []byte {
	lim := 1 << 53
	if bits == 32 {
		lim = 1 << 24
	}
	if math.Abs(f) < float64(lim) {
		return e // a whole number, printed exactly
	}
	for isTie(string(e), f, bits) {
		digits := 0
		for _, c := range e[:bytes.IndexByte(e, 'e')] {
			if ascii.IsDigit(c) {
				digits++
			}
		}
		e = strconv.AppendFloat(e[:0], f, 'e', digits, bits) // one digit more
	}
	return e
}

func isTie(e string, f float64, bits int) bool {
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if exp > 45 {
		return false // 5^k has too many bits for a number of one bit more than f
	}
	d, ok := scanDecimal(e)
	if !ok {
		return false
	}
	exact, _ := new(big.Float).SetFloat64(f).Int(nil)
	diff := new(big.Int).Sub(d.coefBig(), exact)
	if diff.Sign() == 0 || d.scale > 0 {
		return false
	}
	// Half the distance to the neighbour on d's side.
	var next float64
	away := diff.Sign() > 0 == (f > 0)
	to := 0.0
	if away {
		to = math.Inf(int(math.Copysign(1, f)))
	}
	if bits == 32 {
		next = float64(math.Nextafter32(float32(f), float32(to)))
	} else {
		next = math.Nextafter(f, to)
	}
	if math.IsInf(next, 0) {
		return false
	}
	gap, _ := new(big.Float).SetFloat64(next).Int(nil)
	gap.Sub(gap, exact)
	return diff.Lsh(diff, 1).Cmp(gap) == 0
}
