package json

import (
	"slices"
	"strings"
)

// quickCanonical writes the text of a jsonb value from a json text in one pass, of texts that need no closer look: most
// are. ok is false where numbers may be spelt otherwise, or keys have escapes or duplicates.
func quickCanonical(s string) (text string, ok bool) {
	if !wellFormed(s) || strings.Contains(s, `\/`) {
		return "", false
	}
	dst := make([]byte, 0, len(s)+len(s)/8+8)
	if dst, ok = appendCanonical(dst, strings.Trim(s, " \t\n\r")); !ok {
		return "", false
	}
	return string(dst), true
}

func appendCanonical(dst []byte, s string) (_ []byte, ok bool) {
	switch c := s[0]; {
	case c == '{':
		return appendMembers(dst, Walk(s))
	case c == '-' && s[1] == '0', c-'0' < 10 && strings.ContainsAny(s, "eE"), c == '-' && strings.ContainsAny(s, "eE"):
		return dst, false
	case c != '[':
		return append(dst, s...), true
	}
	w := Walk(s)
	dst = append(dst, '[')
	for first := true; w.Next(); first = false {
		if !first {
			dst = append(dst, ", "...)
		}
		if dst, ok = appendCanonical(dst, w.Value); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

// appendMembers appends an object whose members are in the order of jsonb. They are written as they come, and moved
// behind one another where that is not the order.
func appendMembers(dst []byte, w Walker) (_ []byte, ok bool) {
	type member struct {
		name     string
		from, to int
	}
	order := func(a, b member) int {
		switch {
		case a.name == b.name:
			return 0
		case keyLess(a.name, b.name):
			return -1
		}
		return 1
	}
	var few [16]member
	found, base := few[:0], len(dst)
	for w.Next() {
		if w.escapes {
			return dst, false
		}
		m := member{name: w.Name(), from: len(dst)}
		dst = append(append(dst, w.name...), ": "...)
		if dst, ok = appendCanonical(dst, w.Value); !ok {
			return dst, false
		}
		m.to = len(dst)
		found = append(found, m)
	}
	slices.SortFunc(found, order)
	written := len(dst)
	dst = append(dst, '{')
	for i, m := range found {
		if i > 0 {
			if m.name == found[i-1].name {
				return dst, false
			}
			dst = append(dst, ", "...)
		}
		dst = append(dst, dst[m.from:m.to]...)
	}
	dst = append(dst, '}')
	return append(dst[:base], dst[written:]...), true
}
