package source

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var unionArg = plan.Arg{Name: "union_by_name", Type: types.Bool, Val: true}

// readAll returns the shape and the rows of the files of a pattern, or the error.
func readAll(fn, pattern string, args ...plan.Arg) string {
	s := New(nil)
	p, err := s.Source(context.Background(), fn, append([]plan.Arg{arg("", pattern)}, args...), Reader{Server: true})
	if err == nil {
		var rows []string
		if rows, err = tryRead(s, p, 2); err == nil {
			return shapeText(p) + ": " + strings.Join(rows, " ")
		}
	}
	return string(pgerr.CodeOf(err)) + " " + strings.ReplaceAll(pgerr.From(err).Detail, filepath.Dir(pattern)+"/", "")
}

// TestJSONFiles: the members of several files are the columns of one table, whatever the file.
func TestJSONFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		args  []plan.Arg
		want  string
	}{
		"another member": {[]string{`{"a":1,"b":"x"}`, `{"c":"2024-01-01","a":2.5}`}, nil, "a double precision, b text, c date: 1|x|∅ 2.5|∅|2024-01-01"},
		"other kinds":    {[]string{`{"a":1}`, `{"a":"x"}`, `{"a":[1]}`}, nil, `a jsonb: 1 "x" [1]`},
		"given":          {[]string{`{"a":1}`, `{"b":2}`}, []plan.Arg{arg("columns", "a int")}, "a integer: 1 ∅"},
		"an empty one":   {[]string{``, `{"a":true}`}, nil, "a boolean: t"},
	} {
		dir := t.TempDir()
		for i, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, itoa(int64(i))+".json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := readAll("read_json", filepath.Join(dir, "*.json"), c.args...); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
	// Of more files than are sampled the last has a member of its own.
	dir := t.TempDir()
	for i := range jsonSampledFiles + 1 {
		text := `{"a":1}`
		if i == jsonSampledFiles {
			text = `{"a":1,"z":2}`
		}
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i/26))+string(rune('a'+i%26))+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := readAll("read_json", filepath.Join(dir, "*.json")); !strings.HasPrefix(got, "a bigint: ") {
		t.Errorf("%s", got)
	}
	if got := readAll("read_json", filepath.Join(dir, "*.json"), unionArg); !strings.HasPrefix(got, "a bigint, z bigint: ") || !strings.HasSuffix(got, " 1|∅ 1|2") {
		t.Errorf("%s", got)
	}
}

// writeParquet writes rows, given as JSON, to a file.
func writeParquet(t *testing.T, path string, fields []arrow.Field, rows string) {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, nil, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err == nil {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(path, buf.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestParquetFiles: several files are one table by the names of their columns; with union_by_name it has
// the columns of all, of types that hold the values of all.
func TestParquetFiles(t *testing.T) {
	f := func(name string, dt arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: dt, Nullable: true}
	}
	i2, i4, i8 := arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	f4, f8, text, date := arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Date32
	stamp, dec := &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.Decimal128Type{Precision: 8, Scale: 2}
	list := arrow.ListOf(i4)
	type file struct {
		fields []arrow.Field
		rows   string
	}
	for name, c := range map[string]struct {
		files []file
		union bool
		want  string
	}{
		"another order": {[]file{{[]arrow.Field{f("a", i4), f("b", text)}, `[{"a":1,"b":"x"}]`}, {[]arrow.Field{f("b", text), f("a", i4)}, `[{"a":2,"b":"y"}]`}}, false, "a integer, b text: 1|x 2|y"},
		"one more":      {[]file{{[]arrow.Field{f("a", i4)}, `[{"a":1}]`}, {[]arrow.Field{f("b", text), f("a", i4)}, `[{"a":2,"b":"y"}]`}}, false, "a integer: 1 2"},
		"one less":      {[]file{{[]arrow.Field{f("a", i4), f("b", text)}, `[{"a":1,"b":"x"}]`}, {[]arrow.Field{f("a", i4)}, `[{"a":2}]`}}, false, `42804 Only "0.parquet" has a column "b".`},
		"another type":  {[]file{{[]arrow.Field{f("a", i4)}, `[{"a":1}]`}, {[]arrow.Field{f("a", i8)}, `[{"a":2}]`}}, false, `42804 Column "a" is integer in the one and bigint in the other.`},
		"union": {[]file{{[]arrow.Field{f("a", i4), f("b", text)}, `[{"a":1,"b":"x"},{"a":null,"b":null}]`}, {[]arrow.Field{f("c", i8), f("a", f8)}, `[{"a":2.5,"c":7}]`},
			{[]arrow.Field{f("b", i2)}, `[{"b":9}]`}}, true, "a double precision, b text, c bigint: 1|x|∅ ∅|∅|∅ 2.5|∅|7 ∅|9|∅"},
		"integers":  {[]file{{[]arrow.Field{f("a", i2)}, `[{"a":-1}]`}, {[]arrow.Field{f("a", i8)}, `[{"a":5000000000}]`}, {[]arrow.Field{f("a", i4)}, `[{"a":3}]`}}, true, "a bigint: -1 5000000000 3"},
		"numerics":  {[]file{{[]arrow.Field{f("a", i8)}, `[{"a":1}]`}, {[]arrow.Field{f("a", dec)}, `[{"a":"1.25"}]`}}, true, "a numeric: 1 1.25"},
		"floats":    {[]file{{[]arrow.Field{f("a", f4)}, `[{"a":0.5}]`}, {[]arrow.Field{f("a", dec)}, `[{"a":"1.25"}]`}}, true, "a double precision: 0.5 1.25"},
		"dates":     {[]file{{[]arrow.Field{f("d", date)}, `[{"d":"2024-01-01"}]`}, {[]arrow.Field{f("d", stamp)}, `[{"d":"2024-01-01T10:00:00Z"}]`}}, true, "d timestamp without time zone: 2024-01-01 00:00:00 2024-01-01 10:00:00"},
		"no type":   {[]file{{[]arrow.Field{f("a", list)}, `[{"a":[1]}]`}, {[]arrow.Field{f("a", i4)}, `[{"a":2}]`}}, true, `42804 Column "a" is integer[] in the one and integer in the other.`},
		"same":      {[]file{{[]arrow.Field{f("a", i4)}, `[{"a":1}]`}, {[]arrow.Field{f("a", i4)}, `[{"a":2}]`}}, true, "a integer: 1 2"},
		"none left": {[]file{{[]arrow.Field{f("a", i4)}, `[{"a":1}]`}, {[]arrow.Field{f("b", i4)}, `[{"b":2}]`}}, true, "a integer, b integer: 1|∅ ∅|2"},
	} {
		dir := t.TempDir()
		for i, x := range c.files {
			writeParquet(t, filepath.Join(dir, itoa(int64(i))+".parquet"), x.fields, x.rows)
		}
		var args []plan.Arg
		if c.union {
			args = append(args, unionArg)
		}
		if got := readAll("read_parquet", filepath.Join(dir, "*.parquet"), args...); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}
