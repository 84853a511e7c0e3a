package types

import "unicode/utf8"

// A value of "char" is one byte, of which those beyond ASCII are written \ooo; the byte 0 is the
// empty string.

// ParseChar returns the value that s is the text of: its first byte, or what \ooo stands for.
func ParseChar(s string) string {
	octal := func(c byte) bool { return c >= '0' && c <= '7' }
	if len(s) == 4 && s[0] == '\\' && octal(s[1]) && octal(s[2]) && octal(s[3]) {
		return CharOf((s[1]-'0')<<6 | (s[2]-'0')<<3 | (s[3] - '0'))
	}
	if s == "" {
		return ""
	}
	return s[:1]
}

// CharOf returns the value of a byte.
func CharOf(b byte) string {
	if b == 0 {
		return ""
	}
	return string([]byte{b})
}

// CharText returns the text of a value.
func CharText(v string) string {
	if v == "" || v[0] < utf8.RuneSelf {
		return v
	}
	return string([]byte{'\\', '0' + v[0]>>6, '0' + v[0]>>3&7, '0' + v[0]&7})
}
