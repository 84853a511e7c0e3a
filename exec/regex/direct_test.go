package regex

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
)

// randomPattern is an expression of the parts that are tried directly, and of a few others.
func randomPattern(r *rand.Rand, depth int) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		switch k := r.IntN(14); {
		case k < 4:
			b.WriteString([]string{"a", "b", "ab", "/", "é", "://", "ba"}[r.IntN(7)])
		case k < 8:
			b.WriteString([]string{"[^/]", ".", "[ab]", "[a-z]", "[^b]", `\w`, "[é-ü]", `\d`, `\S`, `\s`}[r.IntN(10)])
		case k < 9 && depth > 0:
			b.WriteString("(?:" + randomPattern(r, depth-1) + ")")
		case k < 11 && depth > 0:
			b.WriteString("(" + randomPattern(r, depth-1) + ")")
		case k < 12 && depth > 0:
			b.WriteString("(" + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")")
		default:
			b.WriteString("b")
		}
		b.WriteString([]string{"", "", "", "+", "*", "?", "+?", "*?", "{1,2}", "{2}", "??"}[r.IntN(11)])
	}
	return b.String()
}

func randomSubject(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(14) {
		b.WriteString([]string{"a", "b", "a", "b", "/", "é", "://", "0", "\n", "日", " "}[r.IntN(11)])
	}
	return b.String()
}

// TestDirect: what is tried directly has the matches and groups that regexp finds.
func TestDirect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	known, ends, sure := 0, 0, 0
	for range 6000 {
		p := randomPattern(r, 2)
		if r.IntN(3) == 0 {
			p = "^" + p
		}
		if r.IntN(2) == 0 {
			p += "$"
		}
		x, err := Compile(p, "")
		if err != nil || x.direct == nil {
			continue
		}
		known++
		if x.direct.ends {
			ends++
		}
		if x.direct.sure {
			sure++
		}
		y, _ := Compile(p, "")
		y.direct, y.once = nil, nil
		x.use(&function.Call{})
		y.use(&function.Call{})
		for range 12 {
			s := randomSubject(r)
			got, want := fmt.Sprint(x.Match(s)), fmt.Sprint(y.Match(s))
			a, err1 := x.First(s)
			a = slices.Clone(a)
			b, err2 := y.First(s)
			all, err3 := x.Matches(s, 0, 0)
			each, err4 := y.Matches(s, 0, 0)
			if err1 != nil || err2 != nil || err3 != nil || err4 != nil || got != want || !slices.Equal(a, b) || !reflect.DeepEqual(all, each) {
				t.Fatalf("%q in %q: %s %v %v, want %s %v %v", p, s, got, a, all, want, b, each)
			}
		}
	}
	if known < 2000 || ends < 800 || sure < 1000 {
		t.Errorf("only %d expressions are tried directly, %d of them to the end, %d with one way", known, ends, sure)
	}
}

// TestSure: what has one way to match.
func TestSure(t *testing.T) {
	for p, want := range map[string]bool{
		`pump-([0-9]+)`: true, `^(\S+)Z \[(\w+)\] pump-(\d+) temp=([\d.]+)`: true, `(a?)(ab)?`: false, `a*b`: true, `a*ab`: true, `a*a`: false,
		`(a|b)c`: true, `(ab|[a-c]y)d`: false, `a(bc)?`: true, `a(b|)c`: true, `\w+@\w+\.com`: true, `.*x`: false, `[^x]*x`: true, `a{2,3}b`: true,
		`a{2,3}ab`: false, `a+?b`: false, `é*ü`: true, `é*é`: false, `\s*(\w+)\s*=\s*(\d+)`: true, `(a|)b?`: true, `(|a)b?`: false, `\d+(\.\d+)?`: true, `a{2,3}(b?)`: true,
	} {
		x, err := Compile(p, "")
		if err != nil || x.direct == nil || x.direct.sure != want {
			t.Errorf("%s: %v, %+v", p, err, x)
		}
	}
}

// TestSplit: the parts of a text are those between all of its matches.
func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		p := randomPattern(r, 1)
		if r.IntN(5) == 0 {
			p = []string{`(a)\1`, `a(?=b)`, `\y`, `\s+`, `/`, `^a`, `$`, ``}[r.IntN(8)]
		}
		x, err := Compile(p, "")
		if err != nil {
			continue
		}
		meter := vector.NewMeter(nil)
		arena := vector.NewArena(&meter)
		x.use(&function.Call{Arena: &arena})
		s := randomSubject(r)
		matches, err := x.Matches(s, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		at := 0
		for _, m := range matches {
			if m[0] == m[1] && (m[0] == at || m[0] >= len(s)) {
				continue
			}
			want, at = append(want, s[at:m[0]]), m[1]
		}
		want = append(want, s[at:])
		parts, err := x.Split(s)
		for part, ok := parts.Next(); ok; part, ok = parts.Next() {
			got = append(got, part)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %q, want %q, %v", p, s, got, want, err)
		}
	}
}

// TestDirectGivesUp: an expression whose ways to match are too many is left to regexp, in linear time.
func TestDirectGivesUp(t *testing.T) {
	p := "^" + strings.Repeat("a*", 30) + "b$"
	x, err := Compile(p, "")
	if err != nil || x.direct == nil {
		t.Fatal(err)
	}
	s := strings.Repeat("a", 5000)
	if _, ok := x.direct.find(s); ok {
		t.Error("it was tried to the end")
	}
	x.use(&function.Call{})
	if is, err := x.Match(s); is || err != nil {
		t.Error(is, err)
	}
	if is, err := x.Match(s + "b"); !is || err != nil {
		t.Error(is, err)
	}
}

func BenchmarkDirect(b *testing.B) {
	s := "https://www.example.com/some/path?with=parameters&and=more"
	for name, off := range map[string]bool{"direct": false, "regexp": true} {
		b.Run(name, func(b *testing.B) {
			x, err := Compile(`^https?://(?:www\.)?([^/]+)/.*$`, "")
			if err != nil {
				b.Fatal(err)
			}
			if x.use(&function.Call{}); off {
				x.direct = nil
			}
			for b.Loop() {
				x.find(s)
			}
		})
	}
}

// TestOnce: literals and classes of characters have the matches, and what replaces them, that regexp finds.
func TestOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, p := range []string{"a", "ab", "é", "[^a-b]", "[ab]+", ".", ".+", `\d+`, `\s`, "[^/]+", "[é-ü]", "[[:alpha:]]+", `\W`, "[^b]{1,}", "://", "a+?", "a*", "(a)", "a$"} {
		fast, err := Compile(p, "")
		if err != nil {
			t.Fatal(err)
		}
		slow, err := Compile(p, "")
		if err != nil {
			t.Fatal(err)
		}
		slow.once = nil
		meter := vector.NewMeter(nil)
		arena := vector.NewArena(&meter)
		fast.use(&function.Call{Arena: &arena})
		slow.use(&function.Call{Arena: &arena})
		for range 300 {
			s := randomSubject(r)
			for _, start := range []int{0, len(s), len(s) + 1} {
				got, err1 := fast.Matches(s, start, 0)
				want, err2 := slow.Matches(s, start, 0)
				if err1 != nil || err2 != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%q in %q from %d: %v, want %v", p, s, start, got, want)
				}
			}
			for _, n := range []int{0, 1, 2} {
				got, err1 := fast.Replace(s, `<\&>\1`, 0, n)
				want, err2 := slow.Replace(s, `<\&>\1`, 0, n)
				if err1 != nil || err2 != nil || got != want {
					t.Fatalf("%q in %q, %d: %q, want %q", p, s, n, got, want)
				}
			}
		}
	}
	for _, p := range []string{"a", "[^A-Z]", `\d+`} {
		if x, err := Compile(p, ""); err != nil || x.once == nil {
			t.Errorf("%q is given to the machine: %v", p, err)
		}
	}
}
