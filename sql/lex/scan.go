package lex

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Error is a lexical error at a byte offset. It is not fatal by itself:
// Postgres reads tokens one by one, so a syntax error before it comes first.
type Error struct {
	code    pgerr.Code
	Message string // complete, with its "at or near"
	hint    string
	Offset  int

	placeless bool // the client gets no position
}

// Err is the error for a client, at a position in characters from 1.
func (e *Error) Err(pos int) *pgerr.Error {
	out := pgerr.New(e.code, "%s", e.Message)
	if !e.placeless {
		out = out.At(pos)
	}
	out.Hint = e.hint
	return out
}

// scanner reads tokens by the rules of PostgreSQL 15's scan.l. The grammar's
// own lexer is of a later release (it takes 0x1F and 1_000) and does not expose
// token positions, which error messages and the splitting of statements need.
type scanner struct {
	text string
	pos  int
	toks []Token
	err  *Error
}

// Postgres returns the tokens of text up to its end or the first lexical
// error. Text is at most maxText bytes, so that offsets fit int32.
func Postgres(text string) (*Source, *Error) {
	s := &scanner{text: text, toks: make([]Token, 0, len(text)/4+4)}
	for s.err == nil && s.next() {
	}
	return &Source{Text: text, Toks: s.toks}, s.err
}

func (s *scanner) at(i int) byte {
	if i < len(s.text) {
		return s.text[i]
	}
	return 0
}

// fail records an error whose "near" text runs from start to end.
func (s *scanner) fail(start, end int, message string) {
	s.failCode(start, pgerr.SyntaxError, message+` at or near "`+s.text[start:end]+`"`, "")
}

func (s *scanner) failCode(start int, code pgerr.Code, message, hint string) {
	s.err = &Error{code: code, Message: message, hint: hint, Offset: start}
}

func (s *scanner) emit(kind Kind, start int) {
	s.toks = append(s.toks, Token{Start: int32(start), End: int32(s.pos), Kind: kind})
}

func isIdentStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// isIdentPart reports whether c may stand in an unquoted name.
func isIdentPart(c byte) bool { return isIdentStart(c) || ascii.IsDigit(c) || c == '$' }
func isOpChar(c byte) bool    { return c != 0 && strings.IndexByte("~!@#^&|`?+-*/%<>=", c) >= 0 }

// next reads one token after skipping blanks; false at the end or an error.
func (s *scanner) next() bool {
	if !s.skipBlank() || s.pos >= len(s.text) {
		return false
	}
	start, c := s.pos, s.text[s.pos]
	switch {
	case c == '\'':
		s.quoted(start, start, 'q')
	case (c == 'e' || c == 'E') && s.at(start+1) == '\'':
		s.quoted(start, start+1, 'e')
	case (c == 'b' || c == 'B' || c == 'x' || c == 'X') && s.at(start+1) == '\'':
		s.quoted(start, start+1, c|0x20)
	case (c == 'n' || c == 'N') && s.at(start+1) == '\'':
		s.quoted(start, start+1, 'q')
	case (c == 'u' || c == 'U') && s.at(start+1) == '&' && s.at(start+2) == '\'':
		s.quoted(start, start+2, 'q')
	case (c == 'u' || c == 'U') && s.at(start+1) == '&' && s.at(start+2) == '"':
		s.delimited(start, start+2)
	case c == '"':
		s.delimited(start, start)
	case c == '$':
		s.dollar(start)
	case ascii.IsDigit(c) || c == '.' && ascii.IsDigit(s.at(start+1)):
		s.number(start)
	case isIdentStart(c):
		for s.pos < len(s.text) && isIdentPart(s.text[s.pos]) {
			s.pos++
		}
		s.emit(Ident, start)
	case isOpChar(c):
		s.operator(start)
	case c == ':' && (s.at(start+1) == ':' || s.at(start+1) == '='), c == '.' && s.at(start+1) == '.':
		s.pos += 2
		s.emit(Op, start)
	case strings.IndexByte(",()[].;:", c) >= 0:
		s.pos++
		s.emit(Self, start)
	default:
		s.pos++
		s.emit(Other, start)
	}
	return s.err == nil
}

// skipBlank passes white space and comments; false when a comment never ends.
func (s *scanner) skipBlank() bool {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case ascii.IsSpace(c):
			s.pos++
		case c == '-' && s.at(s.pos+1) == '-':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' && s.text[s.pos] != '\r' {
				s.pos++
			}
		case c == '/' && s.at(s.pos+1) == '*':
			start, depth := s.pos, 0
			for {
				if s.pos+1 >= len(s.text) {
					s.fail(start, len(s.text), "unterminated /* comment")
					return false
				}
				if s.text[s.pos] == '/' && s.text[s.pos+1] == '*' {
					depth++
					s.pos += 2
				} else if s.text[s.pos] == '*' && s.text[s.pos+1] == '/' {
					depth--
					s.pos += 2
					if depth == 0 {
						break
					}
				} else {
					s.pos++
				}
			}
		default:
			return true
		}
	}
	return true
}

// quoted reads a string whose opening quote is at open; mode is q (standard),
// e (escapes), b or x (bits).
func (s *scanner) quoted(start, open int, mode byte) {
	s.pos = open + 1
	pair := false  // the first half of a surrogate pair was read
	bytes := false // bytes are written as numbers
	for {
		if s.pos >= len(s.text) {
			s.fail(start, len(s.text), unterminated[mode])
			return
		}
		c := s.text[s.pos]
		if pair && !(c == '\\' && s.at(s.pos+1)|0x20 == 'u') {
			s.fail(s.pos, s.pos+charLen(s.text, s.pos), "invalid Unicode surrogate pair")
			return
		}
		switch {
		case c == '\'' && s.at(s.pos+1) == '\'':
			s.pos += 2
		case c == '\'':
			s.pos++
			if !s.continued() {
				kind := String
				if mode == 'b' || mode == 'x' {
					kind = Bits
				}
				if bytes {
					s.checkBytes(start, open)
				}
				s.emit(kind, start)
				return
			}
		case c == '\\' && mode == 'e':
			bytes = bytes || isByteEscape(s.text[s.pos:])
			if pair = s.escape(pair); s.err != nil {
				return
			}
		default:
			s.pos++
		}
	}
}

// checkBytes refuses an E” string whose bytes, written as numbers, are no text.
func (s *scanner) checkBytes(start, open int) {
	if err := pgerr.CheckUTF8(unescape(joinParts(s.text[open:s.pos], true))); err != nil {
		e := pgerr.From(err)
		s.err = &Error{code: e.Code, Message: e.Message, Offset: start, placeless: true}
	}
}

var unterminated = map[byte]string{
	'q': "unterminated quoted string",
	'e': "unterminated quoted string",
	'b': "unterminated bit string literal",
	'x': "unterminated hexadecimal string literal",
}

// escape passes one backslash sequence of an E” string; with pair it must be
// the second half of a surrogate pair; the result is whether a second half must
// follow.
func (s *scanner) escape(pair bool) bool {
	at := s.pos
	n := 0
	switch s.at(at + 1) {
	case 'u':
		n = 4
	case 'U':
		n = 8
	}
	s.pos = min(at+2, len(s.text))
	if n == 0 {
		return false
	}
	for i := 0; i < n; i++ {
		if !isHex(s.at(s.pos)) {
			s.failCode(at, pgerr.InvalidEscapeSequence, "invalid Unicode escape",
				`Unicode escapes must be \uXXXX or \UXXXXXXXX.`)
			return false
		}
		s.pos++
	}
	v, _ := strconv.ParseUint(s.text[s.pos-n:s.pos], 16, 32)
	low := v >= 0xDC00 && v <= 0xDFFF
	switch {
	case v == 0 || v > 0x10FFFF:
		s.fail(at, s.pos, "invalid Unicode escape value")
	case low != pair:
		s.fail(at, s.pos, "invalid Unicode surrogate pair")
	}
	return v >= 0xD800 && v <= 0xDBFF
}

// continued passes blanks with a newline and a further quote: SQL joins
// 'a' <newline> 'b' to one literal.
func (s *scanner) continued() bool {
	save, newline := s.pos, false
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case c == '\n' || c == '\r':
			newline = true
			s.pos++
		case ascii.IsSpace(c):
			s.pos++
		case c == '-' && s.at(s.pos+1) == '-':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' && s.text[s.pos] != '\r' {
				s.pos++
			}
		case c == '\'' && newline:
			s.pos++
			return true
		default:
			s.pos = save
			return false
		}
	}
	s.pos = save
	return false
}

// delimited reads "x" whose opening quote is at open.
func (s *scanner) delimited(start, open int) {
	s.pos = open + 1
	for {
		if s.pos >= len(s.text) {
			s.fail(start, len(s.text), "unterminated quoted identifier")
			return
		}
		if s.text[s.pos] == '"' {
			if s.at(s.pos+1) == '"' {
				s.pos += 2
				continue
			}
			s.pos++
			break
		}
		s.pos++
	}
	if s.pos == open+2 {
		s.fail(start, s.pos, "zero-length delimited identifier")
		return
	}
	s.emit(Quoted, start)
}

// dollar reads $1, $tag$…$tag$ or a lone $.
func (s *scanner) dollar(start int) {
	s.pos++
	if ascii.IsDigit(s.at(s.pos)) {
		for ascii.IsDigit(s.at(s.pos)) {
			s.pos++
		}
		if isIdentStart(s.at(s.pos)) {
			s.fail(start, s.pos+charLen(s.text, s.pos), "trailing junk after parameter")
			return
		}
		s.emit(Param, start)
		return
	}
	end := s.pos
	if isIdentStart(s.at(end)) {
		for isIdentStart(s.at(end)) || ascii.IsDigit(s.at(end)) {
			end++
		}
	}
	if s.at(end) != '$' {
		s.emit(Other, start)
		return
	}
	tag := s.text[start : end+1]
	i := strings.Index(s.text[end+1:], tag)
	if i < 0 {
		s.fail(start, len(s.text), "unterminated dollar-quoted string")
		return
	}
	s.pos = end + 1 + i + len(tag)
	s.emit(String, start)
}

// number reads a numeric literal; a letter that touches it is an error.
func (s *scanner) number(start int) {
	for ascii.IsDigit(s.at(s.pos)) {
		s.pos++
	}
	if s.at(s.pos) == '.' && s.at(s.pos+1) != '.' {
		s.pos++
		for ascii.IsDigit(s.at(s.pos)) {
			s.pos++
		}
	}
	if c := s.at(s.pos); c == 'e' || c == 'E' {
		i := s.pos + 1
		if s.at(i) == '+' || s.at(i) == '-' {
			i++
		}
		if ascii.IsDigit(s.at(i)) {
			for ascii.IsDigit(s.at(i)) {
				i++
			}
			s.pos = i
		} else if i > s.pos+1 {
			s.fail(start, i, "trailing junk after numeric literal")
			return
		}
	}
	if s.pos < len(s.text) && isIdentStart(s.text[s.pos]) {
		s.fail(start, s.pos+charLen(s.text, s.pos), "trailing junk after numeric literal")
		return
	}
	s.emit(Number, start)
}

// operator reads the longest operator, then puts back what PostgreSQL puts back: comment starts,
// and + or - at the end of an operator that has none of the characters ~ ! @ # ^ & | ` ? %.
func (s *scanner) operator(start int) {
	end := start
	for end < len(s.text) && isOpChar(s.text[end]) {
		if end > start && (strings.HasPrefix(s.text[end:], "--") || strings.HasPrefix(s.text[end:], "/*")) {
			break
		}
		end++
	}
	if end-start > 1 && !strings.ContainsAny(s.text[start:end], "~!@#^&|`?%") {
		for end-start > 1 && (s.text[end-1] == '+' || s.text[end-1] == '-') {
			end--
		}
	}
	if end-start > MaxNameBytes {
		s.fail(start, end, "operator too long")
		return
	}
	s.pos = end
	s.emit(Op, start)
}

func isHex(c byte) bool {
	return ascii.IsDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// charLen is the length in bytes of the character at i.
func charLen(text string, i int) int {
	n := 1
	for i+n < len(text) && text[i+n]&0xC0 == 0x80 {
		n++
	}
	return n
}
