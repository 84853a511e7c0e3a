package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestInterpolate: variables stand in for themselves, as a literal and as a name, and nowhere within quotes.
func TestInterpolate(t *testing.T) {
	s := &session{vars: map[string]string{"x": "5", "n": `a"b'c`}}
	for in, want := range map[string]string{
		"select :x, :'n', :\"n\", ':x', :y, 1::int, a[1:2], :{?x} -- :x": "select 5, 'a\"b''c', \"a\"\"b'c\", ':x', :y, 1::int, a[1:2], TRUE -- :x",
		"select $$ :x $$, :x":  "select $$ :x $$, 5",
		"/* :x */ select 1::x": "/* :x */ select 1::x",
	} {
		if got := s.interpolate(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	s := &session{vars: map[string]string{"x": "5"}}
	a := &arguments{s: s, rest: ` one 'two  words\n' "A b".c :x:x ` + "`echo hi`" + ` \\ select 1;`}
	if got, want := a.all(), []string{"one", "two  words\n", `"A b".c`, "55", "hi"}; !slices.Equal(got, want) || strings.TrimPrefix(a.rest, `\\`) != ` select 1;` {
		t.Errorf("%q, %q", got, a.rest)
	}
}

// TestParseArgs: letters may be joined, and flags may stand behind other arguments, as psql takes them.
func TestParseArgs(t *testing.T) {
	s := &session{format: newFormat()}
	o, err := s.parse([]string{"-qAtXc", "select 1", "mydb", "-p5433", "-v", "a=b", "--csv", "-Ume"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if !s.quiet || !s.format.tuples || s.format.kind != "csv" || !o.noRC || len(o.actions) != 1 || o.actions[0].text != "select 1" || o.database != "mydb" || o.port != "5433" || o.user != "me" || o.sets[0] != "a=b" {
		t.Errorf("%+v", o)
	}
}

func TestParseCopy(t *testing.T) {
	for in, want := range map[string][3]string{
		`t from 'a b.csv' with (format csv)`:          {"from", "a b.csv", "COPY t from stdin with (format csv)"},
		`(select 'to' from x) to /tmp/y.csv csv`:      {"to", "/tmp/y.csv", "COPY (select 'to' from x) to stdout csv"},
		`t (a, b) from program 'gzip -dc x' (header)`: {"from", "gzip -dc x", "COPY t (a, b) from stdin (header)"},
		`t to STDOUT`: {"to", "stdout", "COPY t to stdout"},
	} {
		way, target, _, sql, err := parseCopy(in)
		if got := [3]string{way, target, strings.TrimSpace(sql)}; err != nil || got != want {
			t.Errorf("%s: %q %v", in, got, err)
		}
	}
	if _, _, _, _, err := parseCopy("t"); err == nil {
		t.Error("no direction")
	}
}

// TestCopyOf: what moves bytes through the connection is told from what names a file.
func TestCopyOf(t *testing.T) {
	for sql, want := range map[string]string{
		"copy t to stdout": " to stdout", "COPY t (a) FROM STDIN with csv": " from stdin", "copy t to '/tmp/x'": "",
		"export model m to STDOUT with (format = 'onnx')": " to stdout", "Import  Model s.m\nfrom stdin": " from stdin", "export model m to 'm.onnx'": "",
		"select ' to stdout '": "", "import foreign schema s from server x into y": "",
	} {
		if got := copyOf(sql); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
