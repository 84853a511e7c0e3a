package json

// Walker goes through the elements of an array, or the members of an object, in a text that is valid.
//
//	for w := Walk(s); w.Next(); {
//		w.Name(), w.Value
//	}
type Walker struct {
	Value         string // where it is
	object, array bool   // what it goes through; nothing of a scalar
	inside        bool   // after a value
	escapes       bool   // in the name
	name          string // of an object's member, with its quotes
	p             jsonScan
}

// Walk begins with the value that s is.
func Walk(s string) Walker {
	w := Walker{p: jsonScan{s: s}}
	w.p.space()
	w.object, w.array = w.p.at('{'), w.p.at('[')
	return w
}

// Kind is the kind of the whole.
func (w *Walker) Kind() Kind { return kindOf(w.p.s) }

// Next goes to the next element or member.
func (w *Walker) Next() bool {
	if !w.toValue() {
		return false
	}
	w.Value = w.p.value()
	return true
}

// NextMembers goes to the next element and finds members of it: object is false where it is none. Of duplicates the last
// counts. Spans are of the whole text.
func (w *Walker) NextMembers(keys []string, out []Span) (object, ok bool) {
	if !w.toValue() {
		return false, false
	}
	clear(out)
	w.p.space()
	if !w.p.at('{') {
		w.Value = w.p.value()
		return false, true
	}
	m := Walker{p: w.p, object: true}
	for m.Next() {
		name := m.Name()
		for k := range keys {
			if keys[k] == name {
				out[k] = m.span()
			}
		}
	}
	w.p.i = m.p.i + 1 // the bracket
	return true, true
}

// toValue goes to where the next value begins.
func (w *Walker) toValue() bool {
	p := &w.p
	switch {
	case !w.object && !w.array:
		return false
	case w.inside:
		p.space()
		if !p.at(',') {
			return false
		}
		p.i++
	default:
		p.i++ // the bracket
		p.space()
		if w.inside = true; p.at(']') || p.at('}') {
			return false
		}
	}
	if w.object {
		p.space()
		from := p.i
		if !p.at('"') {
			return false
		}
		_, w.escapes = p.str()
		w.name = p.s[from:p.i]
		p.space()
		p.i++ // the colon
	}
	return true
}

// Text is the text that is gone through.
func (w *Walker) Text() string { return w.p.s }

// Name is the name of the member.
func (w *Walker) Name() string {
	if w.escapes {
		name, _ := JSONText(w.name)
		return name
	}
	return w.name[1 : len(w.name)-1]
}
