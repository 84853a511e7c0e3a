package types

import (
	"strings"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func errArray(s, detail string, args ...any) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed array literal: \"%s\"", s).WithDetail(detail, args...)
}

// parseArray reads {1,NULL,"a b"}. Only one dimension is known here.
func parseArray(t Type, text string, env *Env) (Datum, error) {
	// The syntax of the whole is checked before any element is looked at.
	n := 0
	if err := EachArrayWord(text, func(string, bool) { n++ }); err != nil {
		return nil, err
	}
	elem, _ := t.Elem()
	out := Array{Elem: elem}
	if n == 0 {
		return out, nil
	}
	elem.Mod = -1 // the caller applies the modifier to the whole
	out.Elems = make([]Datum, 0, n)
	var failed error
	err := EachArrayWord(text, func(word string, null bool) {
		var d Datum
		if !null && failed == nil {
			d, failed = parseText(elem, word, env)
		}
		out.Elems = append(out.Elems, d)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// EachArrayWord calls f with the text of each element of an array's text, and with whether it is NULL.
func EachArrayWord(text string, f func(word string, null bool)) error {
	s := ascii.TrimSpace(text)
	if strings.HasPrefix(s, "[") {
		eq := strings.IndexByte(s, '=')
		if eq < 0 || strings.Trim(s[:eq], "[]:0123456789+- ") != "" {
			return errArray(text, "Missing \"%s\" after array dimensions.", "=")
		}
		return pgerr.Unsupported("arrays with explicit subscript bounds are not supported")
	}
	if !strings.HasPrefix(s, "{") {
		return errArray(text, "Array value must start with \"{\" or dimension information.")
	}
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	p := arrayScanner{text: text, s: s, i: 1}
	p.space()
	if p.at('}') {
		p.i++
		return p.end()
	}
	for {
		p.space()
		if p.at('{') {
			return pgerr.Unsupported("multidimensional arrays are not supported")
		}
		word, quoted, ok := p.plain()
		if !ok {
			var err error
			if word, quoted, err = p.element(); err != nil {
				return err
			}
		}
		f(word, !quoted && len(word) == 4 && strings.EqualFold(word, "null"))
		p.space()
		switch {
		case p.i >= len(p.s):
			return errArray(text, "Unexpected end of input.")
		case p.at(','):
			p.i++
		case p.at('}'):
			p.i++
			return p.end()
		default:
			return errArray(text, "Unexpected array element.")
		}
	}
}

type arrayScanner struct {
	text, s string
	i       int
}

func (p *arrayScanner) at(c byte) bool { return p.i < len(p.s) && p.s[p.i] == c }

func (p *arrayScanner) space() {
	for p.i < len(p.s) && ascii.IsSpace(p.s[p.i]) {
		p.i++
	}
}

func (p *arrayScanner) end() error {
	if p.i < len(p.s) {
		return errArray(p.text, "Junk after closing right brace.")
	}
	return nil
}

// plain reads an element that is written as it is, whole or in quotes; ok is false for others.
func (p *arrayScanner) plain() (word string, quoted, ok bool) {
	rest := p.s[p.i:]
	if strings.HasPrefix(rest, `"`) {
		rest = rest[1:]
		end := strings.IndexAny(rest, `"\`)
		if end < 0 || rest[end] != '"' || end+1 >= len(rest) || rest[end+1] != ',' && rest[end+1] != '}' {
			return "", false, false
		}
		p.i += end + 2
		return rest[:end], true, true
	}
	for i := range len(rest) {
		switch c := rest[i]; {
		case c == ',' || c == '}':
			p.i += i
			return rest[:i], false, i > 0
		case c == '"' || c == '\\' || c == '{' || ascii.IsSpace(c):
			return "", false, false
		}
	}
	return "", false, false
}

func (p *arrayScanner) element() (word string, quoted bool, err error) {
	var b []byte
	keep := 0 // blanks beyond this length are not part of an unquoted word
	inQuote := false
	for ; p.i < len(p.s); p.i++ {
		c := p.s[p.i]
		switch {
		case c == '\\':
			p.i++
			if p.i == len(p.s) {
				return "", false, errArray(p.text, "Unexpected end of input.")
			}
			b = append(b, p.s[p.i])
			keep = len(b)
			quoted = quoted || !inQuote // an escape makes NULL an ordinary word
		case c == '"':
			if !inQuote && (quoted || len(b) > 0) {
				return "", false, errArray(p.text, "Unexpected array element.")
			}
			inQuote, quoted = !inQuote, true
			keep = len(b)
			if !inQuote {
				// only blanks may follow
				p.i++
				p.space()
				if p.i < len(p.s) && !p.at(',') && !p.at('}') {
					return "", false, errArray(p.text, "Unexpected array element.")
				}
				return string(b), true, nil
			}
		case inQuote:
			b = append(b, c)
			keep = len(b)
		case c == ',' || c == '}':
			if keep == 0 && !quoted {
				return "", false, errArray(p.text, "Unexpected \"%c\" character.", c)
			}
			return string(b[:keep]), quoted, nil
		case c == '{':
			return "", false, errArray(p.text, "Unexpected \"%c\" character.", c)
		case ascii.IsSpace(c):
			b = append(b, c)
		default:
			b = append(b, c)
			keep = len(b)
		}
	}
	return "", false, errArray(p.text, "Unexpected end of input.")
}

func appendArray(dst []byte, t Type, v Array, env *Env) []byte {
	elem := v.Elem
	if e, ok := t.Elem(); ok {
		elem = e
	}
	if t.OID == Int2VectorOID || t.OID == OIDVectorOID {
		for i, e := range v.Elems {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = AppendText(dst, elem, e, env)
		}
		return dst
	}
	dst = append(dst, '{')
	for i, e := range v.Elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		if e == nil {
			dst = append(dst, "NULL"...)
			continue
		}
		from := len(dst)
		dst = AppendText(dst, elem, e, env)
		dst = quoteArrayElem(dst, from)
	}
	return append(dst, '}')
}

// quoteArrayElem quotes dst[from:] if the array syntax needs it.
func quoteArrayElem(dst []byte, from int) []byte {
	word := dst[from:]
	need := len(word) == 0 || len(word) == 4 && strings.EqualFold(string(word), "null")
	for _, c := range word {
		if c == '"' || c == '\\' || c == '{' || c == '}' || c == ',' || ascii.IsSpace(c) {
			need = true
			break
		}
	}
	if !need {
		return dst
	}
	return quoted(dst, from, func(byte) byte { return '\\' })
}

// quoted puts dst[from:] in quotes, with what of returns before each quote and backslash.
func quoted(dst []byte, from int, of func(c byte) byte) []byte {
	raw := string(dst[from:])
	dst = append(dst[:from], '"')
	for i := range len(raw) {
		if c := raw[i]; c == '"' || c == '\\' {
			dst = append(dst, of(c))
		}
		dst = append(dst, raw[i])
	}
	return append(dst, '"')
}
