package node

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// copyOut runs COPY … TO STDOUT.
func (c *client) copyOut(sql string) (string, error) {
	p, err := c.query(sql)
	if err == nil {
		err = p.Start(context.Background())
	}
	var out strings.Builder
	for err == nil {
		var b []byte
		if b, _, err = p.Copy().Read(context.Background()); err == nil {
			out.Write(b)
		}
	}
	if err == io.EOF {
		err = nil
	}
	if serr := c.s.Sync(context.Background(), err == nil); err == nil {
		err = serr
	}
	return out.String(), err
}

// everyType makes a table with a column of every type that a table can have, and three rows: ordinary
// values, NULLs, and extreme or empty values.
const everyType = `
create type mood as enum ('sad', 'ok', 'happy');
create table every (id int, b bool, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, n9 numeric(9,2), n18 numeric(18,4), n38 numeric(38,10),
	nneg numeric(5,-2), t text, vc varchar(10), c char(5), nm name, ch "char", ba bytea, d date, ti time, tz timetz, ts timestamp, tsz timestamptz,
	iv interval, u uuid, j json, jb jsonb, o oid, rc regclass, bi bit(4), vb varbit, m mood, lsn pg_lsn, ai int[], at text[], an numeric(10,2)[],
	au uuid[], aiv interval[], am mood[], ab bool[], ad date[]);
insert into every values
	(1, true, -1, 2, 3, 1.5, -2.25, 12345678901234567890.123456789, 1234567.89, -12345678901234.5678, 1234567890123456789012345678.0123456789,
	12300, 'héllo', E'v\tc', 'ab', 'nm', 'x', '\x00ff', '2024-02-29', '12:34:56.789', '12:34:56+02', '2024-02-29 12:00:00.123456', '2024-02-29 12:00:00.123456+00',
	'1 year 2 mons 3 days 04:05:06.789012', '00112233-4455-6677-8899-aabbccddeeff', '{"a":  1}', '{"b":[1,2]}', 42, 'every', '1010', '101', 'ok', '16/B374D848', '{1,NULL,3}', '{a,"b,c",NULL}', '{1.10,-2.20}',
	'{00112233-4455-6677-8899-aabbccddeeff,NULL}', '{1 day,02:00:00}', '{sad,happy}', '{t,f,NULL}', '{2024-02-29}');
insert into every (id) values (2);
insert into every values
	(3, false, 32767, -2147483648, -9223372036854775808, 'NaN', '-Infinity', 'NaN', -9999999.99, 99999999999999.9999, -9999999999999999999999999999.9999999999,
	-12300, '', '', '', '', '', '', 'infinity', '24:00:00', '00:00:00-12', '-infinity', 'infinity', '-1 days', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'null', 'null', 4294967295, 'pg_class', '0000', '', 'sad', '0/0',
	'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`

// TestCopyParquetEveryType: COPY TO and COPY FROM a Parquet file return the same rows, with every type
// and compression; the node that copies has not created the table.
func TestCopyParquetEveryType(t *testing.T) {
	nodes := start(t, 3)
	first, last := connect(t, nodes[0]), connect(t, nodes[2])
	first.must(everyType)
	want := first.must("select * from every order by id")
	for _, options := range []string{"", ", compression zstd", ", compression gzip", ", compression 'brotli'", ", compression uncompressed", ", row_group_size 1"} {
		data, err := last.copyOut("copy (select * from every order by id desc) to stdout (format parquet" + options + ")")
		if err != nil {
			t.Fatal(options, err)
		}
		last.must("drop table if exists again; create table again (like every)")
		if options == "" {
			path := filepath.Join(t.TempDir(), "every.parquet")
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			kinds := last.must("select pg_typeof(n18), pg_typeof(n38), pg_typeof(ti), pg_typeof(ts), pg_typeof(tsz), pg_typeof(u), pg_typeof(au), pg_typeof(ba), pg_typeof(ab), pg_typeof(d) from read_parquet('" + path + "') limit 1")
			if want := "numeric|numeric|time without time zone|timestamp without time zone|timestamp with time zone|uuid|uuid[]|bytea|boolean[]|date"; kinds[0] != want {
				t.Errorf("read_parquet finds %s, want %s", kinds[0], want)
			}
		}
		if err := last.copyIn("copy again from stdin (format parquet)", data); err != nil {
			t.Fatal(options, err)
		}
		if got := first.must("select * from again order by id"); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", options, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestCopyParquetPrecision: a DECIMAL in the file has the column's precision and scale, whatever values
// it has, so that files of one statement at different times have the same schema.
func TestCopyParquetPrecision(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	c.must("create table prices (p numeric(10,2))")
	for _, insert := range []string{"select 1", "insert into prices values (1.25)", "insert into prices values (99999999.99)"} {
		c.must(insert)
		data, err := c.copyOut("copy prices to stdout (format parquet)")
		if err != nil {
			t.Fatal(insert, err)
		}
		path := filepath.Join(t.TempDir(), "prices.parquet")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		c.must("drop table if exists again; create table again as select * from read_parquet('" + path + "')")
		if got := c.must("select numeric_precision, numeric_scale from information_schema.columns where table_name = 'again'"); got[0] != "10|2" {
			t.Errorf("%s: numeric(%s)", insert, got[0])
		}
	}
}

func TestCopyParquet(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	c.must("create table p (id int primary key, n int default 7 check (n < 10), twice int generated always as (n * 2) stored, v varchar(3))")
	out := func(query string) string {
		t.Helper()
		data, err := c.copyOut("copy (" + query + ") to stdout (format parquet)")
		if err != nil {
			t.Fatal(query, err)
		}
		return data
	}
	// Columns are matched by name, in any order and case, and converted as by an assignment.
	for _, load := range []struct{ columns, query string }{
		{"(id)", "select 1::int8 as id"},
		{"(v, id)", `select 2::numeric(5,0) as id, 'abc' as "V"`},
		{"", "select 'ab' as v, null as n, '3' as id"},
	} {
		if err := c.copyIn("copy p "+load.columns+" from stdin (format parquet)", out(load.query)); err != nil {
			t.Fatal(load, err)
		}
	}
	want := []string{"1|7|14|NULL", "2|7|14|abc", "3|NULL|NULL|ab"}
	whole := out("select 4 as id, 4 as n, 'x' as v")
	for _, bad := range []struct {
		columns, data string
		code          pgerr.Code
		text          string
	}{
		{"", out("select 4 as id, 4 as n"), pgerr.UndefinedColumn, `parquet file "STDIN" has no column "v"`},
		{"(id)", whole, pgerr.BadCopyFileFormat, `parquet file "STDIN" has a column "n", which is not copied`},
		{"(id)", out("select true as id"), pgerr.DatatypeMismatch, `column "id" is of type integer but expression is of type boolean`},
		{"(id)", out("select 'x' as id"), pgerr.InvalidTextRepresentation, `invalid input syntax for type integer: "x"`},
		{"(id)", out("select 99999999999 as id"), pgerr.NumericValueOutOfRange, "integer out of range"},
		{"(id)", out("select 1 as id"), pgerr.UniqueViolation, `duplicate key value violates unique constraint "p_pkey"`},
		{"(id, v)", out("select 4 as id, 'long' as v"), pgerr.StringDataRightTruncation, "value too long for type character varying(3)"},
		{"(id, n)", out("select 4 as id, 10 as n"), pgerr.CheckViolation, `new row for relation "p" violates check constraint "p_n_check"`},
		{"(id)", out("select null::int as id"), pgerr.NotNullViolation, `null value in column "id" of relation "p" violates not-null constraint`},
		{"", "", pgerr.DataCorrupted, `could not read parquet file "STDIN"`},
		{"", "id,n\n1,2\n", pgerr.DataCorrupted, `could not read parquet file "STDIN"`},
		{"", whole[:len(whole)-9], pgerr.DataCorrupted, `could not read parquet file "STDIN"`},
	} {
		err := c.copyIn("copy p "+bad.columns+" from stdin (format parquet)", bad.data)
		if pgerr.CodeOf(err) != bad.code || !strings.Contains(err.Error(), bad.text) {
			t.Errorf("%s: %v, want %s %s", bad.columns, err, bad.code, bad.text)
		}
	}
	if got := c.must("select * from p order by 1"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for sql, want := range map[string]string{
		"copy (select) to stdout (format parquet)":                                "a parquet file has at least one column",
		"copy (select 1 as a, 2 as a) to stdout (format parquet)":                 `column "a" specified more than once`,
		"copy (select 'NaN'::numeric(30,2)) to stdout (format parquet)":           "numeric value NaN cannot be written to a parquet file as numeric(30,2)",
		"copy p to stdout (format parquet, header)":                               "cannot specify HEADER in PARQUET mode",
		"copy p to stdout (format parquet, delimiter ',')":                        "cannot specify DELIMITER in PARQUET mode",
		"copy p to stdout (format parquet, null 'x')":                             "cannot specify NULL in PARQUET mode",
		"copy p to stdout (format parquet, quote 'x')":                            "COPY quote available only in CSV mode",
		"copy p to stdout (format parquet, compression lzma)":                     `COPY compression "lzma" not recognized`,
		"copy p to stdout (format parquet, row_group_size 0)":                     "row_group_size requires a positive integer value",
		"copy p to stdout (format parquet, nosuch 1)":                             `option "nosuch" not recognized`,
		"copy p to stdout (format csv, compression zstd)":                         "COPY with compression is supported for files only",
		"copy p from stdin (format parquet, row_group_size 5)":                    "COPY row group size only available using COPY TO",
		"copy p to stdout (format parquet, compression zstd, compression snappy)": "conflicting or redundant options",
	} {
		if _, err := c.copyOut(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}

// theirs is a file written by DuckDB 2, with a column of each of its types.
const theirs = "testdata/duckdb.parquet"

// TestCopyParquetOfOthers: DuckDB's types become PostgreSQL's in CREATE TABLE AS, and are converted to
// the table's types by COPY.
func TestCopyParquetOfOthers(t *testing.T) {
	c := connect(t, start(t, 1)[0], "timezone = 'Asia/Tokyo'")
	path, err := filepath.Abs(theirs)
	if err != nil {
		t.Fatal(err)
	}
	c.must("create table made as select * from read_parquet('" + path + "')")
	want := []string{"a smallint", "b smallint", "c smallint", "d integer", "e integer", "f bigint", "g bigint", "h numeric(20,0)", "i double precision", "j real", "k double precision",
		"l numeric(9,2)", "m numeric(38,5)", "n text", "o bytea", "p date", "q time without time zone", "r timestamp without time zone", "s timestamp with time zone", "t interval",
		"u uuid", "v json", "w text", "x integer[]", "y uuid[]", "z jsonb", "tr boolean", "nn text", "tns timestamp without time zone", "tsec timestamp without time zone", "strs text[]", "ivs interval[]"}
	if got := c.must("select attname || ' ' || format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'made'::regclass and attnum > 0 order by attnum"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	row := `1|2|3|4|5|6|7|8|9|1.5|2.5|1.23|1.23000|x|\x626c6f62|2024-01-02|01:02:03.5|2024-01-02 03:04:05|2024-01-02 12:04:05+09|1 mon 2 days 00:00:03|` +
		`00112233-4455-6677-8899-aabbccddeeff|{"a":1}|a|{1,2,NULL}|{00112233-4455-6677-8899-aabbccddeeff}|{"k": 1, "l": "z"}|t|NULL|2024-01-02 03:04:05.123456|2024-01-02 03:04:05|{x}|{"1 day"}`
	text := "select concat_ws('|', a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, tr::text, coalesce(nn::text, 'NULL'), tns, tsec, strs, ivs) from "
	row = strings.Replace(row, "|t|NULL|", "|true|NULL|", 1)
	if got := c.must(text + "made"); !slices.Equal(got, []string{row}) {
		t.Errorf("got\n%s\nwant\n%s", got, row)
	}
	c.must("create table own (like made); alter table own alter nn type int using 1, alter h type numeric, alter a type int, alter w type varchar(3); copy own from '" + path + "' (format parquet)")
	if got := c.must(text + "own"); !slices.Equal(got, []string{row}) {
		t.Errorf("got\n%s\nwant\n%s", got, row)
	}
}

// TestCopyParquetFiles: a COPY of a file on the server is for superusers only, one of STDIN for all; its
// temporary files are removed, also after an error.
func TestCopyParquetFiles(t *testing.T) {
	temp := t.TempDir()
	nd := start(t, 1, func(o *Options) { o.Temp = temp })[0]
	c := connect(t, nd)
	path := filepath.Join(t.TempDir(), "a*b.parquet") // COPY takes the * literally
	c.must("create table p as select g as id, 'x' || g as t from generate_series(1, 10000) g; create table q (like p); create role r; grant all on p, q to r")
	c.must("copy p to '" + path + "' (format parquet, row_group_size 3000)")
	c.must("copy q from '" + path + "' (format parquet)")
	if got := c.must("select * from q except select * from p"); len(got) > 0 || c.must("select count(*) from q")[0] != "10000" {
		t.Error("the file has other rows", got)
	}
	if got := c.must("select count(*), sum(id) from read_parquet('" + strings.Replace(path, "*", "[*]", 1) + "')"); got[0] != "10000|50005000" {
		t.Error(got)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		for _, format := range []string{"text", "binary", "parquet"} {
			if _, err := c.do("copy p to '/dev/full' (format " + format + ")"); pgerr.CodeOf(err) != pgerr.DiskFull {
				t.Error("a full disk:", format, err)
			}
		}
	}
	data, err := c.copyOut("copy p to stdout (format parquet)")
	if err != nil {
		t.Fatal(err)
	}
	c.must("set role r; truncate q")
	for _, sql := range []string{"copy p to '" + path + "' (format parquet)", "copy q from '" + path + "' (format parquet)"} {
		if _, err := c.do(sql); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
			t.Error(sql, err)
		}
	}
	if err := c.copyIn("copy q from stdin (format parquet)", data); err != nil {
		t.Fatal(err)
	}
	if err := c.copyIn("copy q from stdin (format parquet)", data[:5000]); pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*", "*")); len(left) > 0 {
		t.Error("left behind:", left)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
