package json

import "github.com/tributarydb/tributary/sql/number"

// Contains is the operator @> of a jsonb value's text, which is gone through without a tree.
func Contains(s string, w Value) bool { return inOrder.contains(s, w) }

// container says whether the keys of objects are in the order of jsonb, each once.
type container bool

const (
	inOrder  container = true
	anyOrder container = false
)

func (c container) contains(s string, w Value) bool {
	// At the top level an array contains a scalar that is one of its elements, but a scalar
	// contains no array.
	if w.Scalar() && kindOf(s) == Array {
		return c.element(s, w)
	}
	return c.part(s, w)
}

// part is contains below the top, where kinds must agree.
func (c container) part(s string, w Value) bool {
	if kindOf(s) != w.Kind {
		return false
	}
	switch w.Kind {
	case Object:
		if c == inOrder {
			return c.members(s, w)
		}
		return c.lastMembers(s, w)
	case Array:
		for _, e := range w.Elems {
			if !c.element(s, e) {
				return false
			}
		}
		return true
	case Number:
		d, err := number.ParseDecimal(s)
		return err == nil && d.Cmp(w.Num) == 0
	case String:
		text, _ := JSONText(s)
		return text == w.Str
	case Bool:
		return (s == "true") == w.Bool
	}
	return true
}

func (c container) element(s string, e Value) bool {
	for w := Walk(s); w.Next(); {
		if c.part(w.Value, e) {
			return true
		}
	}
	return false
}

// members goes through both objects once.
func (c container) members(s string, o Value) bool {
	k := 0
	for w := Walk(s); k < len(o.Keys) && w.Next(); {
		name := w.Name()
		if keyLess(o.Keys[k], name) {
			return false
		}
		if name != o.Keys[k] {
			continue
		}
		if !c.part(w.Value, o.Elems[k]) {
			return false
		}
		k++
	}
	return k == len(o.Keys)
}

// lastMembers finds the last member of each key.
func (c container) lastMembers(s string, o Value) bool {
	var few [8]Span
	found := few[:]
	if len(o.Keys) > len(few) {
		found = make([]Span, len(o.Keys))
	}
	found = found[:len(o.Keys)]
	for w := Walk(s); w.object && w.Next(); {
		name := w.Name()
		for k := range o.Keys {
			if o.Keys[k] == name {
				found[k] = w.span()
			}
		}
	}
	for k, at := range found {
		if at.To == 0 || !c.part(s[at.From:at.To], o.Elems[k]) {
			return false
		}
	}
	return true
}

// Exists is the operator ? of a jsonb value's text: a key of an object, a string among an array's elements, or the
// string itself.
func Exists(s, key string) bool {
	if Lacks(s, key) {
		return false
	}
	w := Walk(s)
	if !w.object && !w.array {
		return isText(s, key)
	}
	for w.Next() {
		if w.object && w.Name() == key || w.array && isText(w.Value, key) {
			return true
		}
	}
	return false
}

func isText(s, text string) bool {
	if kindOf(s) != String {
		return false
	}
	t, _ := JSONText(s)
	return t == text
}
