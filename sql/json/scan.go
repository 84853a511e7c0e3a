package json

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
	Members(s, []string{key}, at[:])
	return s[at[0].From:at[0].To], at[0].To > 0
}

// Span is where a value stands in a text; To is 0 if there is none.
type Span struct{ From, To int32 }

// Members finds the members of an object by their names, of duplicates the last.
func Members(s string, keys []string, out []Span) {
	clear(out)
	w := Walk(s)
	for w.object && w.Next() {
		name := w.Name()
		for k := range keys {
			if keys[k] == name {
				out[k] = Span{int32(w.p.i - len(w.Value)), int32(w.p.i)}
			}
		}
	}
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
