package shell

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestNamed: the relations that stand in a statement are found by their names and aliases, wherever the cursor is.
func TestNamed(t *testing.T) {
	for in, want := range map[string]map[string]string{
		"select  from flights where":                            {"flights": "flights"},
		"select from s.flights f join airports as a on f.x = a": {"f": "s.flights", "a": "airports"},
		"select 'from x' from a, b c":                           {"a": "a", "c": "b"},
		"update t set":                                          {"t": "t"},
	} {
		if got := named(tokens(in)); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

// TestComplete: the editor goes on to another line until the statement ends.
func TestComplete(t *testing.T) {
	for in, want := range map[string]bool{"select 1": false, "select 1;": true, "select ';": false, "select 1 \\g": true, "\\d": true, "": true, "quit": true, "select\nquit": true} {
		if got := complete(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

// TestHighlight: colours change no letter.
func TestHighlight(t *testing.T) {
	text := "select 'a;b', 12 from t -- x"
	got := highlight(text)
	for _, c := range []string{bold, str, number, plain, "\x1b[2m"} {
		got = strings.ReplaceAll(got, c, "")
	}
	if got != text {
		t.Error(got)
	}
}

// TestHistory: statements are kept over sessions in a file of the person's own; those with passwords are not.
func TestHistory(t *testing.T) {
	path := t.TempDir() + "/history"
	h := openHistory(path)
	for _, l := range []string{"select 1;", "select\n 2;", "select\n 2;", "alter role a password 'x';", " select 3;"} {
		if _, err := h.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := openHistory(path).lines, []string{"select 1;", "select\n 2;"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestWhereOneIs: what is completed follows from what stands before it.
func TestWhereOneIs(t *testing.T) {
	for in, want := range map[string]string{
		"train model m using kmeans with (":                                "kmeans",
		"TRAIN MODEL m USING Kmeans PREDICT y WITH (a = 1, ":               "kmeans",
		"train model m using mlp with (hidden_units = [1, ":                "", // in a list
		"train model m using kmeans with (a = 1) as select (":              "",
		"select * from t join u using ":                                    "",
		"train or replace model m using ridge predict y with (alpha = 1, ": "ridge",
	} {
		words := tokens(in)
		upper := make([]string, len(words))
		for i, w := range words {
			upper[i] = strings.ToUpper(w)
		}
		if got := training(words, upper); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
	for in, want := range map[string][2]string{
		"select predict('la":           {"select predict(", "la"},
		"select 'a', 'it''s":           {"select 'a', ", "it''s"},
		"copy t from '/tmp/ü":          {"copy t from ", "/tmp/ü"},
		"select E'x":                   {"select ", "x"},
		"select 'closed' ":             {},
		"select \"a'b":                 {},
		"select 1 -- don't":            {},
		"select $$ it's":               {},
		"select * from read_csv('a', ": {},
	} {
		before, inside, ok := openString(in)
		if ok != (want != [2]string{}) || before != want[0] || inside != want[1] {
			t.Errorf("%s: %q %q %v", in, before, inside, ok)
		}
	}
	for in, want := range map[string][2]string{
		`\d`: {"", `\d`}, `\d fl`: {"d", "fl"}, `\pset format `: {"pset", "format "}, `select 1 \g /tm`: {"g", "/tm"}, `\x \dt a`: {"dt", "a"},
	} {
		if name, rest, ok := lastCommand(in); !ok || name != want[0] || rest != want[1] {
			t.Errorf("%s: %q %q %v", in, name, rest, ok)
		}
	}
	if _, _, ok := lastCommand(`select '\d`); ok {
		t.Error("a string is no command")
	}
}

// TestFit: a list that is longer than the screen is cut, and Tab still adds only what all candidates begin with.
func TestFit(t *testing.T) {
	var list []candidate
	for _, c := range "abc" {
		for i := range 50 {
			list = append(list, candidate{fmt.Sprintf("x%c%02d", c, i), "about"})
		}
	}
	list = append(list, candidate{"y", "about"})
	got := fit(list, 80, 10)
	if len(got) != 10 || got[9].text[0] == 'x' {
		t.Errorf("%d: %v", len(got), got)
	}
	if got := fit(list[:5], 80, 10); len(got) != 5 {
		t.Error(got)
	}
	// Without the y all begin with an x, and what is shown must not begin with xa.
	if got := fit(list[:150], 80, 10); shared(got) != 1 {
		t.Error(got)
	}
	// Short names without an explanation stand beside each other.
	for i := range list {
		list[i].about = ""
	}
	if got := fit(list, 80, 10); len(got) != 130 {
		t.Error(len(got))
	}
}

// TestFiles: a path goes on in its directory; hidden files are offered to who types the dot.
func TestFiles(t *testing.T) {
	dir := t.TempDir() + "/"
	for _, name := range []string{"a.sql", ".hidden"} {
		if err := os.WriteFile(dir+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir+"sub", 0o700); err != nil {
		t.Fatal(err)
	}
	if got := files(dir); !slices.Equal(got, []candidate{{text: dir + "a.sql"}, {text: dir + "sub/"}}) {
		t.Error(got)
	}
	if got := filter(files(dir+".h"), dir+".h"); !slices.Equal(got, []candidate{{text: dir + ".hidden"}}) {
		t.Error(got)
	}
}
