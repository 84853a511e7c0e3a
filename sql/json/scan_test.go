package json

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestMembers: members and paths found in a text are those of its tree, and so are the kind and the length.
func TestMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	keys := []string{"a", "", "b c", "é", "\n\"\\", "/", "none"}
	paths := [][]string{nil, {"a"}, {"0"}, {"-1"}, {"a", "b c"}, {"1", "a"}, {"b c", "0", "é"}, {"x"}}
	for range 20000 {
		s := randomJSON(r, 4)
		tree, err := ParseJSON(s)
		if err != nil {
			t.Fatal(err)
		}
		var steps []Step
		for _, key := range keys {
			steps = append(steps, Step{Key: key})
		}
		for _, path := range paths[1:] {
			steps = append(steps, Step{Key: path[0], Path: path[1:]})
		}
		for i := range 3 {
			steps = append(steps, Step{Elem: true, Index: i - 1}, Step{Elem: true, Index: i - 1, Binary: true})
		}
		found := make([]Span, len(steps))
		Find(s, steps, found)
		for i, step := range steps {
			text, ok := "", false
			switch {
			case step.Elem && step.Binary && s[0] <= ' ':
				continue // no jsonb
			case step.Elem && step.Binary:
				text, ok = JSONBElement(s, step.Index)
			case step.Elem:
				text, ok = JSONElement(s, step.Index)
			case len(step.Path) > 0:
				text, ok = JSONPath(s, append([]string{step.Key}, step.Path...))
			default:
				continue
			}
			if at := found[i]; ok != (at.To > 0) || ok && s[at.From:at.To] != text {
				t.Fatalf("%+v of %s is at %v, want %q, %v", step, s, at, text, ok)
			}
		}
		for i, key := range keys {
			want, ok := tree.Get(key)
			if ok != (found[i].To > 0) || ok && s[found[i].From:found[i].To] != want.Raw {
				t.Fatalf("%q of %s is at %v, want %q, %v", key, s, found[i], want.Raw, ok)
			}
		}
		spans := make([]Span, len(keys))
		for w, each := Walk(s), Walk(s); w.array; {
			object, ok := w.NextMembers(keys, spans)
			if ok != each.Next() {
				t.Fatalf("%s has %v more elements", s, ok)
			}
			if !ok {
				break
			}
			for i, key := range keys {
				text, has := JSONField(each.Value, key)
				if at := spans[i]; has != (at.To > 0) || s[at.From:at.To] != text || object != (KindOf(each.Value) == "object") {
					t.Fatalf("%q of an element of %s is at %v, want %q, %v", key, s, at, text, has)
				}
			}
		}
		for _, path := range paths {
			want, ok := pathIn(tree, path)
			if got, has := JSONPath(s, path); has != ok || ok && strings.Trim(got, " \n\t") != want.Raw {
				t.Fatalf("%q of %s is %q, %v, want %q, %v", path, s, got, has, want.Raw, ok)
			}
		}
		if got := KindOf(s); got != tree.TypeOf() {
			t.Fatalf("%s is %s", s, got)
		}
		n, err := tree.ArrayLength()
		if got, ok := Length(s); ok != (err == nil) || got != n && ok {
			t.Fatalf("%s has %d, %v elements, want %d", s, got, ok, n)
		}
	}
}

// pathIn is JSONPath in a tree: of duplicates the last that leads on.
func pathIn(v Value, path []string) (last Value, ok bool) {
	if len(path) == 0 {
		return v, true
	}
	switch v.Kind {
	case Object:
		for i, k := range v.Keys {
			if k == path[0] {
				if w, found := pathIn(v.Elems[i], path[1:]); found {
					last, ok = w, true
				}
			}
		}
	case Array:
		if i, num := pathIndex(path[0]); num {
			if w, found := v.Index(i); found {
				return pathIn(w, path[1:])
			}
		}
	}
	return last, ok
}
