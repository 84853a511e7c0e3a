package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// FuzzParse: no text makes Parse panic or fail without a clear error, and its results are
// consistent.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range strings.Split(string(data), "\n\n") {
			sql, _, ok := strings.Cut(c, "\n----\n")
			if !ok {
				continue
			}
			sql = strings.TrimPrefix(strings.TrimPrefix(sql, "postgres\n"), "mysql\n")
			f.Add(sql, false)
			f.Add(sql, true)
		}
	}
	f.Fuzz(func(t *testing.T, sql string, mysql bool) {
		d := Postgres
		if mysql {
			d = MySQL
		}
		list, err := Parse(sql, d)
		if err != nil {
			e := pgerr.From(err)
			if e.Code == pgerr.InternalError {
				t.Fatalf("%q: %v", sql, e)
			}
			if e.Message == "" || e.Position < 0 || e.Position > len([]rune(sql))+1 {
				t.Fatalf("%q: message %q at %d", sql, e.Message, e.Position)
			}
			if len(list) != 0 {
				t.Fatalf("%q: both statements and an error", sql)
			}
			return
		}
		end := 0
		for _, s := range list {
			if (s.Node == nil) == (s.Extension == nil) {
				t.Fatalf("%q: node %v, own %v", sql, s.Node, s.Extension)
			}
			if s.Offset < end || s.Offset+len(s.Text) > len(sql) || sql[s.Offset:s.Offset+len(s.Text)] != s.Text {
				t.Fatalf("%q: statement %q at %d", sql, s.Text, s.Offset)
			}
			end = s.Offset + len(s.Text)
			if s.Tag() == "" {
				t.Fatalf("%q: no tag", sql)
			}
			s.NumParams()
			s.FindIdent("a", "b")
			s.FindFunc("f")
			s.FindType("t")
			s.FindLiteral("x")
		}
		if !mysql {
			checkAlone(t, sql, list)
		}
	})
}

// checkAlone parses each statement by itself: the result must be the same as among other
// statements.
func checkAlone(t *testing.T, sql string, list []*Statement) {
	for _, s := range list {
		alone, err := Parse(s.Text, Postgres)
		if err != nil || len(alone) != 1 {
			t.Fatalf("%q: %q alone gives %d statements, %v", sql, s.Text, len(alone), err)
		}
		if alone[0].Tag() != s.Tag() {
			t.Fatalf("%q: %q alone is %s, not %s", sql, s.Text, alone[0].Tag(), s.Tag())
		}
	}
}
