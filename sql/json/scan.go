package json

// A member of a JSON text is looked up without making a tree: the scanner skips
// the other members. It relies on the text being valid, which is checked when a
// json or jsonb value is made.

type jsonScan struct {
	s string
	i int
}

func (p *jsonScan) space() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t' || p.s[p.i] == '\n' || p.s[p.i] == '\r') {
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
	eachMember(s, func(name string, from, to int) {
		for k := range keys {
			if keys[k] == name {
				out[k] = Span{int32(from), int32(to)}
			}
		}
	})
}

// eachMember calls f with the name of each member of an object, and where its value stands.
func eachMember(s string, f func(name string, from, to int)) {
	p := jsonScan{s: s}
	p.space()
	if !p.at('{') {
		return
	}
	p.i++
	for {
		p.space()
		if !p.at('"') {
			return
		}
		from := p.i
		name, escapes := p.str()
		if escapes {
			name, _ = JSONText(p.s[from:p.i])
		}
		p.space()
		p.i++ // the colon
		v := p.value()
		f(name, p.i-len(v), p.i)
		p.space()
		if !p.at(',') {
			return
		}
		p.i++
	}
}

// JSONPath follows keys and indexes from a value on, as #> does: of all that lead somewhere, as there are duplicates,
// the last.
func JSONPath(s string, path []string) (text string, ok bool) {
	if len(path) == 0 {
		return s, true
	}
	p := jsonScan{s: s}
	p.space()
	switch {
	case p.at('{'):
		eachMember(s, func(name string, from, to int) {
			if name != path[0] {
				return
			}
			if v, found := JSONPath(s[from:to], path[1:]); found {
				text, ok = v, true
			}
		})
	case p.at('['):
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
		n := 0
		if !eachElement(s, func(string) bool { n++; return true }) || i+n < 0 {
			return "", false
		}
		i += n
	}
	eachElement(s, func(v string) bool {
		if i == 0 {
			text, ok = v, true
			return false
		}
		i--
		return true
	})
	return text, ok
}

// eachElement calls f with each element of an array until it says false; the
// result is false where s is no array.
func eachElement(s string, f func(v string) bool) bool {
	p := jsonScan{s: s}
	p.space()
	if !p.at('[') {
		return false
	}
	p.i++
	p.space()
	if p.at(']') {
		return true
	}
	for {
		if !f(p.value()) {
			return true
		}
		p.space()
		if !p.at(',') {
			return true
		}
		p.i++
	}
}

// Length returns how many elements an array has; ok is false of other values.
func Length(s string) (n int, ok bool) {
	ok = eachElement(s, func(string) bool { n++; return true })
	return n, ok
}

// KindOf is Value.TypeOf of a text.
func KindOf(s string) string {
	p := jsonScan{s: s}
	p.space()
	switch {
	case p.at('{'):
		return Value{Kind: Object}.TypeOf()
	case p.at('['):
		return Value{Kind: Array}.TypeOf()
	case p.at('"'):
		return Value{Kind: String}.TypeOf()
	case p.at('t'), p.at('f'):
		return Value{Kind: Bool}.TypeOf()
	case p.at('n'):
		return Value{}.TypeOf()
	}
	return Value{Kind: Number}.TypeOf()
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
