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
	from := p.i + 1
	for p.i++; p.i < len(p.s) && p.s[p.i] != '"'; p.i++ {
		if p.s[p.i] == '\\' {
			escapes = true
			p.i++
		}
	}
	if p.i >= len(p.s) {
		p.i = len(p.s)
		return "", false
	}
	body = p.s[from:p.i]
	p.i++
	return body, escapes
}

// value skips one value and returns its text.
func (p *jsonScan) value() string {
	p.space()
	from, depth := p.i, 0
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case '"':
			p.str()
			if depth == 0 {
				return p.s[from:p.i]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return p.s[from:p.i]
			}
			if depth--; depth == 0 {
				p.i++
				return p.s[from:p.i]
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return p.s[from:p.i]
			}
		}
		p.i++
	}
	return p.s[from:p.i]
}

// JSONField returns the text of a member of an object, of duplicates the last.
func JSONField(s, key string) (text string, ok bool) {
	p := jsonScan{s: s}
	p.space()
	if !p.at('{') {
		return "", false
	}
	p.i++
	for {
		p.space()
		if !p.at('"') {
			return text, ok
		}
		from := p.i
		name, escapes := p.str()
		match := name == key
		if escapes {
			name, _ = JSONText(p.s[from:p.i])
			match = name == key
		}
		p.space()
		p.i++ // the colon
		v := p.value()
		if match {
			text, ok = v, true
		}
		p.space()
		if !p.at(',') {
			return text, ok
		}
		p.i++
	}
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
