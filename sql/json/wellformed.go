package json

import "strings"

// wellFormed reports whether s is valid, of texts that need no closer look: most are. What is false may be valid too: it
// has \u in a string, or nests deeper than 64 levels. It is several times as fast as the lexer, whose errors say
// where they are.
func wellFormed(s string) bool {
	var objects uint64 // of the levels: 1 for an object
	depth, i := 0, 0
	for {
		// A value, or a member of an object.
		i = skipSpace(s, i)
		if depth > 0 && objects&1 == 1 {
			if i = quickString(s, i); i < 0 {
				return false
			}
			if i = skipSpace(s, i); i >= len(s) || s[i] != ':' {
				return false
			}
			i = skipSpace(s, i+1)
		}
		if i >= len(s) {
			return false
		}
		switch c := s[i]; c {
		case '{', '[':
			if depth == 64 {
				return false
			}
			depth++
			objects <<= 1
			if c == '{' {
				objects |= 1
			}
			if i = skipSpace(s, i+1); i >= len(s) || s[i] != c+2 {
				continue
			}
		case '"':
			i = quickString(s, i)
		case 't':
			i = quickWord(s, i, "true")
		case 'f':
			i = quickWord(s, i, "false")
		case 'n':
			i = quickWord(s, i, "null")
		default:
			i = quickNumber(s, i)
		}
		// What is after it.
		for {
			if i < 0 {
				return false
			}
			i = skipSpace(s, i)
			if depth == 0 {
				return i == len(s)
			}
			if i >= len(s) {
				return false
			}
			c := s[i]
			i++
			if c == ',' {
				break
			}
			if c == '}' && objects&1 == 1 || c == ']' && objects&1 == 0 {
				depth--
				objects >>= 1
				continue
			}
			return false
		}
	}
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// quickString returns the place after a string that begins at i; -1 if there is none, or one with \u.
func quickString(s string, i int) int {
	if i >= len(s) || s[i] != '"' {
		return -1
	}
	for i++; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c < 0x20:
			return -1
		case c == '\\':
			if i++; i >= len(s) || strings.IndexByte(`"\/bfnrt`, s[i]) < 0 {
				return -1
			}
		}
	}
	return -1
}

func quickWord(s string, i int, word string) int {
	if !strings.HasPrefix(s[i:], word) {
		return -1
	}
	return i + len(word)
}

// quickNumber returns the place after a number that begins at i; -1 if there is none.
func quickNumber(s string, i int) int {
	digits := func() {
		from := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		if i == from {
			i = len(s) + 1
		}
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else {
		digits()
	}
	if i < len(s) && s[i] == '.' {
		i++
		digits()
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		digits()
	}
	if i > len(s) {
		return -1
	}
	return i
}
