package logictest

import (
	"context"
	"slices"
	"strings"
	"testing"
)

const file = `# what it is about
statement ok
create table t (a int)

skipif tributary
# why
statement error (SQLSTATE 22012)
select 1/0

connection second
query IF rowsort
select a,
  b from t
----
1	0.5
2	NULL

let $one
select 1

query T
select $one
----
(empty)
`

func TestParse(t *testing.T) {
	recs, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(recs) != 5 {
		t.Fatalf("%d records", len(recs))
	}
	if r := recs[1]; !r.Fails || r.State != "22012" || r.For("tributary") || !r.For("postgresql") || r.Line != 5 {
		t.Errorf("%+v", r)
	}
	if r := recs[2]; r.Conn != "second" || r.Types != "IF" || !r.Sorted || r.SQL != "select a,\n  b from t" || !slices.Equal(r.Rows, []string{"1\t0.5", "2\tNULL"}) {
		t.Errorf("%+v", r)
	}
	text := Format(recs)
	again, err := Parse(text)
	if err != nil || Format(again) != text || len(again) != 5 {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"\nstatment ok\nselect 1":              "line 2",
		"statement ok":                         "no statement",
		"statement error (SQLSTATE 1)\nx":      "no directive",
		"query IX\nselect 1":                   "no directive",
		"query I valuesort\nselect 1":          "order",
		"statement ok\nselect 1\n----\n1":      "no query",
		"statement ok\nselect 1\n\nskipif x\n": "nothing follows",
		"# alone":                              "stands before its record",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
	text := func(rows ...string) (out [][]Cell) {
		for _, r := range rows {
			var row []Cell
			for _, c := range strings.Split(r, "|") {
				row = append(row, Cell{c, c == "<null>"})
			}
			out = append(out, row)
		}
		return out
	}
	for _, c := range []struct {
		name string
		r    Record
		res  Result
		same bool
	}{
		{"ok", Record{}, Result{}, true},
		{"fails", Record{}, Result{State: "22012"}, false},
		{"fails as it should", Record{Fails: true, State: "22012"}, Result{State: "22012"}, true},
		{"fails in another way", Record{Fails: true, State: "22012"}, Result{State: "22003"}, false},
		{"does not fail", Record{Fails: true}, Result{}, false},
		{"rows", Record{Kind: Query, Types: "TT", Rows: []string{`a\tb\n	(empty)`, `\\	NULL`}}, Result{Types: "TT", Rows: text("a\tb\n|", `\|<null>`)}, true},
		{"types", Record{Kind: Query, Types: "I", Rows: []string{"1"}}, Result{Types: "R", Rows: text("1")}, false},
		{"order", Record{Kind: Query, Types: "I", Rows: []string{"1", "2"}}, Result{Types: "I", Rows: text("2", "1")}, false},
		{"any order", Record{Kind: Query, Types: "I", Sorted: true, Rows: []string{"1", "2"}}, Result{Types: "I", Rows: text("2", "1")}, true},
		{"fewer", Record{Kind: Query, Types: "I", Sorted: true, Rows: []string{"1", "1"}}, Result{Types: "I", Rows: text("1")}, false},
		{"near", Record{Kind: Query, Types: "F", Rows: []string{"0.1"}}, Result{Types: "F", Rows: text("0.10000000000000002")}, true},
		{"not near", Record{Kind: Query, Types: "F", Rows: []string{"0.1"}}, Result{Types: "F", Rows: text("0.1000001")}, false},
		{"exact", Record{Kind: Query, Types: "R", Rows: []string{"0.1"}}, Result{Types: "R", Rows: text("0.10")}, false},
		{"not a number", Record{Kind: Query, Types: "F", Rows: []string{"NaN"}}, Result{Types: "F", Rows: text("1")}, false},
	} {
		if d := Check(&c.r, c.res); (d == "") != c.same {
			t.Errorf("%s: %q", c.name, d)
		}
	}
}

// echo is a connection whose answer to a statement is one row with the statement's text.
type echo struct{ name string }

func (e echo) Run(_ context.Context, sql string) (Result, error) {
	return Result{Types: "T", Rows: [][]Cell{{{e.name + ":" + sql, false}}}}, nil
}

func TestRunner(t *testing.T) {
	var opened []string
	x := Runner{Engine: "e", Open: func(_ context.Context, name string) (Conn, error) {
		opened = append(opened, name)
		return echo{name}, nil
	}}
	run := func(r Record) string {
		res, ran, err := x.Run(context.Background(), &r)
		if err != nil {
			t.Fatal(err)
		}
		if !ran {
			return "skipped"
		}
		return res.Rows[0][0].Text
	}
	run(Record{Kind: Let, Name: "$a", SQL: "1"})
	run(Record{Kind: Let, Name: "$ab", SQL: "2"})
	for want, r := range map[string]Record{
		":$b :1 :2": {SQL: "$b $a $ab"},
		"two::1":    {SQL: "$a", Conn: "two"},
		"skipped":   {SQL: "x", Skip: []string{"e"}},
		":y":        {SQL: "y", Only: []string{"e", "f"}},
	} {
		if got := run(r); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	slices.Sort(opened)
	if !slices.Equal(opened, []string{"", "two"}) {
		t.Errorf("opened %q", opened)
	}
}

func TestOrdered(t *testing.T) {
	for sql, want := range map[string]bool{
		"select a from t order  by a":                                  true,
		"select a from (select * from t order by a) x":                 false,
		"select sum(a) over (partition by (b) order by c) from t":      false,
		"select 'order by'":                                            false,
		"select a, rank() over (order by a) from t\norder by f(a), b ": true,
		"FETCH 3 FROM c":                                               true,
	} {
		if ordered(sql) != want {
			t.Errorf("%s: not %v", sql, want)
		}
	}
}
