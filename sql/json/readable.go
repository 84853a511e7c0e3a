package json

import (
	"math/bits"
	"strings"
)

// Readable returns a text of the jsonb value that a valid json text is made to: as it lies wherever numbers and strings mean
// to jsonb what they are, which is not so of 1e2, -0 and of what \u spells. Its members are in any order, and of
// duplicates the last counts. Errors are those of CanonicalJSONB.
func Readable(s string) (string, error) {
	if s == "" || len(s) > longest || strings.Contains(s, `\u`) || respelt(s) {
		return CanonicalJSONB(s)
	}
	if s[0] <= ' ' || s[len(s)-1] <= ' ' {
		s = strings.Trim(s, " \t\n\r")
	}
	return s, nil
}

// longest is how long a text may be that is as it lies; no number in it has too many digits.
const longest = 1 << 16

// respelt reports whether numbers of s may be spelt otherwise by jsonb. It looks at eight bytes at a time.
func respelt(s string) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		e, minus := (w|0x20*ones)^'e'*ones, w^'-'*ones
		for found := ((e-ones)&^e | (minus-ones)&^minus) & tops; found != 0; found &= found - 1 {
			if respeltAt(s, i+bits.TrailingZeros64(found)/8) {
				return true
			}
		}
	}
	for ; i < len(s); i++ {
		if respeltAt(s, i) {
			return true
		}
	}
	return false
}

// respeltAt reports whether the byte at i is the e of 1e2, or the sign of -0.
func respeltAt(s string, i int) bool {
	return s[i]|0x20 == 'e' && i > 0 && s[i-1]-'0' < 10 || s[i] == '-' && i+1 < len(s) && s[i+1] == '0'
}

// ContainsReadable is Contains for what Readable returns.
func ContainsReadable(s string, w Value) bool { return anyOrder.contains(s, w) }

// Quoted is the longest string of v, with quotes, that a text which contains v has somewhere unless it has escapes; empty
// if there is none.
func (v Value) Quoted() (text string) {
	longer := func(s string) {
		if len(s)+2 > len(text) && s != "" && plainText(s) {
			text = `"` + s + `"`
		}
	}
	if v.Kind == String {
		longer(v.Str)
	}
	for _, k := range v.Keys {
		longer(k)
	}
	for _, e := range v.Elems {
		if t := e.Quoted(); len(t) > len(text) {
			text = t
		}
	}
	return text
}

// plainText reports whether s has no character that must be escaped.
func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' {
			return false
		}
	}
	return true
}

// Lacks reports whether a text surely has no such string as Quoted returns, or a string of which part is the text.
func Lacks(s, part string) bool {
	return part != "" && !strings.Contains(s, part) && strings.IndexByte(s, '\\') < 0
}
