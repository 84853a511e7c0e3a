package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func TestCSV(t *testing.T) {
	s := New(nil)
	for _, c := range []struct{ name, text, shape, rows string }{
		{"types", "id,price,ok,day,at,word\n1,2.5,true,2024-01-02,2024-01-02 03:04:05,a\n-2,3,false,2024-01-03,2024-01-02T03:04,\"b,\"\"c\"\n",
			"id bigint, price double precision, ok boolean, day date, at timestamp without time zone, word text",
			"1|2.5|t|2024-01-02|2024-01-02 03:04:05|a\n-2|3|f|2024-01-03|2024-01-02 03:04:00|b,\"c"},
		{"no header", "1;x\n2;y\n", "column0 bigint, column1 text", "1|x\n2|y"},
		{"codes and nulls", "zip\tn\n01234\t\n99999\t1e3", "zip text, n double precision", "01234|∅\n99999|1000"},
		{"words only", "a,a,b\nx,y,z\n", "column0 text, column1 text, column2 text", "a|a|b\nx|y|z"},
		{"bom and crlf", "\xef\xbb\xbfa|b\r\n1|2\r\n", "a bigint, b bigint", "1|2"},
		{"quoted lines", "a,b\n\"x\ny\",1\n", "a text, b bigint", "x\ny|1"},
		{"no rows", "a,b\n", "a text, b text", ""},
	} {
		p := src(t, s, "read_csv", []plan.Arg{arg("", file1(t, "x.csv", c.text))})
		if got := shapeText(p); got != c.shape {
			t.Errorf("%s: %s", c.name, got)
		}
		if got := strings.Join(read(t, s, p, 1), "\n"); got != c.rows {
			t.Errorf("%s: rows\n%s", c.name, got)
		}
	}
	path := file1(t, "o.csv", "k;v\n1;NA\n2;7,5\n")
	p := src(t, s, "read_csv", []plan.Arg{arg("", path), arg("columns", "k numeric(5,2), v text"), arg("nullstr", "NA"), arg("header", true), arg("delim", ";")}, "k", "v")
	if got := strings.Join(read(t, s, p, 1), "\n"); got != "1.00|∅\n2.00|7,5" {
		t.Error(got)
	}
	// A bad value is an error that names its column, and only if the column is read.
	args := []plan.Arg{arg("", path), arg("types", []string{"int", "int"})}
	if _, err := tryRead(s, src(t, s, "read_csv", args), 1); pgerr.CodeOf(err) != pgerr.InvalidTextRepresentation {
		t.Error(err)
	}
	if got := read(t, s, src(t, s, "read_csv", args, "k"), 1); !slices.Equal(got, []string{"1", "2"}) {
		t.Error(got)
	}
}

// TestCSVChunks reads a file in chunks so small that records and quoted fields cross their ends,
// and many files by a pattern, compressed ones among them.
func TestCSVChunks(t *testing.T) {
	old := csvChunk
	defer func() { csvChunk = old }()
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "", "line\nbreak", "say \"\"hi\"\"", ",", "\r\n", strings.Repeat("long ", 20)}
	for range 10 {
		var b strings.Builder
		b.WriteString("n,w\n")
		for i := range 1 + rng.IntN(30) {
			w := words[rng.IntN(len(words))]
			fmt.Fprintf(&b, "%d,\"%s\"\n", i, w)
		}
		s := New(nil)
		path := file1(t, "x.csv", b.String())
		csvChunk = 1 << 30
		p := src(t, s, "read_csv", []plan.Arg{arg("", path), arg("types", []string{"int", "text"})})
		want := read(t, s, p, 1)
		for _, size := range []int64{5, 64, 300} {
			csvChunk = size
			p := new(*p) // a copy, since files are divided into chunks only once per plan
			if got := read(t, s, p, s.Parts(p)); !slices.Equal(got, want) {
				t.Fatalf("chunks of %d give\n%q, not\n%q", size, got, want)
			}
		}
	}
	csvChunk = old
	dir := t.TempDir()
	for i := range 3 {
		text := []byte(fmt.Sprintf("a\n%d\n%d\n", i, i+10))
		name := fmt.Sprintf("f%d.csv", i)
		if i == 1 {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			_, _ = w.Write(text)
			_ = w.Close()
			text, name = z.Bytes(), name+".gz"
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := New(nil)
	p := src(t, s, "read_csv", []plan.Arg{arg("", dir+"/f*")})
	for _, of := range []int{1, 2, s.Parts(p)} {
		if got := strings.Join(read(t, s, p, of), " "); got != "0 10 1 11 2 12" {
			t.Error(of, got)
		}
	}
}

func TestJSON(t *testing.T) {
	s := New(nil)
	const shape = "b bigint, a double precision, ok boolean, d date, t text, n jsonb, mix text"
	rows := `{"b":1,"a":1.5,"ok":true,"d":"2024-01-02","t":"x\ny","n":{"z":1,"k":[1]},"mix":1}
{"b":2,"a":2,"n":[1, 2],"mix":"two"}
{"t":null,"ok":false}`
	want := "1|1.5|t|2024-01-02|x\ny|{\"k\": [1], \"z\": 1}|1\n2|2|∅|∅|∅|[1, 2]|two\n∅|∅|f|∅|∅|∅|∅"
	for _, text := range []string{rows, "  [" + strings.ReplaceAll(rows, "\n{", ",\n{") + "]\n"} {
		p := src(t, s, "read_json", []plan.Arg{arg("", file1(t, "x.json", text))})
		if got := shapeText(p); got != shape {
			t.Error(got)
		}
		if got := strings.Join(read(t, s, p, 1), "\n"); got != want {
			t.Error(got)
		}
	}
	p := src(t, s, "read_json", []plan.Arg{arg("", file1(t, "x.json", rows)), arg("columns", "t text, b int, none text")})
	if got := strings.Join(read(t, s, p, 1), "\n"); got != "x\ny|1|∅\n∅|2|∅\n∅|∅|∅" {
		t.Error(got)
	}
	late := file1(t, "late.json", "{\"a\": 1}\n{\"a\": \"x\"}\n")
	p = src(t, s, "read_json", []plan.Arg{arg("", late), arg("sample_size", 1)})
	if _, err := tryRead(s, p, 1); pgerr.CodeOf(err) != pgerr.InvalidTextRepresentation {
		t.Error(err)
	}
}

func TestParquet(t *testing.T) {
	fields := []arrow.Field{
		{Name: "i8", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
		{Name: "u32", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
		{Name: "u64", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "bin", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "ms", Type: &arrow.TimestampType{Unit: arrow.Millisecond}, Nullable: true},
		{Name: "tz", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "dec", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}, Nullable: true},
		{Name: "big", Type: &arrow.Decimal128Type{Precision: 30, Scale: 3}, Nullable: true},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
		{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), Nullable: true},
		{Name: "ok", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	const n = 100
	line := func(i int) string {
		return fmt.Sprintf(`{"i8":%d,"u32":%d,"u64":%d,"f":0.5,"s":"w%d","bin":"AQI=","d":"2024-01-02","ms":"2024-01-02 03:04:05.678","tz":"2024-01-02 03:04:05","dec":"1.25","big":"123456789012345678.125","list":[%d,null],"st":{"x":%d},"ok":true}`,
			i, i, i, i, i, i)
	}
	for i := range n {
		text := line(i)
		if i%10 == 9 {
			text = "{}"
		}
		if err := b.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	rec := b.NewRecord()
	tab := array.NewTableFromRecords(schema, []arrow.Record{rec})
	path := filepath.Join(t.TempDir(), "x.parquet")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pqarrow.WriteTable(tab, out, 30, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema())); err != nil {
		t.Fatal(err)
	}
	s := New(nil)
	p := src(t, s, "read_parquet", []plan.Arg{arg("", path)})
	if got, want := shapeText(p), "i8 smallint, u32 bigint, u64 numeric(20,0), f real, s text, bin bytea, d date, ms timestamp without time zone, "+
		"tz timestamp with time zone, dec numeric(12,2), big numeric(30,3), list bigint[], st jsonb, ok boolean"; got != want {
		t.Error(got)
	}
	if p.Rows != n || s.Parts(p) != 4 {
		t.Error(p.Rows, s.Parts(p))
	}
	rows := read(t, s, p, 1)
	if len(rows) != n || rows[9] != strings.TrimSuffix(strings.Repeat("∅|", len(fields)), "|") ||
		rows[42] != `42|42|42|0.5|w42|\x0102|2024-01-02|2024-01-02 03:04:05.678|2024-01-02 03:04:05+00|1.25|123456789012345678.125|{42,NULL}|{"x": 42}|t` {
		t.Errorf("%d rows, %s", len(rows), rows[42])
	}
	for _, of := range []int{2, 4, 7} {
		if got := read(t, s, p, of); !slices.Equal(got, rows) {
			t.Errorf("%d parts differ", of)
		}
	}
	few := src(t, s, "read_parquet", []plan.Arg{arg("", path)}, "s", "st", "u32")
	slices.Reverse(few.Cols)
	if got := read(t, s, few, 2); got[42] != `{"x": 42}|w42|42` {
		t.Error(got[42])
	}
	none := &plan.Source{Name: "read_parquet", Args: few.Args}
	if got := read(t, s, none, 3); len(got) != n {
		t.Error(len(got))
	}
}

// TestSharedFiles: files under directories that are declared shared are read by all nodes, which
// check that they are the files that the statement was planned with.
func TestSharedFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.csv", i)), fmt.Appendf(nil, "a\n%d\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := New(nil)
	source := func(path string, shared ...string) *plan.Source {
		t.Helper()
		p, err := s.Source(context.Background(), "read_csv", []plan.Arg{arg("", path)}, Reader{Server: true, Shared: shared})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		path   string
		shared []string
		local  bool
	}{
		{dir + "/*.csv", nil, true},
		{dir + "/*.csv", []string{"/nowhere", dir}, false},
		{dir + "/f1.csv", []string{filepath.Dir(dir)}, false},
		{dir + "/f1.csv", []string{dir + "/f1.csv"}, false},
		{dir + "/f1.csv", []string{dir + "/f"}, true},
		{dir + "/../" + filepath.Base(dir) + "/f1.csv", []string{dir}, false},
		{dir + "/x/../../" + filepath.Base(dir) + "2/../" + filepath.Base(dir) + "/f1.csv", []string{dir + "/x"}, true},
	} {
		if p, err := s.Source(context.Background(), "read_csv", []plan.Arg{arg("", c.path)}, Reader{Server: true, Shared: c.shared}); err == nil && Local(p) != c.local {
			t.Errorf("%s in %v: local %v", c.path, c.shared, !c.local)
		}
	}
	// Another node finds the same files, or returns an error.
	p := source(dir+"/*.csv", dir)
	if got := read(t, New(nil), new(*p), 2); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Error(got)
	}
	if err := os.WriteFile(filepath.Join(dir, "f3.csv"), []byte("a\n3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, source(dir+"/*.csv", dir), 1); len(got) != 4 {
		t.Error(got)
	}
	if _, err := tryRead(New(nil), new(*p), 1); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		t.Error(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := tryRead(New(nil), new(*p), 1); pgerr.CodeOf(err) != pgerr.UndefinedFile {
		t.Error(err)
	}
}
