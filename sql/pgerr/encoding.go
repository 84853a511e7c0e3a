package pgerr

import (
	"strings"
	"unicode/utf8"
)

// CheckUTF8 refuses text that is not valid UTF-8 or holds a zero byte.
func CheckUTF8(s string) error {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == 0 || r == utf8.RuneError && n <= 1 {
			return badUTF8(s[i:])
		}
		i += n
	}
	return nil
}

func badUTF8(s string) error {
	n := 1
	switch c := s[0]; {
	case c >= 0xf0 && c < 0xf8:
		n = 4
	case c >= 0xe0:
		n = 3
	case c >= 0xc0:
		n = 2
	}
	if s[0] >= 0xf8 {
		n = 1
	}
	const digits = "0123456789abcdef"
	var b []byte
	for i := 0; i < min(n, len(s)); i++ {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, '0', 'x', digits[s[i]>>4], digits[s[i]&15])
	}
	return New(CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": %s", b)
}
