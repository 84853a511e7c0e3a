package copyfmt_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var (
	env  = &types.Env{Settings: datetime.Settings{Location: time.UTC}}
	cols = []copyfmt.Column{{Name: "i", Type: types.Int4}, {Name: "t", Type: types.Text}, {Name: "f", Type: types.Float8}, {Name: "b", Type: types.Bytea}}
)

func options(t testing.TB, from bool, opts ...copyfmt.Option) copyfmt.Options {
	t.Helper()
	for i := range opts {
		opts[i].Given = true
	}
	o, err := copyfmt.ParseOptions(opts, from)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// decode returns the rows as text, fields between bars and NULL as NULL.
func decode(r io.Reader, o copyfmt.Options, size int) (rows []string, err error) {
	d, err := copyfmt.NewDecoder(r, cols, o, env, size, "t")
	if err != nil {
		return nil, err
	}
	return rowsOf(d)
}

func rowsOf(d interface {
	Next() (*batch.Batch, error)
}) (rows []string, err error) {
	for {
		b, err := d.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for k := range b.Rows() {
			var fields []string
			for c, col := range cols {
				if b.Cols[c].IsNull(k) {
					fields = append(fields, "NULL")
				} else {
					fields = append(fields, string(types.AppendText(nil, col.Type, types.DatumAt(col.Type, b.Cols[c], k), env)))
				}
			}
			rows = append(rows, strings.Join(fields, "|"))
		}
	}
}

func TestDecode(t *testing.T) {
	csv := copyfmt.Option{Name: "format", Value: "csv"}
	for _, tc := range []struct {
		name, in string
		opts     []copyfmt.Option
		want     []string
		code     pgerr.Code
		where    string
	}{
		{name: "text", in: "1\tone\t1.5\t\\\\x00\n2\t\\N\tNaN\t\\N\n", want: []string{`1|one|1.5|\x00`, "2|NULL|NaN|NULL"}},
		{name: "escapes", in: "1\ta\\tb\\nc\\\\d\\x41\\101\\q\t0\t\n", want: []string{"1|a\tb\nc\\dAAq|0|\\x"}},
		{name: "no last newline", in: "1\ta\t1\t", want: []string{`1|a|1|\x`}},
		{name: "carriage returns", in: "1\ta\t1\t\r\n2\tb\t2\t\r\n", want: []string{`1|a|1|\x`, `2|b|2|\x`}},
		{name: "lone carriage returns", in: "1\ta\t1\t\r2\tb\\\rc\t2\t\r", want: []string{`1|a|1|\x`, "2|b\rc|2|\\x"}},
		{name: "lone carriage returns in csv", in: "1,\"a\nb\",1,\r2,b,2,", opts: []copyfmt.Option{csv}, want: []string{"1|a\nb|1|NULL", "2|b|2|NULL"}},
		{name: "quoted ends", in: "1,\"a\rb\r\nc\",1,\n2,b,2,\n", opts: []copyfmt.Option{csv}, want: []string{"1|a\rb\r\nc|1|NULL", "2|b|2|NULL"}},
		{name: "CRLF after LF", in: "1\ta\t1\t\n2\tb\t2\t\r\n", code: "22P04", where: "COPY t, line 2"},
		{name: "LF after CRLF", in: "1\ta\t1\t\r\n2\tb\t2\t\n", code: "22P04", where: "COPY t, line 2"},
		{name: "LF after CR", in: "1\ta\t1\t\r2\tb\t2\t\n", code: "22P04", where: "COPY t, line 2"},
		{name: "LF after CRLF in csv", in: "1,a,1,\r\n2,b,2,\n", opts: []copyfmt.Option{csv}, code: "22P04", where: "COPY t, line 2"},
		{name: "end mark", in: "1\ta\t1\t\n\\.\nnothing here is read", want: []string{`1|a|1|\x`}},
		{name: "empty", in: ""},
		{name: "csv", in: "1,\"a,\"\"b\"\"\nc\",1,\n2,,,\n3,\"\",2,\n", opts: []copyfmt.Option{csv}, want: []string{"1|a,\"b\"\nc|1|NULL", "2|NULL|NULL|NULL", "3||2|NULL"}},
		{name: "csv with a header", in: "x,y,z,w\n1,a,1,\n", opts: []copyfmt.Option{csv, {Name: "header", Value: "true"}}, want: []string{"1|a|1|NULL"}},
		{name: "header that matches not", in: "x,y,z,w\n1,a,1,\n", opts: []copyfmt.Option{csv, {Name: "header", Value: "match"}}, code: "22P04", where: "COPY t, line 1"},
		{name: "quote and escape", in: "1;'a\\'b;c';1;\n", opts: []copyfmt.Option{csv, {Name: "delimiter", Value: ";"}, {Name: "quote", Value: "'"}, {Name: "escape", Value: "\\"}}, want: []string{"1|a'b;c|1|NULL"}},
		{name: "too few", in: "1\ta\t1\t\n2\tb\n", code: "22P04", where: "COPY t, line 2"},
		{name: "too many", in: "1\ta\t1\t\tx\n", code: "22P04", where: "COPY t, line 1"},
		{name: "not a number", in: "one\ta\t1\t\n", code: "22P02", where: `COPY t, line 1, column i: "one"`},
		{name: "out of range", in: "99999999999\ta\t1\t\n", code: "22003", where: `COPY t, line 1, column i`},
		{name: "not UTF-8", in: "1\t\xff\t1\t\n", code: "22021", where: "COPY t, line 1, column t"},
		{name: "zero byte", in: "1\ta\x00b\t1\t\n", code: "22021", where: "COPY t, line 1, column t"},
		{name: "escaped zero byte", in: "1\ta\\0b\t1\t\n", code: "22021", where: "COPY t, line 1, column t"},
		{name: "open quote", in: "1,\"a\n2,b,1,\n", opts: []copyfmt.Option{csv}, code: "22P04", where: "COPY t, line"},
		{name: "no signature", in: "nonsense and more", opts: []copyfmt.Option{{Name: "format", Value: "binary"}}, code: "22P04", where: "COPY t"},
		{name: "rubbish after the end", in: "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xffx", opts: []copyfmt.Option{{Name: "format", Value: "binary"}}, code: "22P04", where: "COPY t, line 1"},
		{name: "a long field", in: "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x04\x00\x00\x00\x01\x0f\xff\xff\xffx", opts: []copyfmt.Option{{Name: "format", Value: "binary"}}, code: "22P04", where: "COPY t, line 1"},
	} {
		for _, size := range []int{1, 3, 1000} {
			for name, r := range map[string]io.Reader{"at once": strings.NewReader(tc.in), "by bytes": iotest.OneByteReader(strings.NewReader(tc.in))} {
				got, err := decode(r, options(t, true, tc.opts...), size)
				if tc.code == "" {
					if err != nil || strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
						t.Errorf("%s %s: %q %v, want %q", tc.name, name, got, err, tc.want)
					}
					continue
				}
				var e *pgerr.Error
				if !errors.As(err, &e) || e.Code != tc.code || !strings.HasPrefix(e.Where, tc.where) {
					t.Errorf("%s %s: %v (%q), want %s at %s", tc.name, name, err, e, tc.code, tc.where)
				}
			}
		}
	}
}

// FuzzDecode decodes arbitrary bytes in any format: the result is an error with a code, or rows
// that the encoder writes and the decoder reads back.
func FuzzDecode(f *testing.F) {
	formats := []string{"text", "csv", "binary"}
	f.Add(byte(0), []byte("1\tone\t1.5\t\\\\x00\n2\t\\N\tNaN\t\\N\n\\.\n"))
	f.Add(byte(0), []byte("1\ta\\tb\\\nc\t0\t\\\\x\r\n"))
	f.Add(byte(1), []byte("1,\"a,\"\"b\"\"\nc\",1,\n2,,,\n"))
	f.Add(byte(2), []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x01x\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff"))
	f.Fuzz(func(t *testing.T, which byte, in []byte) {
		format := formats[int(which)%len(formats)]
		from := options(t, true, copyfmt.Option{Name: "format", Value: format})
		rows, err := decode(bytes.NewReader(in), from, 3)
		again, err2 := decode(iotest.HalfReader(bytes.NewReader(in)), from, 3)
		if strings.Join(rows, "\n") != strings.Join(again, "\n") || (err == nil) != (err2 == nil) {
			t.Fatalf("at once %q %v, in chunks %q %v", rows, err, again, err2)
		}
		if err != nil {
			var e *pgerr.Error
			if !errors.As(err, &e) || e.Code == pgerr.InternalError {
				t.Fatalf("%v", err)
			}
			return
		}
		d, err := copyfmt.NewDecoder(bytes.NewReader(in), cols, from, env, 3, "t")
		if err != nil {
			t.Fatal(err)
		}
		enc, err := copyfmt.NewEncoder(cols, options(t, false, copyfmt.Option{Name: "format", Value: format}), env, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := enc.Begin(nil)
		var ends []int
		for {
			b, err := d.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for from := 0; from < b.Rows(); {
				if out, ends, from, err = enc.Append(out, ends, b, from); err != nil {
					t.Fatal(err)
				}
			}
		}
		if out, _, err = enc.End(out, nil); err != nil {
			t.Fatal(err)
		}
		if len(ends) != len(rows) {
			t.Fatalf("%d ends of %d rows", len(ends), len(rows))
		}
		back, err := decode(bytes.NewReader(out), from, 1000)
		if err != nil || strings.Join(back, "\n") != strings.Join(rows, "\n") {
			t.Fatalf("%q became %q, %v", rows, back, err)
		}
	})
}
