package shell

import (
	"maps"
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
