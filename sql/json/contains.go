package json

import "github.com/tributarydb/tributary/sql/number"

// Contains is the operator @> of a jsonb value's text, which is gone through without a tree.
func Contains(s string, w Value) bool {
	// At the top level an array contains a scalar that is one of its elements, but a scalar
	// contains no array.
	if w.Scalar() && kindOf(s) == Array {
		return containsElement(s, w)
	}
	return containsPart(s, w)
}

// containsPart is Contains below the top, where kinds must agree.
func containsPart(s string, w Value) bool {
	if kindOf(s) != w.Kind {
		return false
	}
	switch w.Kind {
	case Object:
		return containsMembers(s, w)
	case Array:
		for _, e := range w.Elems {
			if !containsElement(s, e) {
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

func containsElement(s string, e Value) bool {
	for w := Walk(s); w.Next(); {
		if containsPart(w.Value, e) {
			return true
		}
	}
	return false
}

// containsMembers goes through both objects once: the keys of jsonb are in order.
func containsMembers(s string, o Value) bool {
	k := 0
	for w := Walk(s); k < len(o.Keys) && w.Next(); {
		name := w.Name()
		if keyLess(o.Keys[k], name) {
			return false
		}
		if name != o.Keys[k] {
			continue
		}
		if !containsPart(w.Value, o.Elems[k]) {
			return false
		}
		k++
	}
	return k == len(o.Keys)
}

// Exists is the operator ? of a jsonb value's text: a key of an object, a string among an array's elements, or the
// string itself.
func Exists(s, key string) bool {
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
