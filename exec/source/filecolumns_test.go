package source

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestCSVFiles: several files are one table by the names in their headers, and the types are wide
// enough for all; no column is lost, and none is read as another.
func TestCSVFiles(t *testing.T) {
	union := plan.Arg{Name: "union_by_name", Type: types.Bool, Val: true}
	for name, c := range map[string]struct {
		files []string
		args  []plan.Arg
		want  string // the shape and the rows, or the error
	}{
		"same":          {[]string{"a,b\n1,x\n", "a,b\n2,y\n"}, nil, "a bigint, b text: 1|x 2|y"},
		"another order": {[]string{"a,b\n1,x\n", "b,a\ny,2\n", "a,b\n3,z\n"}, nil, "a bigint, b text: 1|x 2|y 3|z"},
		"wider types":   {[]string{"a,d\n1,2024-01-01\n", "a,d\n2.5,2024-01-02 10:00:00\n"}, nil, "a double precision, d timestamp without time zone: 1|2024-01-01 00:00:00 2.5|2024-01-02 10:00:00"},
		"text at last":  {[]string{"a\n1\n", "a\nx\n"}, nil, "a text: 1 x"},
		"empty first":   {[]string{"a,b\n1,\n", "a,b\n2,7\n"}, nil, "a bigint, b bigint: 1|∅ 2|7"},
		"one more":      {[]string{"a\n1\n", "a,b\n2,y\n"}, nil, `42804 Only "1.csv" has a column "b".`},
		"one less":      {[]string{"a,b\n1,x\n", "a\n2\n"}, nil, `42804 Only "0.csv" has a column "b".`},
		"another name":  {[]string{"a,b\n1,x\n", "a,c\n2,y\n"}, nil, `42804 Only "1.csv" has a column "c".`},
		"union":         {[]string{"a,b\n1,x\n", "c,a\n2024-01-01,2\n", "a,b\n3,z\n"}, []plan.Arg{union}, "a bigint, b text, c date: 1|x|∅ 2|∅|2024-01-01 3|z|∅"},
		"union of more": {[]string{"a\n1\n", "a,b\n2,y\n", "a\n3\n"}, []plan.Arg{union}, "a bigint, b text: 1|∅ 2|y 3|∅"},
		"no header":     {[]string{"1,2\n", "3.5,4\n"}, nil, "column0 double precision, column1 bigint: 1|2 3.5|4"},
		"a file empty":  {[]string{"a,b\n1,x\n", "", "b,a\ny,2\n"}, nil, "a bigint, b text: 1|x 2|y"},
		"union, none":   {[]string{"1,2\n", "3,4\n"}, []plan.Arg{union}, "22023 "},
	} {
		dir := t.TempDir()
		for i, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, itoa(int64(i))+".csv"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := New(nil)
		p, err := s.Source(context.Background(), "read_csv", append([]plan.Arg{arg("", filepath.Join(dir, "*.csv"))}, c.args...), Reader{Server: true})
		got := ""
		if err == nil {
			var rows []string
			rows, err = tryRead(s, p, 2)
			got = shapeText(p) + ": " + strings.Join(rows, " ")
		}
		if err != nil {
			got = string(pgerr.CodeOf(err)) + " " + strings.ReplaceAll(pgerr.From(err).Detail, dir+"/", "")
		}
		if got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// TestCSVHeaders: names may be missing or occur twice, as in files that pandas writes.
func TestCSVHeaders(t *testing.T) {
	for text, want := range map[string]string{
		",a,b\n0,x,y\n1,z,w\n": "column0 bigint, a text, b text: 0|x|y 1|z|w",
		",a\nr1,x\nr2,y\n":     "column0 text, a text: r1|x r2|y",
		"a,b,a\n1,2,3\n":       "a bigint, b bigint, a_1 bigint: 1|2|3",
		"a,,b\n1,2,3\n":        "a bigint, column1 bigint, b bigint: 1|2|3",
		"x,y,x\nz,w,z\n":       "column0 text, column1 text, column2 text: x|y|x z|w|z", // words all the way down
		"a\rb\rc\r":            "a text: b c",
		"n,m\r1,2\r3,4":        "n bigint, m bigint: 1|2 3|4",
	} {
		path := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := New(nil)
		p := src(t, s, "read_csv", []plan.Arg{arg("", path)})
		if got := shapeText(p) + ": " + strings.Join(read(t, s, p, 1), " "); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
}

// TestLongField: a field is charged while it is read, how ever well it is packed.
func TestLongField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := io.WriteString(z, "a,b\n1,"+strings.Repeat("x", 64<<20)+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	s := New(nil)
	p := src(t, s, "read_csv", []plan.Arg{arg("", path), arg("columns", "a int, b text")})
	for limit, code := range map[int64]pgerr.Code{32 << 20: pgerr.OutOfMemory, 1 << 30: ""} {
		pool := mem.NewPool("node", limit)
		_, _, err := readRows(s, p, pool)
		if got := pgerr.CodeOf(err); err == nil && code != "" || err != nil && got != code {
			t.Errorf("with %d bytes: %v", limit, err)
		}
		if used := pool.Used(); used != 0 {
			t.Errorf("%d bytes stay charged", used)
		}
	}
}

// TestIrregularFiles: a FIFO is refused, and not waited for.
func TestIrregularFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no FIFO can be made here:", err)
	}
	for _, source := range []string{"read_csv", "read_json", "read_parquet"} {
		if _, err := New(nil).Source(context.Background(), source, []plan.Arg{arg("", path)}, Reader{Server: true}); !pgerr.Is(err, pgerr.WrongObjectType) {
			t.Errorf("%s: %v", source, err)
		}
	}
}
