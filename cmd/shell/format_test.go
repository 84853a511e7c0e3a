package shell

import (
	"bufio"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

func printed(t *testing.T, cols []column, rows [][]any, screen int, settings ...string) string {
	t.Helper()
	f := newFormat()
	for _, v := range settings {
		name, value, _ := strings.Cut(v, "=")
		if err := f.set(name, value, true); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	w := bufio.NewWriter(&b)
	p := f.printer(w, cols, screen)
	for _, r := range rows {
		vals := make([][]byte, len(r))
		for i, v := range r {
			if v != nil {
				vals[i] = []byte(v.(string))
			}
		}
		p.row(vals)
	}
	p.end(int64(len(rows)))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFormats prints the same rows in every format. The texts of the formats that psql has are psql's.
func TestFormats(t *testing.T) {
	cols := []column{{"n", pgtype.Int4OID, true}, {"name", pgtype.TextOID, false}}
	rows := [][]any{{"1", "höhe"}, {"10", "two\nlines"}, {nil, nil}}
	for _, c := range []struct{ settings, want string }{
		{"null=NULL", "  n   | name  \n------+-------\n    1 | höhe\n   10 | two  +\n      | lines\n NULL | NULL\n(3 rows)\n\n"},
		{"border=2 footer=off", "+----+-------+\n| n  | name  |\n+----+-------+\n|  1 | höhe  |\n| 10 | two  +|\n|    | lines |\n|    |       |\n+----+-------+\n\n"},
		{"border=0 footer=off", "n  name \n-- -----\n 1 höhe\n10 two  +\n   lines\n   \n\n"},
		{"expanded=on", "-[ RECORD 1 ]\nn    | 1\nname | höhe\n-[ RECORD 2 ]\nn    | 10\nname | two\n     | lines\n-[ RECORD 3 ]\nn    | \nname | \n\n"},
		{"format=unaligned", "n|name\n1|höhe\n10|two\nlines\n|\n(3 rows)\n"},
		{"format=unaligned tuples_only=on fieldsep=;", "1;höhe\n10;two\nlines\n;\n"},
		{"format=csv", "n,name\n1,höhe\n10,\"two\nlines\"\n,\n"},
		{"format=json", "[{\"n\":1,\"name\":\"höhe\"},\n {\"n\":10,\"name\":\"two\\nlines\"},\n {\"n\":null,\"name\":null}]\n"},
		{"format=markdown", "| n | name |\n|---:|---|\n| 1 | höhe |\n| 10 | two<br>lines |\n|  |  |\n"},
	} {
		if got := printed(t, cols, rows, 0, strings.Fields(c.settings)...); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.settings, got, c.want)
		}
	}
	html := printed(t, []column{{"a<b", pgtype.TextOID, false}}, [][]any{{"<script>"}}, 0, "format=html")
	if !strings.Contains(html, "a&lt;b") || strings.Contains(html, "<script>") {
		t.Error(html)
	}
}

// TestWidths: a terminal shows CJK and emoji two columns wide and combining marks none; a tab goes to the next
// stop, and a control character must not reach the terminal.
func TestWidths(t *testing.T) {
	got := printed(t, []column{{"v", pgtype.TextOID, false}, {"w", pgtype.TextOID, false}},
		[][]any{{"日本", "x"}, {"👩‍👩‍👧", "x"}, {"e\u0301", "x"}, {"ab\tc", "x"}, {"\x1b[2J\r", "x"}}, 0, "footer=off")
	want := "     v     | w \n-----------+---\n 日本      | x\n 👩‍👩‍👧        | x\n e\u0301         | x\n ab      c | x\n \\x1B[2J\\r | x\n\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestChunks: a result of any length is printed while it comes, the columns never becoming narrower.
func TestChunks(t *testing.T) {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	f := newFormat()
	a := newAligned(&f, w, []column{{"v", pgtype.TextOID, false}}, 0)
	a.row([][]byte{[]byte("wide value")})
	for range 3 * chunkRows {
		a.row([][]byte{[]byte("x")})
		if len(a.rows) >= chunkRows {
			t.Fatal("more rows are held than a chunk has")
		}
	}
	a.end(3*chunkRows + 1)
	_ = w.Flush()
	if got := strings.Count(b.String(), "\n"); got != 3*chunkRows+1+4 || strings.Count(b.String(), "-\n") != 1 {
		t.Errorf("%d lines", got)
	}
}

// TestExpandedAuto: \x auto takes a line for each cell where a row is wider than the terminal.
func TestExpandedAuto(t *testing.T) {
	cols := []column{{"a", pgtype.TextOID, false}, {"b", pgtype.TextOID, false}}
	rows := [][]any{{strings.Repeat("x", 30), strings.Repeat("y", 30)}}
	if got := printed(t, cols, rows, 40, "expanded=auto"); !strings.HasPrefix(got, "-[ RECORD 1 ]") {
		t.Error(got)
	}
	if got := printed(t, cols, rows, 80, "expanded=auto"); strings.Contains(got, "RECORD") {
		t.Error(got)
	}
}
