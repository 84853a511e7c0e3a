package shell

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
		open bool
	}{
		{"select 1;", []string{"select 1"}, false},
		{"select 1; select 2;", []string{"select 1", "select 2"}, false},
		{"select 1", nil, true},
		{";;  ;", nil, false},
		{"select ';' ;", []string{"select ';'"}, false},
		{"select 'it''s;' , \"a;\"\"b\";", []string{"select 'it''s;' , \"a;\"\"b\""}, false},
		{`select E'a\';b';x;`, []string{`select E'a\';b'`, "x"}, false},
		{`select 'a\';b;`, []string{`select 'a\'`, "b"}, false},
		{"do $$ a; b $$;", []string{"do $$ a; b $$"}, false},
		{"do $x$ a; $$ ; $x$;", []string{"do $x$ a; $$ ; $x$"}, false},
		{"select a$b$;c$b$;", []string{"select a$b$", "c$b$"}, false},
		{"select $1;", []string{"select $1"}, false},
		{"select 1 -- ; no\n+ 1;", []string{"select 1 -- ; no\n+ 1"}, false},
		{"select /* ; /* ; */ ; */ 1;", []string{"select /* ; /* ; */ ; */ 1"}, false},
		{"-- only a comment", nil, false},
		{"/* only */ ; -- c\n;", nil, false},
		{"create rule r as on insert to t do (select 1; select 2);", []string{"create rule r as on insert to t do (select 1; select 2)"}, false},
		{"select 'open", nil, true},
		{"select\n1\n;", []string{"select\n1"}, false},
	} {
		var s splitter
		for _, l := range strings.Split(c.in, "\n") {
			s.add(l)
		}
		if got := s.take(); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
		if s.open() != c.open {
			t.Errorf("%q: open %v", c.in, s.open())
		}
	}
}

// TestSplitFindsWhatWasJoined joins random statements with ";" and splits the text into the same
// statements: a ";" in a string, a comment, a dollar quote or parentheses ends none.
func TestSplitFindsWhatWasJoined(t *testing.T) {
	pieces := []string{"a", " ", "'x;y'", `"q;"`, "$$;$$", "$t$ ;$$; $t$", "/* ; */", "(1;2)", "E'\\';'", "-- ;\n", "\n", "7", "'''' ", "é"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var want []string
		var text strings.Builder
		for range 1 + r.IntN(4) {
			st := "w"
			for range r.IntN(6) {
				st += " " + pieces[r.IntN(len(pieces))]
			}
			want = append(want, strings.TrimSpace(st))
			text.WriteString(st + "\n;")
		}
		var s splitter
		for _, l := range strings.Split(text.String(), "\n") {
			s.add(l)
		}
		if got := s.take(); !slices.Equal(got, want) || s.open() {
			t.Fatalf("%q: %q, want %q", text.String(), got, want)
		}
	}
}

func TestPrompts(t *testing.T) {
	for in, want := range map[string]string{"": "=", "select": "-", "select (": "(", "select '": "'", "select \"": "\"", "select $$": "$", "/*": "*"} {
		var s splitter
		s.add(in)
		if got := s.prompt(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCaret(t *testing.T) {
	got := failure(&pgconn.PgError{Severity: "ERROR", Message: "no", Position: 12, Hint: "try"}, "select é,\n  x from t")
	if want := "ERROR:  no\nLINE 2:   x from t\n         ^\nHINT:  try\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	long := strings.Repeat("a", 200)
	lines := strings.Split(caret(long[:150]+"!"+long[151:], 151), "\n")
	if at := strings.IndexByte(lines[1], '^'); lines[0][at] != '!' {
		t.Errorf("the mark is not below the place:\n%s\n%s", lines[0], lines[1])
	}
}
