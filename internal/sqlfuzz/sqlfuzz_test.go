package sqlfuzz

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/process"
)

// TestRun is a short run without a peer; the long ones are the command's.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	program, err := process.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	node, err := process.Start(t.Context(), program, "serve", "--data", filepath.Join(dir, "data"),
		"--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0", "--memory", "512MiB")
	if err != nil {
		t.Fatal(err)
	}
	defer node.Kill()
	var out bytes.Buffer
	err = Run(context.Background(), Options{
		DSN: "postgres://tributary@" + node.PG + "/tributary?sslmode=disable", Statements: 600, Seed: 28, Allow: []string{"0A000", "40001"},
	}, &out)
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}

func TestTokens(t *testing.T) {
	sql := "SELECT 'it ''s (', a.b[1] FROM t  WHERE (x >= 1.5)"
	list := tokens(sql)
	if got := strings.Join(list, ""); got != sql {
		t.Errorf("%q", got)
	}
	at := slices.Index(list, "(")
	if at < 0 || !balanced(list) || balanced(list[at:len(list)-1]) || !balanced(list[at:]) {
		t.Errorf("%q", list)
	}
}

func TestCompare(t *testing.T) {
	rows := func(oid uint32, texts ...string) *answer {
		a := &answer{tag: "SELECT", names: []string{"c"}, types: []uint32{oid}}
		for _, s := range texts {
			a.rows = append(a.rows, []cell{{text: s, null: s == "NULL"}})
		}
		return a
	}
	fails := func(code string) *answer { return &answer{code: code} }
	for _, c := range []struct {
		a, b           *answer
		ordered, risky bool
		want           verdict
	}{
		{a: rows(23, "1", "2", "2"), b: rows(23, "2", "1", "2")},
		{a: rows(23, "1", "2", "2"), b: rows(23, "2", "1", "1"), want: verdict{failure: "other rows"}},
		{a: rows(23, "1", "2"), b: rows(23, "2", "1"), ordered: true, want: verdict{failure: "other rows"}},
		{a: rows(25, "NULL"), b: rows(25, ""), want: verdict{failure: "other rows"}},
		{a: rows(23, "1"), b: rows(20, "1"), want: verdict{failure: "other column types: [23], [20]"}},
		{a: rows(oidFloat8, "0.30000000000000004", "NaN"), b: rows(oidFloat8, "NaN", "0.3")},
		{a: rows(oidFloat8, "0.3001"), b: rows(oidFloat8, "0.3"), want: verdict{failure: "other rows"}},
		{a: fails("22012"), b: fails("22003")},
		{a: fails("22012"), b: fails("42883"), want: verdict{failure: "another class of error"}},
		{a: fails("22012"), b: rows(23, "1"), want: verdict{failure: "an error on one side"}},
		{a: rows(23, "1"), b: fails("22012"), risky: true, want: verdict{allowed: "one-sided 22"}},
		{a: fails("0A000"), b: rows(23, "1"), want: verdict{allowed: "0A000"}},
		{a: fails("XX000"), b: fails("XX000"), risky: true, want: verdict{failure: "internal error XX000: "}},
	} {
		if got := compare(c.a, c.b, c.ordered, c.risky, []string{"0A000"}); got != c.want {
			t.Errorf("%s against %s: %+v, want %+v", c.a.brief(), c.b.brief(), got, c.want)
		}
	}
}
