package lex

import (
	"strings"

	"github.com/tributarydb/tributary/sql/ascii"
)

// mysqlScanner reads tokens by MySQL's rules: "x" and 'x' are strings with
// backslash escapes, `x` is a name, # and -- begin comments, and the inside of
// a versioned comment is text:
//
//	/*!40101 SET NAMES utf8 */   three tokens, noted in source.versioned
//
// Vitess has its own scanner, which reads text that is joined from these
// tokens, so that the two cannot disagree about where a comment or a string
// ends: Vitess takes // for a comment, MySQL does not.
type mysqlScanner struct {
	scanner
	inside    bool // a versioned comment is open
	opened    int  // where
	versioned []Range
	from      int // its first token
}

// mysqlVersion is the release whose versioned comments are read.
const mysqlVersion = "80400"

// MySQL returns the tokens of text up to its end or the first lexical error, by
// the rules of MySQL.
func MySQL(text string) (*Source, *Error) {
	s := &mysqlScanner{scanner: scanner{text: text, toks: make([]Token, 0, len(text)/4+4)}}
	for s.err == nil && s.next() {
	}
	if s.err == nil && s.inside {
		s.fail(s.opened, len(text), "unterminated /* comment")
	}
	return &Source{Text: text, Toks: s.toks, MySQL: true, versioned: s.versioned}, s.err
}

func (s *mysqlScanner) next() bool {
	if !s.skipBlank() || s.pos >= len(s.text) {
		return false
	}
	start, c := s.pos, s.text[s.pos]
	lower := c | 0x20
	switch {
	case c == '\'' || c == '"':
		s.str(start, start)
	case (lower == 'x' || lower == 'b') && s.at(start+1) == '\'':
		s.str(start, start+1)
		if s.err == nil {
			s.toks[len(s.toks)-1].Kind = Bits
		}
	case lower == 'n' && s.at(start+1) == '\'':
		s.str(start, start+1)
	case c == '`':
		s.name(start)
	case c == '?':
		s.pos++
		s.emit(Param, start)
	case c == '$' && ascii.IsDigit(s.at(start+1)):
		s.pos++
		for ascii.IsDigit(s.at(s.pos)) {
			s.pos++
		}
		s.emit(Param, start)
	case c == '@':
		s.variable(start)
	case ascii.IsDigit(c) || c == '.' && ascii.IsDigit(s.at(start+1)) && !s.afterName(start):
		s.number(start)
	case isIdentStart(c) || c == '$':
		for s.pos < len(s.text) && isIdentPart(s.text[s.pos]) {
			s.pos++
		}
		s.emit(Ident, start)
	case strings.IndexByte(",()[].;{}", c) >= 0:
		s.pos++
		s.emit(Self, start)
	default:
		n := 1
		for _, op := range []string{"<=>", "->>", "->", "<=", ">=", "<>", "!=", "<<", ">>", "||", "&&", ":="} {
			if strings.HasPrefix(s.text[start:], op) {
				n = len(op)
				break
			}
		}
		s.pos += n
		if n > 1 || strings.IndexByte("+-*/%=<>!~^&|", c) >= 0 {
			s.emit(Op, start)
		} else {
			s.emit(Other, start)
		}
	}
	return s.err == nil
}

// afterName reports whether the dot at i follows a name, as in t.1a.
func (s *mysqlScanner) afterName(i int) bool {
	n := len(s.toks)
	return n > 0 && int(s.toks[n-1].End) == i && (s.toks[n-1].Kind == Ident || s.toks[n-1].Kind == Quoted)
}

func (s *mysqlScanner) skipBlank() bool {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case ascii.IsSpace(c):
			s.pos++
		case c == '#', c == '-' && s.at(s.pos+1) == '-' && (s.pos+2 >= len(s.text) || s.text[s.pos+2] <= ' '):
			for s.pos < len(s.text) && s.text[s.pos] != '\n' {
				s.pos++
			}
		case s.inside && c == '*' && s.at(s.pos+1) == '/':
			s.versioned = append(s.versioned, Range{Lo: s.from, Hi: len(s.toks)})
			s.inside = false
			s.pos += 2
		case c == '/' && s.at(s.pos+1) == '*':
			if s.at(s.pos+2) == '!' && !s.inside && s.openVersioned() {
				continue
			}
			end := strings.Index(s.text[s.pos+2:], "*/")
			if end < 0 {
				s.fail(s.pos, len(s.text), "unterminated /* comment")
				return false
			}
			s.pos += 2 + end + 2
		default:
			return true
		}
	}
	return true
}

// openVersioned steps into /*!NNNNN unless it is for a later release.
func (s *mysqlScanner) openVersioned() bool {
	i := s.pos + 3
	n := i
	for n < i+5 && ascii.IsDigit(s.at(n)) {
		n++
	}
	if n-i == 5 {
		if s.text[i:n] > mysqlVersion {
			return false
		}
		i = n
	}
	s.opened, s.inside, s.from, s.pos = s.pos, true, len(s.toks), i
	return true
}

// str reads a string whose quote is at open.
func (s *mysqlScanner) str(start, open int) {
	q := s.text[open]
	for s.pos = open + 1; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case q:
			if s.at(s.pos+1) != q {
				s.pos++
				s.emit(String, start)
				return
			}
			s.pos++
		}
	}
	s.pos = len(s.text)
	s.fail(start, len(s.text), "unterminated quoted string")
}

func (s *mysqlScanner) name(start int) {
	for s.pos = start + 1; s.pos < len(s.text); s.pos++ {
		if s.text[s.pos] != '`' {
			continue
		}
		if s.at(s.pos+1) == '`' {
			s.pos++
			continue
		}
		s.pos++
		if s.pos == start+2 {
			s.fail(start, s.pos, "zero-length delimited identifier")
			return
		}
		s.emit(Quoted, start)
		return
	}
	s.fail(start, len(s.text), "unterminated quoted identifier")
}

// variable reads @x, @@x, @@session.x and @`x`.
func (s *mysqlScanner) variable(start int) {
	s.pos++
	if s.at(s.pos) == '@' {
		s.pos++
	}
	if s.at(s.pos) == '`' {
		from := s.pos
		s.name(from)
		if s.err == nil {
			s.toks = s.toks[:len(s.toks)-1]
			s.emit(Other, start)
		}
		return
	}
	for s.pos < len(s.text) && (isIdentPart(s.text[s.pos]) || s.text[s.pos] == '.') {
		s.pos++
	}
	s.emit(Other, start)
}

// number reads a number, or a name that begins with digits.
func (s *mysqlScanner) number(start int) {
	digits := func() {
		for ascii.IsDigit(s.at(s.pos)) {
			s.pos++
		}
	}
	kind := Number
	if s.at(start) == '0' && (s.at(start+1)|0x20 == 'x' || s.at(start+1)|0x20 == 'b') {
		s.pos += 2
		for isHex(s.at(s.pos)) {
			s.pos++
		}
		kind = Bits
	} else {
		digits()
		if s.at(s.pos) == '.' {
			s.pos++
			digits()
		}
		if s.at(s.pos)|0x20 == 'e' {
			i := s.pos + 1
			if s.at(i) == '+' || s.at(i) == '-' {
				i++
			}
			if ascii.IsDigit(s.at(i)) {
				s.pos = i
				digits()
			}
		}
	}
	if s.pos < len(s.text) && isIdentPart(s.text[s.pos]) {
		if strings.IndexByte(s.text[start:s.pos], '.') >= 0 {
			s.fail(start, s.pos+charLen(s.text, s.pos), "trailing junk after numeric literal")
			return
		}
		for s.pos < len(s.text) && isIdentPart(s.text[s.pos]) {
			s.pos++
		}
		kind = Ident
	}
	s.emit(kind, start)
}

// MySQLLiteral is the value of a MySQL string token.
func MySQLLiteral(raw string) string {
	if raw[0]|0x20 == 'n' {
		raw = raw[1:]
	}
	q, body := raw[0], raw[1:len(raw)-1]
	if strings.IndexByte(body, '\\') < 0 && strings.IndexByte(body, q) < 0 {
		return body
	}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == q || c != '\\' || i+1 == len(body) {
			if c == q {
				i++
			}
			b.WriteByte(c)
			continue
		}
		i++
		switch body[i] {
		case '0':
			b.WriteByte(0)
		case 'b':
			b.WriteByte('\b')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'Z':
			b.WriteByte(26)
		case '%', '_': // kept for LIKE, as MySQL keeps them
			b.WriteByte('\\')
			b.WriteByte(body[i])
		default:
			b.WriteByte(body[i])
		}
	}
	return b.String()
}
