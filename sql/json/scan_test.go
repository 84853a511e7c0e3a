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
		found := make([]Span, len(keys))
		Members(s, keys, found)
		for i, key := range keys {
			want, ok := tree.Get(key)
			if ok != (found[i].To > 0) || ok && s[found[i].From:found[i].To] != want.Raw {
				t.Fatalf("%q of %s is at %v, want %q, %v", key, s, found[i], want.Raw, ok)
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
