package lex

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Literal is the value of a string token, quotes and escapes undone.
func (s *Source) Literal(i int) string {
	raw := s.Raw(i)
	if raw == "" {
		return ""
	}
	if s.MySQL {
		return MySQLLiteral(raw)
	}
	if raw[0] == '$' {
		n := strings.IndexByte(raw[1:], '$') + 2
		return raw[n : len(raw)-n]
	}
	mode := byte('q')
	switch raw[0] {
	case 'e', 'E':
		mode, raw = 'e', raw[1:]
	case 'n', 'N':
		raw = raw[1:]
	case 'u', 'U':
		mode, raw = 'u', raw[2:]
	}
	body := joinParts(raw, mode == 'e')
	switch mode {
	case 'e':
		return unescape(body)
	case 'u':
		return decodeUnicode(body, '\\')
	}
	return body
}

// joinParts undoes 'a”b' and 'a'<newline>'b'. Backslash pairs are kept for
// unescape when escapes is set, so that \' does not end a part.
func joinParts(raw string, escapes bool) string {
	var b strings.Builder
	in := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case !in:
			if c == '-' && i+1 < len(raw) && raw[i+1] == '-' {
				for i < len(raw) && raw[i] != '\n' && raw[i] != '\r' {
					i++
				}
			}
			in = c == '\''
		case c == '\\' && escapes && i+1 < len(raw):
			b.WriteByte(c)
			i++
			b.WriteByte(raw[i])
		case c == '\'' && i+1 < len(raw) && raw[i+1] == '\'':
			b.WriteByte(c)
			i++
		case c == '\'':
			in = false
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape undoes the backslash sequences of an E” string.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b, high := make([]byte, 0, len(s)), rune(0)
	number := func(i, most, base int) (int, byte) {
		n := i
		for n < len(s) && n < i+most && (base == 16 && isHex(s[n]) || base == 8 && s[n] >= '0' && s[n] <= '7') {
			n++
		}
		v, _ := strconv.ParseUint(s[i:n], base, 32)
		return n, byte(v)
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch c := s[i]; {
		case c == 'b':
			b = append(b, '\b')
		case c == 'f':
			b = append(b, '\f')
		case c == 'n':
			b = append(b, '\n')
		case c == 'r':
			b = append(b, '\r')
		case c == 't':
			b = append(b, '\t')
		case c >= '0' && c <= '7':
			n, v := number(i, 3, 8)
			b, i = append(b, v), n-1
		case c == 'x' && i+1 < len(s) && isHex(s[i+1]):
			n, v := number(i+1, 2, 16)
			b, i = append(b, v), n-1
		case (c == 'u' || c == 'U') && len(s) >= i+1+hexDigits(c):
			v, _ := strconv.ParseUint(s[i+1:i+1+hexDigits(c)], 16, 32)
			b, i = appendUnit(b, rune(v), &high), i+hexDigits(c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// isByteEscape reports whether s begins with \xHH or \OOO.
func isByteEscape(s string) bool {
	return len(s) > 1 && s[0] == '\\' && (s[1] == 'x' || s[1] >= '0' && s[1] <= '7')
}

// ByteEscapes reports whether token i is an E” string that may have bytes written as numbers.
func (s *Source) ByteEscapes(i int) bool {
	raw := s.Raw(i)
	if s.Kind(i) != String || raw[0]|0x20 != 'e' {
		return false
	}
	for at := 0; ; at++ {
		n := strings.IndexByte(raw[at:], '\\')
		if n < 0 {
			return false
		}
		if at += n; isByteEscape(raw[at:]) {
			return true
		}
	}
}

// appendUnit appends what a Unicode escape stands for; the first of a pair of surrogates is kept in
// high until the second comes.
func appendUnit(b []byte, r rune, high *rune) []byte {
	switch {
	case !utf16.IsSurrogate(r):
	case *high == 0:
		*high = r
		return b
	default:
		r, *high = utf16.DecodeRune(*high, r), 0
	}
	return utf8.AppendRune(b, r)
}

func hexDigits(c byte) int {
	if c == 'u' {
		return 4
	}
	return 8
}

// decodeUnicode undoes \XXXX and \+XXXXXX; what is no escape stays as it is.
func decodeUnicode(s string, esc byte) string {
	if strings.IndexByte(s, esc) < 0 {
		return s
	}
	b, high := make([]byte, 0, len(s)), rune(0)
	for i := 0; i < len(s); i++ {
		if s[i] != esc || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		from, n := i+1, 4
		if s[from] == esc {
			b = append(b, esc)
			i++
			continue
		}
		if s[from] == '+' {
			from, n = from+1, 6
		}
		if from+n > len(s) {
			b = append(b, s[i])
			continue
		}
		v, err := strconv.ParseUint(s[from:from+n], 16, 32)
		if err != nil {
			b = append(b, s[i])
			continue
		}
		b = appendUnit(b, rune(v), &high)
		i = from + n - 1
	}
	return string(b)
}

// CheckEscapes finds what is wrong with the U& string or name at token i.
func (s *Source) CheckEscapes(i int) *pgerr.Error {
	esc := byte('\\')
	if s.IsWord(i+1, "uescape") {
		near := func(message string) *pgerr.Error {
			if i+2 >= len(s.Toks) {
				return pgerr.New(pgerr.SyntaxError, "%s at end of input", message).At(CharPos(s.Text, len(s.Text)))
			}
			return pgerr.New(pgerr.SyntaxError, `%s at or near "%s"`, message, s.Raw(i+2)).At(s.Pos(i + 2))
		}
		if s.Kind(i+2) != String || s.Raw(i + 2)[0] != '\'' {
			return near("UESCAPE must be followed by a simple string literal")
		}
		v := s.Literal(i + 2)
		if len(v) != 1 || isHex(v[0]) || ascii.IsSpace(v[0]) || strings.IndexByte(`+'"`, v[0]) >= 0 {
			return near("invalid Unicode escape character")
		}
		esc = v[0]
	}
	body := s.Raw(i)[3 : len(s.Raw(i))-1]
	if at, message := badEscape(body, esc); message != "" {
		e := pgerr.New(pgerr.SyntaxError, "%s", message).At(CharPos(s.Text, int(s.Toks[i].Start)+3+at))
		if message == "invalid Unicode escape" {
			e.Hint = `Unicode escapes must be \XXXX or \+XXXXXX.`
		}
		return e
	}
	return nil
}

// badEscape finds the first wrong escape in the body of a U& string.
func badEscape(body string, esc byte) (at int, message string) {
	var high uint64
	for i := 0; i < len(body); {
		if body[i] != esc || i+1 < len(body) && body[i+1] == esc {
			if high != 0 {
				return i, "invalid Unicode surrogate pair"
			}
			if body[i] == esc {
				i++
			}
			i++
			continue
		}
		from, n := i+1, 4
		if from < len(body) && body[from] == '+' {
			from, n = from+1, 6
		}
		if from+n > len(body) {
			return i, "invalid Unicode escape"
		}
		v, err := strconv.ParseUint(body[from:from+n], 16, 32)
		low := v >= 0xDC00 && v <= 0xDFFF
		switch {
		case err != nil:
			return i, "invalid Unicode escape"
		case v == 0 || v > 0x10FFFF:
			return i, "invalid Unicode escape value"
		case low != (high != 0):
			return i, "invalid Unicode surrogate pair"
		case v >= 0xD800 && v <= 0xDBFF:
			high = v
		default:
			high = 0
		}
		i = from + n
	}
	if high != 0 {
		return len(body), "invalid Unicode surrogate pair"
	}
	return 0, ""
}
