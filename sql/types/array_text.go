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
	words, err := arrayWords(text)
	if err != nil {
		return nil, err
	}
	elem, _ := t.Elem()
	out := Array{Elem: elem}
	elem.Mod = -1 // the caller applies the modifier to the whole
	for _, w := range words {
		if !w.quoted && strings.EqualFold(w.text, "null") {
			out.Elems = append(out.Elems, nil)
			continue
		}
		d, err := parseText(elem, w.text, env)
		if err != nil {
			return nil, err
		}
		out.Elems = append(out.Elems, d)
	}
	return out, nil
}

type arrayWord struct {
	text   string
	quoted bool
}

// arrayWords checks the syntax of the whole before any element is looked at.
func arrayWords(text string) (words []arrayWord, err error) {
	s := ascii.TrimSpace(text)
	if strings.HasPrefix(s, "[") {
		eq := strings.IndexByte(s, '=')
		if eq < 0 || strings.Trim(s[:eq], "[]:0123456789+- ") != "" {
			return nil, errArray(text, "Missing \"%s\" after array dimensions.", "=")
		}
		return nil, pgerr.Unsupported("arrays with explicit subscript bounds are not supported")
	}
	if !strings.HasPrefix(s, "{") {
		return nil, errArray(text, "Array value must start with \"{\" or dimension information.")
	}
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	p := arrayScanner{text: text, s: s, i: 1}
	p.space()
	if p.at('}') {
		p.i++
		return nil, p.end()
	}
	for {
		p.space()
		if p.at('{') {
			return nil, pgerr.Unsupported("multidimensional arrays are not supported")
		}
		word, quoted, err := p.element()
		if err != nil {
			return nil, err
		}
		words = append(words, arrayWord{word, quoted})
		p.space()
		switch {
		case p.i >= len(p.s):
			return nil, errArray(text, "Unexpected end of input.")
		case p.at(','):
			p.i++
		case p.at('}'):
			p.i++
			return words, p.end()
		default:
			return nil, errArray(text, "Unexpected array element.")
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
