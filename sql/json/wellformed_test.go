package json

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func randomJSON(r *rand.Rand, depth int) string {
	space := func() string { return []string{"", "", " ", "\n\t"}[r.IntN(4)] }
	var b strings.Builder
	b.WriteString(space())
	switch k := r.IntN(8); {
	case k < 2 && depth > 0:
		b.WriteString("{" + space())
		for i := range r.IntN(4) {
			if i > 0 {
				b.WriteString("," + space())
			}
			b.WriteString(randomString(r) + space() + ":" + randomJSON(r, depth-1))
		}
		b.WriteString("}")
	case k < 4 && depth > 0:
		b.WriteString("[")
		for i := range r.IntN(4) {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(randomJSON(r, depth-1))
		}
		b.WriteString(space() + "]")
	case k < 5:
		b.WriteString(randomString(r))
	default:
		b.WriteString([]string{"0", "-1", "12.50", "1e9", "-0.5E-3", "true", "false", "null", "10"}[r.IntN(9)])
	}
	return b.String() + space()
}

func randomString(r *rand.Rand) string {
	return []string{`"a"`, `""`, `"b c"`, `"é"`, `"\n\"\\"`, `"\/"`, `"\u00e9"`, `"{"`, `"a"`}[r.IntN(9)]
}

// TestWellFormed: what is well-formed at a glance is valid, and most valid texts are, with damage anywhere.
func TestWellFormed(t *testing.T) {
	slow := func(s string) bool { _, err := Outline(s); return err == nil }
	r := rand.New(rand.NewPCG(3, 4))
	valid, quick := 0, 0
	for range 40000 {
		s := randomJSON(r, 4)
		if r.IntN(2) == 0 && len(s) > 0 {
			b, at := []byte(s), r.IntN(len(s))
			const marks = "{}[],:\"\\ 0a-.e+\x01"
			switch b[at] = marks[r.IntN(len(marks))]; r.IntN(3) {
			case 0:
				s = s[:at] + s[at+1:]
			case 1:
				s = string(b)
			default:
				s = s[:at]
			}
		}
		ok := slow(s)
		if wellFormed(s) {
			if quick++; !ok {
				t.Fatalf("%q is not valid", s)
			}
		}
		if ok {
			valid++
		}
		if (Valid(s) == nil) != ok {
			t.Fatalf("%q: valid %v", s, !ok)
		}
	}
	if valid < 10000 || quick < valid*2/3 {
		t.Errorf("%d of %d valid texts are well-formed at a glance", quick, valid)
	}
	for _, s := range []string{"", " ", "{", "[", "]", "[1,]", `{"a":1,}`, `{"a" 1}`, `{1:2}`, "[}", `{"a":1]`, "01", "1.", "1e", "-", "tru", "nullx", "1 2", `"`, `"\x"`, "\"\x01\"", "[[]", "[]]"} {
		if wellFormed(s) {
			t.Errorf("%q is not well-formed", s)
		}
	}
	for _, s := range []string{strings.Repeat("[", 64) + strings.Repeat("]", 64), `{"a":{"b":[1,{"c":null}]},"d":[]}`, " 1 ", `[{}, []]`} {
		if !wellFormed(s) {
			t.Errorf("%q is well-formed", s)
		}
	}
	if s := strings.Repeat("[", 65) + strings.Repeat("]", 65); wellFormed(s) || Valid(s) != nil {
		t.Error("65 levels")
	}
}
