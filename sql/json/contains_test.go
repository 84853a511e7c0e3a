package json

import (
	"math/rand/v2"
	"testing"
)

// TestTextsOfJSONB: what is contained, what exists and what a text is as jsonb are the same without a tree.
func TestTextsOfJSONB(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	quick, canonical := 0, 0
	parse := func(s string) Value {
		v, err := ParseJSONB(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for range 50000 {
		s := randomJSON(r, 3)
		v := parse(s)
		if text, ok := quickCanonical(s); ok {
			quick++
			if want := v.String(); text != want {
				t.Fatalf("%s is %s, want %s", s, text, want)
			}
		}
		text := v.String()
		as, err := Readable(s)
		if err != nil {
			t.Fatal(err)
		}
		if as == text {
			canonical++
		}
		part := parse(randomJSON(r, 2))
		for range 2 {
			if got, want := Contains(text, part), v.contains(part); got != want {
				t.Fatalf("%s contains %s: %v, want %v", text, part, got, want)
			}
			if q := part.Quoted(); v.contains(part) && (Lacks(text, q) || Lacks(as, q)) {
				t.Fatalf("%s contains %s, but lacks %s", as, part, q)
			}
			if got, want := ContainsReadable(as, part), v.contains(part); got != want {
				t.Fatalf("%s contains %s: %v, want %v", as, part, got, want)
			}
			part = v // and then what it is made of
			for part.Kind == Array && len(part.Elems) > 0 && r.IntN(2) == 0 {
				part = part.Elems[r.IntN(len(part.Elems))]
			}
			if part.Kind == Object && len(part.Elems) > 0 {
				k := r.IntN(len(part.Elems))
				part = ObjectOf([]string{part.Keys[k]}, []Value{part.Elems[k]})
			}
		}
		for _, key := range []string{"a", "", "b c", "é", "\n\"\\", "/", "none"} {
			if got, want := Exists(text, key), v.exists(key); got != want {
				t.Fatalf("%q in %s: %v, want %v", key, text, got, want)
			}
			if got, want := Exists(as, key), v.exists(key); got != want {
				t.Fatalf("%q in %s: %v, want %v", key, as, got, want)
			}
		}
	}
	if canonical > 40000 {
		t.Errorf("%d texts are jsonb's own", canonical)
	}
	if quick < 5000 {
		t.Errorf("only %d texts in one pass", quick)
	}
	for s, want := range map[string]string{
		` {"bb": 1.50, "a" : [ 1 ,{}, [] ], "ab":null} `: `{"a": [1, {}, []], "ab": null, "bb": 1.50}`,
		"\n[true,\t\"x\\ny\"]":                           `[true, "x\ny"]`,
		` 12 `:                                           `12`,
		`{"a":1,"b":2,"a":3}`:                            "",
		`{"a":1e2}`:                                      "",
		`[-0]`:                                           "",
		`{"\u0061":1}`:                                   "",
		`{"a\nb":1}`:                                     "",
		`["a\/b"]`:                                       "",
		`{"a":1`:                                         "",
	} {
		if got, ok := quickCanonical(s); got != want || ok != (want != "") {
			t.Errorf("%s is %s, %v, want %s", s, got, ok, want)
		}
	}
}

// TestReadable: what jsonb refuses or spells otherwise is not read as it lies.
func TestReadable(t *testing.T) {
	for s, want := range map[string]string{
		` {"b" : 1,"a":2, "b": 3} `: `{"b" : 1,"a":2, "b": 3}`,
		`[1e2, -0]`:                 `[100, 0]`,
		`-0.0`:                      `0.0`,
		`"\u00e9"`:                  `"é"`,
		`["1e2"]`:                   `["1e2"]`,
	} {
		if got, err := Readable(s); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", s, got, err, want)
		}
	}
	for _, s := range []string{`"\u0000"`, `"\ud800"`, `1e1000000`} {
		_, want := CanonicalJSONB(s)
		if got, err := Readable(s); want == nil || err == nil || err.Error() != want.Error() {
			t.Errorf("%s is %s, %v, want %v", s, got, err, want)
		}
	}
}

// TestRespelt: eight bytes at a time are the same as one.
func TestRespelt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	const bytes = "abdef0123-., EFG\xc3"
	found := 0
	for range 20000 {
		s := make([]byte, r.IntN(30))
		for i := range s {
			s[i] = bytes[r.IntN(len(bytes))]
		}
		want := false
		for i := range s {
			want = want || i > 0 && (s[i] == 'e' || s[i] == 'E') && s[i-1] >= '0' && s[i-1] <= '9' || s[i] == '0' && i > 0 && s[i-1] == '-'
		}
		if want {
			found++
		}
		if got := respelt(string(s)); got != want {
			t.Fatalf("%q: %v", s, got)
		}
	}
	if found < 1000 {
		t.Error(found)
	}
}

// exists is Exists in a tree.
func (v Value) exists(key string) bool {
	switch v.Kind {
	case Object:
		_, ok := v.Get(key)
		return ok
	case Array:
		for _, e := range v.Elems {
			if e.Kind == String && e.Str == key {
				return true
			}
		}
	case String:
		return v.Str == key
	}
	return false
}

// contains is Contains in a tree.
func (v Value) contains(w Value) bool {
	// At the top level an array contains a scalar that is one of its elements, but a scalar
	// contains no array.
	switch {
	case v.Scalar() && w.Scalar():
		return v.cmp(w) == 0
	case v.Kind == Array && w.Scalar():
		return v.contains(ArrayOf([]Value{w}))
	case v.Kind != w.Kind:
		return false
	case v.Kind == Object:
		for i, k := range w.Keys {
			e, ok := v.Get(k)
			if !ok || !e.containsPart(w.Elems[i]) {
				return false
			}
		}
		return true
	}
	for _, x := range w.Elems {
		found := false
		for _, e := range v.Elems {
			if e.containsPart(x) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// containsPart is Contains below the top, where kinds must agree.
func (v Value) containsPart(w Value) bool {
	if v.Kind != w.Kind {
		return false
	}
	return v.contains(w)
}
