package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestCSVOptions: what a file is read as with the arguments, the types found out included.
func TestCSVOptions(t *testing.T) {
	s := New(nil)
	german := []plan.Arg{arg("decimal_separator", ","), arg("thousands", ".")}
	for _, c := range []struct {
		name, text, shape, rows string
		args                    []plan.Arg
	}{
		{"german", "id;x\n1;1.234,50\n2;-0,5\n3;1e3\n4;12\n", "id bigint, x double precision", "1|1234.5\n2|-0.5\n3|1000\n4|12", german},
		{"thousands of integers", "x\n1.234\n22\n", "x bigint", "1234\n22", german},
		{"no groups of three", "x;y\n1.2.2024;1,2,3\n12.34;5\n", "x text, y text", "1.2.2024|1,2,3\n12.34|5", german},
		{"codes stay codes", "x\n01.234\n02\n", "x text", "01.234\n02", german},
		{"quoted decimal comma", "a,b\n\"1,5\",2\n\"2,25\",3\n", "a double precision, b bigint", "1.5|2\n2.25|3", []plan.Arg{arg("delim", ","), arg("decimal_separator", ",")}},
		{"infinity", "x\n1,5\nNaN\n-Infinity\n", "x double precision", "1.5\nNaN\n-Infinity", []plan.Arg{arg("decimal_separator", ",")}},
		{"dates", "d|t\n31/12/2024|x\n01/02/2024|\n", "d date, t text", "2024-12-31|x\n2024-02-01|∅", []plan.Arg{arg("dateformat", "%d/%m/%Y")}},
		{"dates of other formats", "d\n2024-12-31\n", "d text", "2024-12-31", []plan.Arg{arg("dateformat", "%d/%m/%Y")}},
		{"a day that there is not", "d\n31/02/2024\n", "d text", "31/02/2024", []plan.Arg{arg("date_format", "%d/%m/%Y")}},
		{"timestamps", "a|d\n12/31/24 11:59 PM|2024-01-02\n1/2/24 12:00 am|2024-01-03\n", "a timestamp without time zone, d date", "2024-12-31 23:59:00|2024-01-02\n2024-01-02 00:00:00|2024-01-03",
			[]plan.Arg{arg("timestampformat", "%m/%d/%y %I:%M %p")}},
		{"names of months", "d\n3 Mar 2024\n12 sep 2023\n", "d date", "2024-03-03\n2023-09-12", []plan.Arg{arg("dateformat", "%d %b %Y")}},
		{"skip", "by \"x\n\nid,v\n1,a\n", "id bigint, v text", "1|a", []plan.Arg{arg("skip", 2)}},
		{"skip of a given shape", "title\n1,a\n", "k integer, v text", "1|a", []plan.Arg{arg("skip", 1), arg("columns", "k int, v text")}},
		{"skip of all", "a\nb\n", "k integer", "", []plan.Arg{arg("skip", 5), arg("columns", "k int")}},
		{"latin1", "w,n\ncaf\xe9,1\n", "w text, n bigint", "café|1", []plan.Arg{arg("encoding", "latin1")}},
		{"shift jis", "w,n\n\x83\x5c\x82\xa0,1\n", "w text, n bigint", "ソあ|1", []plan.Arg{arg("encoding", "SJIS")}},
		{"synonyms", "a;b\n1;NA\n", "a bigint, b text", "1|∅", []plan.Arg{arg("sep", ";"), arg("null", "NA")}},
		{"errors", "id,v\n1,10\n2,20,more\n3\n4,40\n5,50\n6,60\n7,70\n8,80\n9,90\n10,100\n11,110\n", "id bigint, v bigint", "1|10\n4|40\n5|50\n6|60\n7|70\n8|80\n9|90\n10|100\n11|110", []plan.Arg{arg("ignore_errors", true)}},
		{"blank lines", "\na,b\n\n1,x\r\n\r\n2,\n\n", "a bigint, b text", "1|x\n2|∅", nil},
		{"blank lines of one column", "a\n1\n\n2\n", "a bigint", "1\n∅\n2", nil},
		{"blanks", "a,b\n 1 , x \n2,y\n", "a bigint, b text", "1| x \n2|y", nil},
		{"apostrophes", "a,b\n1,'x,y'\n2,'it''s'\n", "a bigint, b text", "1|x,y\n2|it's", nil},
		{"apostrophes in text", "a,b\n1,it's\n2,\"x,y\"\n", "a bigint, b text", "1|it's\n2|x,y", nil},
		{"no rows left", "id,v\n1\n", "id integer, v integer", "", []plan.Arg{arg("ignore_errors", true), arg("columns", "id int, v int"), arg("header", true)}},
	} {
		p := src(t, s, "read_csv", append([]plan.Arg{arg("", file1(t, "x.csv", c.text))}, c.args...))
		if got := shapeText(p); got != c.shape {
			t.Errorf("%s: %s", c.name, got)
		}
		if got, err := tryRead(s, p, 1); err != nil || strings.Join(got, "\n") != c.rows {
			t.Errorf("%s: %v: rows\n%s", c.name, err, strings.Join(got, "\n"))
		}
	}
	path := file1(t, "x.csv", "a,b\n1,x\n")
	for _, c := range []struct {
		name string
		code pgerr.Code
		args []plan.Arg
	}{
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("nope", 1)}},
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("dateformat", "%Q")}},
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("dateformat", "%H:%M")}},
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("thousands", ".")}},
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("decimal_separator", "5")}},
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("skip", -1)}},
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("encoding", "klingon")}},
		{"read_csv", pgerr.FeatureNotSupported, []plan.Arg{arg("encoding", "EUC_TW")}},
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("compression", "rar")}},
		{"read_csv", pgerr.IOError, []plan.Arg{arg("compression", "gzip")}},
		{"read_csv", pgerr.FeatureNotSupported, []plan.Arg{arg("rejects_table", "r")}},
		{"read_csv", pgerr.SyntaxError, []plan.Arg{arg("sep", ","), arg("delim", ",")}},
		{"read_csv", pgerr.InvalidParameterValue, []plan.Arg{arg("hive_partitioning", true)}},
		{"read_csv_rejects", pgerr.InvalidParameterValue, []plan.Arg{arg("ignore_errors", true)}},
	} {
		if _, err := s.Source(context.Background(), c.name, append([]plan.Arg{arg("", path)}, c.args...), Reader{Server: true}); pgerr.CodeOf(err) != c.code {
			t.Errorf("%s %v: %v", c.name, c.args, err)
		}
	}
}

// TestCSVRejects: whatever columns are read and however the file is divided, the same records are rows,
// and the others are listed with their lines.
func TestCSVRejects(t *testing.T) {
	old := csvChunk
	defer func() { csvChunk = old }()
	text := "a \"title\nid,v,d\n1,10,2024-01-01\n2,x,2024-01-02\n3,30\n4,40,2024-01-04,extra,more\n\"5\n5\",50,2024-02-31\n6,60,2024-01-06\n7,70,\"2024-01-07\n"
	args := []plan.Arg{arg("", file1(t, "x.csv", text)), arg("columns", "id int, v int, d date"), arg("header", true), arg("skip", 1)}
	wanted := []string{
		`4|v|x|invalid input syntax for type integer: "x"|2,x,2024-01-02`,
		`5|∅|∅|missing data for column "d"|3,30`,
		`6|∅|∅|extra data after last expected column|4,40,2024-01-04,extra,more`,
		"8|id|5\n5|invalid input syntax for type integer: \"5\n5\"|\"5\n5\",50,2024-02-31",
		"8|d|2024-02-31|date/time field value out of range: \"2024-02-31\"|\"5\n5\",50,2024-02-31",
		"11|∅|∅|unterminated CSV quoted field|7,70,\"2024-01-07\n",
	}
	for _, size := range []int64{1 << 30, 100, 40, 10} {
		csvChunk = size
		s := New(nil)
		for _, cols := range [][]string{{"id", "v", "d"}, {"v"}, {}} {
			p := src(t, s, "read_csv", append(args, arg("ignore_errors", true)), cols...)
			if len(cols) == 0 {
				p.Cols = nil
			}
			if got := read(t, s, p, s.Parts(p)); len(got) != 2 || len(cols) == 3 && got[1] != "6|60|2024-01-06" {
				t.Errorf("chunks of %d: columns %v: %q", size, cols, got)
			}
		}
		p := src(t, s, "read_csv_rejects", args, "line", "column_name", "value", "error", "csv_line")
		if got := read(t, s, p, s.Parts(p)); !slices.Equal(got, wanted) {
			t.Errorf("chunks of %d: rejects\n%q", size, got)
		}
	}
	// Without ignore_errors the line is that of the file in each chunk.
	for _, size := range []int64{1 << 30, 10} {
		csvChunk = size
		s := New(nil)
		p := src(t, s, "read_csv", []plan.Arg{arg("", file1(t, "x.csv", "id\n\"1\"\n2\n3\nx\n")), arg("columns", "id int"), arg("header", true), arg("skip", 0)})
		_, err := tryRead(s, p, 1)
		if e := pgerr.From(err); e == nil || !strings.Contains(e.Where, "x.csv, line 5, column id: \"x\"") {
			if e != nil {
				t.Error(e.Message, e.Where)
			} else {
				t.Error("no error")
			}
		}
	}
}

// TestFileLabels: columns of the names of files and directories, in every format.
func TestFileLabels(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, day := range []string{"2024-01-02", "2024-01-03", "__HIVE_DEFAULT_PARTITION__"} {
		put(fmt.Sprintf("year=202%d/day=%s/x.csv", i, day), fmt.Sprintf("a,b\n%d,x\n%d,y\n", i, i+10))
		put(fmt.Sprintf("year=202%d/day=%s/x.json", i, day), fmt.Sprintf(`{"a":%d}`, i))
	}
	put("k=a%20b/x.csv", "k,v\n1,2\n")
	s := New(nil)
	p := src(t, s, "read_csv", []plan.Arg{arg("", dir+"/*/*/*.csv"), arg("filename", true)})
	if got := shapeText(p); got != "a bigint, b text, filename text, year bigint, day date" {
		t.Error(got)
	}
	p = src(t, s, "read_csv", []plan.Arg{arg("", dir+"/*/*/*.csv")}, "day", "a", "year")
	want := "0|2020|2024-01-02 10|2020|2024-01-02 1|2021|2024-01-03 11|2021|2024-01-03 2|2022|∅ 12|2022|∅"
	for _, of := range []int{1, 2, s.Parts(p)} {
		if got := strings.Join(read(t, s, p, of), " "); got != want {
			t.Error(got)
		}
	}
	p = src(t, s, "read_json", []plan.Arg{arg("", dir+"/*/*/*.json"), arg("filename", true)}, "filename", "year")
	if got := read(t, s, p, 1); len(got) != 3 || got[1] != dir+"/year=2021/day=2024-01-03/x.json|2021" {
		t.Error(got)
	}
	p = src(t, s, "read_csv", []plan.Arg{arg("", dir+"/*/*/*.csv"), arg("hive_partitioning", false)})
	if got := shapeText(p); got != "a bigint, b text" {
		t.Error(got)
	}
	p = src(t, s, "read_csv", []plan.Arg{arg("", dir+"/k*/*.csv")})
	if got := shapeText(p); got != "k bigint, v bigint" { // the file's own column
		t.Error(got)
	}
	if _, err := s.Source(context.Background(), "read_csv", []plan.Arg{arg("", dir+"/k*/*.csv"), arg("hive_partitioning", true)}, Reader{Server: true}); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Error(err)
	}
}

// TestSniffCSV: the call that it gives reads the file as it was sniffed.
func TestSniffCSV(t *testing.T) {
	s := New(nil)
	path := file1(t, "it's.tsv", "x\nname\tn\td\n'a'\t1\t01.02.2024\n\"b\tc\"\t2\t03.02.2024\n")
	p := src(t, s, "sniff_csv", []plan.Arg{arg("", path), arg("skip", 1), arg("dateformat", "%d.%m.%Y")}, "delimiter", "quote", "skiprows", "hasheader", "columns", "types", "dateformat", "prompt")
	want := []string{"\t|\"|1|t|{name,n,d}|{text,bigint,date}|%d.%m.%Y|FROM read_csv('" + strings.ReplaceAll(path, "'", "''") +
		`', delim => E'\t', quote => '"', escape => '"', skip => 1, header => true, columns => '"name" text, "n" bigint, "d" date', dateformat => '%d.%m.%Y')`}
	if got := read(t, s, p, 1); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
