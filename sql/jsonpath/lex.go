package jsonpath

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/pgerr"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokOp            // punctuation, in text
	tokWord
	tokString
	tokNumber
	tokVariable
)

type token struct {
	kind tokenKind
	text string // of words, strings and variables their value, escapes undone
}

type lexer struct {
	s   string
	i   int
	tok token
}

func (l *lexer) fail(format string, args ...any) error {
	return pgerr.New(pgerr.SyntaxError, format+" of jsonpath input", args...)
}

// unexpected is the error at the token last read.
func (l *lexer) unexpected() error {
	if l.tok.kind == tokEnd {
		return l.fail("syntax error at end")
	}
	return l.fail("syntax error at or near \"%s\"", l.tok.text)
}

// special are the bytes that end a word.
const special = "?%$.[]{}()|&!=<>@#,*:-+/\"" + blanks
const blanks = " \t\n\r\f"

var operators = []string{"&&", "||", "==", "!=", "<>", "<=", ">=", "**", "=", "<", ">", "!", "?", "%", "$", ".", "[", "]", "{", "}", "(", ")", "@", ",", "*", "-", "+", "/"}

func (l *lexer) next() error {
	if err := l.skip(); err != nil {
		return err
	}
	rest := l.s[l.i:]
	if rest == "" {
		l.tok = token{}
		return nil
	}
	switch c := rest[0]; {
	case c == '"':
		return l.quoted(tokString)
	case c == '$' && len(rest) > 1 && rest[1] == '"':
		l.i++
		return l.quoted(tokVariable)
	case c == '$' && len(rest) > 1 && strings.IndexByte(special, rest[1]) < 0:
		l.i++
		return l.word(tokVariable)
	case digit(c), c == '.' && len(rest) > 1 && digit(rest[1]):
		return l.number()
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			l.i += len(op)
			l.tok = token{tokOp, op}
			if op == "=" {
				l.tok.text = "=="
			}
			if op == "<>" {
				l.tok.text = "!="
			}
			return nil
		}
	}
	if strings.IndexByte(special, rest[0]) >= 0 {
		return l.fail("syntax error at or near \"%s\"", rest[:1])
	}
	return l.word(tokWord)
}

// skip passes over blanks and comments.
func (l *lexer) skip() error {
	for l.i < len(l.s) {
		switch {
		case strings.IndexByte(blanks, l.s[l.i]) >= 0:
			l.i++
		case strings.HasPrefix(l.s[l.i:], "/*"):
			end := strings.Index(l.s[l.i+2:], "*/")
			if end < 0 {
				return l.fail("unexpected end of comment at end")
			}
			l.i += end + 4
		default:
			return nil
		}
	}
	return nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) number() error {
	from := l.i
	digits := func() {
		for l.i < len(l.s) && digit(l.s[l.i]) {
			l.i++
		}
	}
	digits()
	whole := l.s[from:l.i]
	if l.i < len(l.s) && l.s[l.i] == '.' {
		l.i++
		digits()
	}
	if rest := l.s[l.i:]; rest != "" && rest[0]|0x20 == 'e' {
		k := 1
		if k < len(rest) && (rest[k] == '+' || rest[k] == '-') {
			k++
		}
		if k < len(rest) && digit(rest[k]) {
			l.i += k
			digits()
		}
	}
	text := l.s[from:l.i]
	if rest := l.s[l.i:]; rest != "" && strings.IndexByte(special, rest[0]) < 0 || len(whole) > 1 && whole[0] == '0' {
		return l.fail("trailing junk after numeric literal at or near \"%s\"", text)
	}
	l.tok = token{tokNumber, text}
	return nil
}

func (l *lexer) word(kind tokenKind) error {
	var b []byte
	for l.i < len(l.s) && strings.IndexByte(special, l.s[l.i]) < 0 {
		if l.s[l.i] == '\\' {
			var err error
			if b, err = l.escape(b); err != nil {
				return err
			}
			continue
		}
		b = append(b, l.s[l.i])
		l.i++
	}
	l.tok = token{kind, string(b)}
	return nil
}

func (l *lexer) quoted(kind tokenKind) error {
	l.i++
	var b []byte
	for l.i < len(l.s) {
		switch l.s[l.i] {
		case '"':
			l.i++
			l.tok = token{kind, string(b)}
			return nil
		case '\\':
			var err error
			if b, err = l.escape(b); err != nil {
				return err
			}
		default:
			b = append(b, l.s[l.i])
			l.i++
		}
	}
	return l.fail("unterminated quoted string at end")
}

// escape reads a backslash and what it escapes.
func (l *lexer) escape(b []byte) ([]byte, error) {
	if l.i+1 >= len(l.s) {
		return nil, l.fail("unexpected end after backslash at end")
	}
	c := l.s[l.i+1]
	l.i += 2
	if at := strings.IndexByte("bfnrtv", c); at >= 0 {
		return append(b, "\b\f\n\r\t\v"[at]), nil
	}
	switch c {
	case 'x', 'u':
		read := l.unicode
		if c == 'x' {
			read = func() (rune, error) { return l.hex(2) }
		}
		r, err := read()
		if err == nil && r >= 0xd800 && r < 0xdc00 && strings.HasPrefix(l.s[l.i:], `\u`) {
			l.i += 2
			var low rune
			if low, err = l.unicode(); err == nil && low >= 0xdc00 && low < 0xe000 {
				r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
			}
		}
		switch {
		case err != nil:
			return nil, err
		case r == 0:
			return nil, pgerr.New(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence").WithDetail("\\u0000 cannot be converted to text.")
		case !utf8.ValidRune(r):
			return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type jsonpath").
				WithDetail("Unicode low surrogate must follow a high surrogate.")
		}
		return utf8.AppendRune(b, r), nil
	}
	return append(b, c), nil
}

// unicode reads what follows \u: four digits, or up to six in braces.
func (l *lexer) unicode() (rune, error) {
	if !strings.HasPrefix(l.s[l.i:], "{") {
		return l.hex(4)
	}
	end := strings.IndexByte(l.s[l.i:], '}')
	if end < 2 || end > 7 {
		return 0, l.fail("invalid Unicode escape sequence at or near \"%s\"", l.s[l.i:])
	}
	l.i++
	r, err := l.hex(end - 1)
	l.i++
	return r, err
}

func (l *lexer) hex(n int) (rune, error) {
	if l.i+n > len(l.s) {
		return 0, l.fail("invalid hexadecimal character sequence at end")
	}
	v, err := strconv.ParseUint(l.s[l.i:l.i+n], 16, 32)
	if err != nil {
		return 0, l.fail("invalid hexadecimal character sequence at or near \"%s\"", l.s[l.i:l.i+n])
	}
	l.i += n
	return rune(v), nil
}
