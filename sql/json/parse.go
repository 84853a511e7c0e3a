package json

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// MaxDepth bounds nesting, so that hostile text cannot exhaust the stack.
const MaxDepth = 6000

type jsonTok uint8

const (
	tokEnd jsonTok = iota
	tokString
	tokNumber
	tokTrue
	tokFalse
	tokNull
	tokOpenObj
	tokCloseObj
	tokOpenArr
	tokCloseArr
	tokComma
	tokColon
)

// jsonLexer scans JSON as PostgreSQL's does, its errors included.
type jsonLexer struct {
	s          string
	tok        jsonTok
	start, end int // the current token
	line       int
	lineStart  int
	// With values strings are unescaped into str. A value of json keeps its
	// text, so its escapes are only checked.
	values bool
	str    string
}

func (l *jsonLexer) fail(code pgerr.Code, msg, detail string, args ...any) error {
	from := l.lineStart
	for l.end-from >= 50 {
		_, n := utf8.DecodeRuneInString(l.s[from:])
		from += n
	}
	if from-l.lineStart <= 3 {
		from = l.lineStart
	}
	text := l.s[from:l.end]
	if from > l.lineStart {
		text = "..." + text
	}
	if l.tok != tokEnd && l.end < len(l.s) && l.s[l.end] != '\n' && l.s[l.end] != '\r' {
		text += "..."
	}
	e := pgerr.New(code, "%s", msg).WithDetail(detail, args...)
	e.Where = fmt.Sprintf("JSON data, line %d: %s", l.line+1, text)
	return e
}

func (l *jsonLexer) bad(detail string, args ...any) error {
	return l.fail(pgerr.InvalidTextRepresentation, "invalid input syntax for type json", detail, args...)
}

func (l *jsonLexer) token() string { return l.s[l.start:l.end] }

func (l *jsonLexer) invalid() error {
	l.tok = tokNull // not at the end
	return l.bad("Token \"%s\" is invalid.", l.token())
}

// expected is the parser's error at the current token.
func (l *jsonLexer) expected(what string) error {
	if l.tok == tokEnd {
		return l.bad("The input string ended unexpectedly.")
	}
	return l.bad("Expected %s, but found \"%s\".", what, l.token())
}

func jsonWordChar(c byte) bool { return ascii.IsAlnum(c) || c == '_' || c >= 0x80 }

func (l *jsonLexer) next() error {
	i := l.end
	for i < len(l.s) && (l.s[i] == ' ' || l.s[i] == '\t' || l.s[i] == '\n' || l.s[i] == '\r') {
		if l.s[i] == '\n' {
			l.line++
			l.lineStart = i + 1
		}
		i++
	}
	l.start = i
	if i == len(l.s) {
		l.tok, l.end = tokEnd, i
		return nil
	}
	l.end = i + 1
	switch c := l.s[i]; {
	case c == '{':
		l.tok = tokOpenObj
	case c == '}':
		l.tok = tokCloseObj
	case c == '[':
		l.tok = tokOpenArr
	case c == ']':
		l.tok = tokCloseArr
	case c == ',':
		l.tok = tokComma
	case c == ':':
		l.tok = tokColon
	case c == '"':
		l.tok = tokString
		return l.lexString()
	case c == '-':
		l.tok = tokNumber
		return l.lexNumber(i + 1)
	case ascii.IsDigit(c):
		l.tok = tokNumber
		return l.lexNumber(i)
	default:
		for i < len(l.s) && jsonWordChar(l.s[i]) {
			i++
		}
		if i == l.start {
			return l.invalid()
		}
		l.end = i
		switch l.token() {
		case "true":
			l.tok = tokTrue
		case "false":
			l.tok = tokFalse
		case "null":
			l.tok = tokNull
		default:
			return l.invalid()
		}
	}
	return nil
}

func (l *jsonLexer) lexNumber(i int) error {
	ok := true
	digits := func() {
		if i >= len(l.s) || !ascii.IsDigit(l.s[i]) {
			ok = false
		}
		for i < len(l.s) && ascii.IsDigit(l.s[i]) {
			i++
		}
	}
	if i < len(l.s) && l.s[i] == '0' {
		i++
	} else {
		digits()
	}
	if i < len(l.s) && l.s[i] == '.' {
		i++
		digits()
	}
	if i < len(l.s) && l.s[i]|0x20 == 'e' {
		i++
		if i < len(l.s) && (l.s[i] == '+' || l.s[i] == '-') {
			i++
		}
		digits()
	}
	for i < len(l.s) && jsonWordChar(l.s[i]) {
		i++
		ok = false
	}
	l.end = i
	if !ok {
		return l.invalid()
	}
	return nil
}

func (l *jsonLexer) lexString() error {
	var b []byte
	from := l.start + 1 // the beginning of what is not copied to b yet
	high := rune(0)
	i := from
	for ; ; i++ {
		if i >= len(l.s) {
			l.end = i
			return l.invalid()
		}
		c := l.s[i]
		if high != 0 && c != '\\' {
			_, n := utf8.DecodeRuneInString(l.s[i:])
			l.end = i + n
			return l.lowSurrogate()
		}
		switch {
		case c == '"':
			l.end = i + 1
			if l.values {
				if b == nil {
					l.str = l.s[from:i]
				} else {
					l.str = string(append(b, l.s[from:i]...))
				}
			}
			return nil
		case c < 0x20:
			l.end = i
			return l.bad("Character with value 0x%02x must be escaped.", c)
		case c != '\\':
			continue
		}
		if l.values {
			b = append(b, l.s[from:i]...)
		}
		i++
		if i >= len(l.s) {
			l.end = i
			return l.invalid()
		}
		if l.s[i] == 'u' {
			r, err := l.hex4(i + 1)
			if err != nil {
				return err
			}
			i += 4
			from = i + 1
			if !l.values {
				continue
			}
			if b, high, err = l.codePoint(b, r, high, i+1); err != nil {
				return err
			}
			continue
		}
		if high != 0 {
			l.end = i
			return l.lowSurrogate()
		}
		k := strings.IndexByte(`"\/bfnrt`, l.s[i])
		if k < 0 {
			_, n := utf8.DecodeRuneInString(l.s[i:])
			l.end = i + n
			return l.bad("Escape sequence \"\\%s\" is invalid.", l.s[i:l.end])
		}
		if l.values {
			b = append(b, "\"\\/\b\f\n\r\t"[k])
		}
		from = i + 1
	}
}

// codePoint appends what a \u escape stands for; the first of a pair of
// surrogates is returned, and appended with the second.
func (l *jsonLexer) codePoint(b []byte, r, high rune, end int) ([]byte, rune, error) {
	l.end = end
	switch {
	case r >= 0xd800 && r < 0xdc00:
		if high != 0 {
			return b, 0, l.bad("Unicode high surrogate must not follow a high surrogate.")
		}
		return b, r, nil
	case r >= 0xdc00 && r < 0xe000:
		if high == 0 {
			return b, 0, l.lowSurrogate()
		}
		r = 0x10000 + (high-0xd800)<<10 + (r - 0xdc00)
	case high != 0:
		return b, 0, l.lowSurrogate()
	}
	if r == 0 {
		return b, 0, l.fail(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence",
			"\\u0000 cannot be converted to text.")
	}
	return utf8.AppendRune(b, r), 0, nil
}

func (l *jsonLexer) lowSurrogate() error {
	return l.bad("Unicode low surrogate must follow a high surrogate.")
}

func (l *jsonLexer) hex4(i int) (rune, error) {
	var r rune
	for k := range 4 {
		if i+k >= len(l.s) {
			l.end = len(l.s)
			return 0, l.invalid()
		}
		d, ok := ascii.HexDigit(l.s[i+k])
		if !ok {
			_, n := utf8.DecodeRuneInString(l.s[i+k:])
			l.end = i + k + n
			return 0, l.bad("\"\\u\" must be followed by four hexadecimal digits.")
		}
		r = r<<4 | rune(d)
	}
	return r, nil
}

// Valid checks text as a value of json; the error is 22P02.
func Valid(s string) error {
	if wellFormed(s) {
		return nil
	}
	l := jsonLexer{s: s}
	if err := l.next(); err != nil {
		return err
	}
	p := jsonParser{l: &l}
	if _, err := p.value(0, false); err != nil {
		return err
	}
	return p.end()
}

// ParseJSON reads the text of a json value into a tree that keeps the order
// and duplicates of keys, and with each value its source text.
func ParseJSON(s string) (Value, error) { return parse(jsonLexer{s: s, values: true}) }

// Outline is ParseJSON without the values of strings, so their escapes need not be valid text.
func Outline(s string) (Value, error) { return parse(jsonLexer{s: s}) }

func parse(l jsonLexer) (Value, error) {
	if err := l.next(); err != nil {
		return Value{}, err
	}
	p := jsonParser{l: &l}
	v, err := p.value(0, true)
	if err != nil {
		return Value{}, err
	}
	return v, p.end()
}

// CheckStrings refuses a json value with a string that is not valid text: one with \u0000, or with half of a
// surrogate pair. The type json accepts them, but functions that read its strings do not.
func CheckStrings(s string) error {
	if !strings.Contains(s, `\u`) {
		return nil
	}
	l := jsonLexer{s: s, values: true}
	for {
		if err := l.next(); err != nil || l.tok == tokEnd {
			return err
		}
	}
}

// ParseJSONB reads text into the tree of a jsonb value: keys in its order, the
// last of duplicates.
func ParseJSONB(s string) (Value, error) {
	v, err := ParseJSON(s)
	if err != nil {
		return v, err
	}
	v.canonical()
	return v, nil
}

// CanonicalJSONB returns the text that represents a jsonb value.
func CanonicalJSONB(s string) (string, error) {
	if text, ok := quickCanonical(s); ok {
		return text, nil
	}
	v, err := ParseJSONB(s)
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

type jsonParser struct{ l *jsonLexer }

func (p jsonParser) end() error {
	if p.l.tok != tokEnd {
		return p.l.expected("end of input")
	}
	return nil
}

// value parses from the current token on and leaves the one after the value
// current. Without build it only checks.
func (p jsonParser) value(depth int, build bool) (v Value, err error) {
	if depth > MaxDepth {
		return v, pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded")
	}
	l := p.l
	from := l.start
	switch l.tok {
	case tokString:
		v = Value{Kind: String, Str: l.str}
	case tokNumber:
		v.Kind = Number
		if build {
			if v.Num, err = number.ParseDecimal(l.token()); err != nil {
				return v, err
			}
		}
	case tokTrue:
		v = Value{Kind: Bool, Bool: true}
	case tokFalse:
		v = Value{Kind: Bool}
	case tokNull:
	case tokOpenArr:
		v.Kind = Array
		if err = p.array(&v, depth, build); err != nil {
			return v, err
		}
	case tokOpenObj:
		v.Kind = Object
		if err = p.object(&v, depth, build); err != nil {
			return v, err
		}
	default:
		return v, l.expected("JSON value")
	}
	v.Raw = l.s[from:l.end]
	return v, l.next()
}

func (p jsonParser) array(v *Value, depth int, build bool) error {
	l := p.l
	if err := l.next(); err != nil {
		return err
	}
	if l.tok == tokCloseArr {
		return nil
	}
	for {
		e, err := p.value(depth+1, build)
		if err != nil {
			return err
		}
		if build {
			v.Elems = append(v.Elems, e)
		}
		switch l.tok {
		case tokCloseArr:
			return nil
		case tokComma:
			if err := l.next(); err != nil {
				return err
			}
		default:
			return l.expected("\",\" or \"]\"")
		}
	}
}

func (p jsonParser) object(v *Value, depth int, build bool) error {
	l := p.l
	if err := l.next(); err != nil {
		return err
	}
	if l.tok == tokCloseObj {
		return nil
	}
	if l.tok != tokString {
		return l.expected("string or \"}\"")
	}
	for {
		if l.tok != tokString {
			return l.expected("string")
		}
		key := l.str
		if err := l.next(); err != nil {
			return err
		}
		if l.tok != tokColon {
			return l.expected("\":\"")
		}
		if err := l.next(); err != nil {
			return err
		}
		e, err := p.value(depth+1, build)
		if err != nil {
			return err
		}
		if build {
			v.Keys, v.Elems = append(v.Keys, key), append(v.Elems, e)
		}
		switch l.tok {
		case tokCloseObj:
			return nil
		case tokComma:
			if err := l.next(); err != nil {
				return err
			}
		default:
			return l.expected("\",\" or \"}\"")
		}
	}
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		c := s[i]
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			if c < 0x20 {
				dst = append(dst, `\u00`...)
				dst = append(dst, '0'+c>>4)
				dst = strconv.AppendUint(dst, uint64(c&15), 16)
			} else {
				dst = append(dst, c)
			}
		}
	}
	return append(dst, '"')
}
