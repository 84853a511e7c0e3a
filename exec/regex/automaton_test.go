package regex

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestAutomaton: an automaton says what the machine with threads says.
func TestAutomaton(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	atoms := []string{"a", "b", "é", ".", "[ab]", "[^a]", "\\d", "x", "(?i:aB)", "(?s:.)", "^", "$", "\\z", "(?:a|bc)", "(x)"}
	ends := []string{"", "", "", "*", "+", "?", "{2,3}", "*?"}
	texts := []string{"a", "b", "é", "B", "A", "x", "7", "\n", "c", "ſ", "K"}
	made := 0
	for range 4000 {
		var p strings.Builder
		for n := 1 + r.IntN(4); n > 0; n-- {
			if r.IntN(8) == 0 {
				p.WriteByte('|')
			}
			atom := atoms[r.IntN(len(atoms))]
			p.WriteString(atom)
			if atom != "^" && atom != "$" && atom != "\\z" {
				p.WriteString(ends[r.IntN(len(ends))])
			}
		}
		re, err := regexp.Compile(p.String())
		if err != nil {
			continue
		}
		a := newAutomaton(re)
		if a == nil {
			continue
		}
		made++
		for range 30 {
			var s strings.Builder
			for n := r.IntN(7); n > 0; n-- {
				s.WriteString(texts[r.IntN(len(texts))])
			}
			if got, ok := a.in(s.String(), nil); !ok || got != re.MatchString(s.String()) {
				t.Fatalf("%q in %q: %v, %v", p.String(), s.String(), got, ok)
			}
		}
	}
	if made < 3000 {
		t.Errorf("%d automata", made)
	}
	for _, p := range []string{`\bx`, `(?m)^x`, `x\B`} {
		if newAutomaton(regexp.MustCompile(p)) != nil {
			t.Errorf("%s looks at more than a character", p)
		}
	}
	a := newAutomaton(regexp.MustCompile(`(?:a|b)*a(?:a|b){14}c`))
	var s strings.Builder
	for range 40000 {
		s.WriteByte("ab"[r.IntN(2)])
	}
	if _, ok := a.in(s.String(), nil); ok {
		t.Errorf("%d states", len(a.states))
	}
}
