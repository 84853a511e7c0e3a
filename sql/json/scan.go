package json

import "unsafe"

// A member of a JSON text is looked up without making a tree: the scanner skips
// the other members. It relies on the text being valid, which is checked when a
// json or jsonb value is made.

type jsonScan struct {
	s string
	i int
}

func (p *jsonScan) space() {
	for p.i < len(p.s) && p.s[p.i] <= ' ' {
		p.i++
	}
}

func (p *jsonScan) at(c byte) bool { return p.i < len(p.s) && p.s[p.i] == c }

// str skips a string and reports whether it has escapes.
func (p *jsonScan) str() (body string, escapes bool) {
	s, from, i := p.s, p.i+1, p.i+1
	for ; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' {
			escapes = true
			i++
		}
	}
	if i >= len(s) {
		p.i = len(s)
		return "", false
	}
	p.i = i + 1
	return s[from:i], escapes
}

// value skips one value and returns its text.
func (p *jsonScan) value() string {
	p.space()
	s, from := p.s, p.i
	if from >= len(s) {
		return ""
	}
	switch s[from] {
	case '"':
		p.str()
	case '{', '[':
		p.nested()
	default:
		i := from
		for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' && s[i] > ' ' {
			i++
		}
		p.i = i
	}
	return s[from:p.i]
}

// nested skips an object or an array.
func (p *jsonScan) nested() {
	s, depth := p.s, 0
	for i := p.i; i < len(s); i++ {
		switch s[i] {
		case '"':
			p.i = i
			p.str()
			i = p.i - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				p.i = i + 1
				return
			}
		}
	}
	p.i = len(s)
}

// JSONField returns the text of a member of an object, of duplicates the last.
func JSONField(s, key string) (text string, ok bool) {
	var at [1]Span
	Find(s, []Step{{Key: key}}, at[:])
	return s[at[0].From:at[0].To], at[0].To > 0
}

// Span is where a value stands in a text; To is 0 if there is none.
type Span struct{ From, To int32 }

// Step leads from a value to one inside it: to the member of a name and on by a path, as #> goes, or to an element.
type Step struct {
	Key    string
	Path   []string // on from the member; empty: the member itself, as -> gives it
	Elem   bool
	Index  int  // of the element, from the end where it is negative
	Binary bool // of jsonb: a scalar counts as an array of one
}

// Find follows each step from one value; it goes through an object once for all of them. Of duplicates the last counts.
func Find(s string, by []Step, out []Span) {
	clear(out)
	w := Walk(s)
	for w.object && w.Next() {
		name := w.Name()
		for k := range by {
			b := &by[k]
			if b.Elem || b.Key != name {
				continue
			}
			if len(b.Path) == 0 {
				out[k] = w.span()
			} else if v, ok := JSONPath(w.Value, b.Path); ok {
				out[k] = within(s, v)
			}
		}
	}
	if w.object {
		return
	}
	for k, b := range by {
		text, ok := "", false
		switch {
		case b.Elem && b.Binary:
			text, ok = JSONBElement(s, b.Index)
		case b.Elem:
			text, ok = JSONElement(s, b.Index)
		case len(b.Path) > 0 && w.array:
			if i, num := pathIndex(b.Key); num {
				if text, ok = JSONElement(s, i); ok {
					text, ok = JSONPath(text, b.Path)
				}
			}
		}
		if ok {
			out[k] = within(s, text)
		}
	}
}

// span is where the value at hand is.
func (w *Walker) span() Span { return Span{int32(w.p.i - len(w.Value)), int32(w.p.i)} }

// within returns where a part of s is.
func within(s, part string) Span {
	from := uintptr(unsafe.Pointer(unsafe.StringData(part))) - uintptr(unsafe.Pointer(unsafe.StringData(s)))
	return Span{int32(from), int32(int(from) + len(part))}
}

// JSONPath follows keys and indexes from a value on, as #> does: of all that lead somewhere, as there are duplicates,
// the last.
func JSONPath(s string, path []string) (text string, ok bool) {
	if len(path) == 0 {
		return s, true
	}
	w := Walk(s)
	for w.object && w.Next() {
		if w.Name() != path[0] {
			continue
		}
		if v, found := JSONPath(w.Value, path[1:]); found {
			text, ok = v, true
		}
	}
	if w.array {
		if i, num := pathIndex(path[0]); num {
			if v, found := JSONElement(s, i); found {
				return JSONPath(v, path[1:])
			}
		}
	}
	return text, ok
}

// JSONBElement is JSONElement for jsonb, where a scalar counts as an array of
// one.
func JSONBElement(s string, i int) (text string, ok bool) {
	if s != "" && s[0] != '[' && s[0] != '{' {
		return s, i == 0 || i == -1
	}
	return JSONElement(s, i)
}

// JSONElement returns the text of an element of an array, counted from the end
// where i is negative.
func JSONElement(s string, i int) (text string, ok bool) {
	if i < 0 {
		n, ok := Length(s)
		if !ok || i+n < 0 {
			return "", false
		}
		i += n
	}
	w := Walk(s)
	for w.array && w.Next() {
		if i == 0 {
			return w.Value, true
		}
		i--
	}
	return "", false
}

// Length returns how many elements an array has; ok is false of other values.
func Length(s string) (n int, ok bool) {
	w := Walk(s)
	for w.array && w.Next() {
		n++
	}
	return n, w.array
}

// KindOf is Value.TypeOf of a text.
func KindOf(s string) string { return Value{Kind: kindOf(s)}.TypeOf() }

func kindOf(s string) Kind {
	p := jsonScan{s: s}
	p.space()
	switch {
	case p.at('{'):
		return Object
	case p.at('['):
		return Array
	case p.at('"'):
		return String
	case p.at('t'), p.at('f'):
		return Bool
	case p.at('n'):
		return Null
	}
	return Number
}

// JSONText returns a value's text as ->> does: a string unquoted; ok is false
// for null.
func JSONText(s string) (text string, ok bool) {
	p := jsonScan{s: s}
	p.space()
	if p.at('"') {
		from := p.i
		body, escapes := p.str()
		if !escapes {
			return body, true
		}
		v, err := ParseJSON(p.s[from:p.i])
		return v.Str, err == nil
	}
	v := p.value()
	return v, v != "null"
}
