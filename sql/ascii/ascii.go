package ascii

import "math"

// IsSpace is C's isspace: blank, \t, \n, \v, \f, \r.
func IsSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// IsDigit reports whether c is 0 to 9.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsAlpha reports whether c is a letter.
func IsAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsAlnum reports whether c is a letter or a digit.
func IsAlnum(c byte) bool { return IsDigit(c) || IsAlpha(c) }

// IsPunct reports whether c is printed and neither a letter nor a digit.
func IsPunct(c byte) bool { return c > ' ' && c < 0x7f && !IsAlnum(c) }

// Lower is c in lower case.
func Lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 32
	}
	return c
}

// TrimSpace drops what IsSpace knows from both ends.
func TrimSpace(s string) string {
	for len(s) > 0 && IsSpace(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && IsSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// HexDigit is the value of a hexadecimal digit; ok is false for another byte.
func HexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// LeadingInt reads an integer as C's strtol does and returns how many bytes it took.
func LeadingInt(s string) (v int64, n int, over bool) {
	for n < len(s) && IsSpace(s[n]) {
		n++
	}
	neg := false
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		neg = s[n] == '-'
		n++
	}
	from := n
	for n < len(s) && IsDigit(s[n]) {
		if v < math.MaxInt64/100 {
			v = v*10 + int64(s[n]-'0')
		} else {
			over = true
		}
		n++
	}
	if n == from {
		return 0, 0, false
	}
	if neg {
		v = -v
	}
	return v, n, over || v > math.MaxInt32 || v < math.MinInt32
}
