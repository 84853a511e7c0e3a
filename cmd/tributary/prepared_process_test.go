package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestStatementNames: statements of the protocol's Parse and of SQL's PREPARE share one namespace,
// since some drivers make a statement by one and drop it by the other.
func TestStatementNames(t *testing.T) {
	c := startProcess(t, t.TempDir(), "").connect()
	ctx := context.Background()
	parse := func(name, sql string) error {
		_, err := c.PgConn().Prepare(ctx, name, sql, nil)
		return err
	}
	fails := func(what string, err error, code string) {
		t.Helper()
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || pe.Code != code {
			t.Errorf("%s: %v, want %s", what, err, code)
		}
	}
	exec := func(sql string) error {
		_, err := c.PgConn().Exec(ctx, sql).ReadAll()
		return err
	}
	do(t, c, "CREATE TABLE t (i int, x text)")

	if err := parse("p", "SELECT $1::int + 1"); err != nil {
		t.Fatal(err)
	}
	fails("PREPARE of a name of Parse", exec("PREPARE p AS SELECT 1"), "42P05")
	do(t, c, "PREPARE q (int) AS INSERT INTO t VALUES ($1, 'sql')")
	fails("Parse of a name of PREPARE", parse("q", "SELECT 1"), "42P05")

	if got := value[int32](t, c, "EXECUTE p (41)"); got != 42 {
		t.Errorf("EXECUTE gives %d", got)
	}
	if r := c.PgConn().ExecPrepared(ctx, "q", [][]byte{[]byte("7")}, nil, nil).Read(); r.Err != nil || r.CommandTag.String() != "INSERT 0 1" {
		t.Errorf("Bind of what PREPARE made: %v %v", r.CommandTag, r.Err)
	}
	if got := value[string](t, c, "SELECT string_agg(concat_ws('/', name, parameter_types, from_sql), ' ' ORDER BY name) FROM pg_prepared_statements WHERE name IN ('p', 'q')"); got != "p/{integer}/f q/{integer}/t" {
		t.Errorf("pg_prepared_statements: %s", got)
	}
	if err := exec("EXPLAIN EXECUTE p (1)"); err != nil {
		t.Errorf("EXPLAIN EXECUTE: %v", err)
	}
	fails("EXPLAIN EXECUTE without arguments", exec("EXPLAIN EXECUTE p"), "42601")
	if err := exec("CREATE TABLE made AS EXECUTE p (1)"); err != nil {
		t.Errorf("CREATE TABLE AS EXECUTE: %v", err)
	}

	// psqlODBC reuses the name of a statement: DEALLOCATE, then Parse.
	do(t, c, "DEALLOCATE p")
	fails("a name that DEALLOCATE freed", c.PgConn().ExecPrepared(ctx, "p", [][]byte{[]byte("1")}, nil, nil).Read().Err, "26000")
	if err := parse("p", "SELECT 2"); err != nil {
		t.Errorf("Parse of a name that DEALLOCATE freed: %v", err)
	}
	for _, all := range []string{"DEALLOCATE ALL", "DISCARD ALL"} {
		_ = parse("p", "SELECT 2")
		do(t, c, all)
		fails(all, exec("EXECUTE p"), "26000")
		if err := parse("p", "SELECT 2"); err != nil {
			t.Errorf("Parse after %s: %v", all, err)
		}
	}

	// A statement of the protocol may be an EXECUTE: redefined, a chain of them can execute itself.
	do(t, c, "DEALLOCATE ALL")
	for _, s := range [][2]string{{"a", "SELECT 1"}, {"b", "EXECUTE a"}, {"e", "EXPLAIN EXECUTE a"}} {
		if err := parse(s[0], s[1]); err != nil {
			t.Fatal(err)
		}
	}
	do(t, c, "DEALLOCATE a")
	if err := parse("a", "EXECUTE b"); err != nil {
		t.Fatal(err)
	}
	fails("EXECUTE of itself", exec("EXECUTE b"), "54001")
	fails("EXPLAIN of EXECUTE of itself", exec("EXPLAIN EXECUTE b"), "0A000")
	if err := parse("end", "COMMIT"); err != nil {
		t.Fatal(err)
	}
	fails("EXECUTE of COMMIT", exec("EXECUTE \"end\""), "0A000")
}

// TestPreparedFetch: drivers prepare a FETCH that they send often, and by the next run its cursor may
// be another one with other columns. The rows must be sent with that cursor's types, not with those
// that were described when FETCH was prepared. The same holds for EXECUTE.
func TestPreparedFetch(t *testing.T) {
	c := startProcess(t, t.TempDir(), "").connect()
	ctx := context.Background()
	run := func(name string) string {
		r := c.PgConn().ExecPrepared(ctx, name, nil, nil, nil).Read()
		if r.Err != nil {
			t.Fatalf("%s: %v", name, r.Err)
		}
		var out []string
		for _, f := range r.FieldDescriptions {
			out = append(out, fmt.Sprint(f.Name, ":", f.DataTypeOID))
		}
		for _, row := range r.Rows {
			out = append(out, string(bytes.Join(row, []byte("|"))))
		}
		return strings.Join(out, " ")
	}
	wants := func(name, want string) {
		t.Helper()
		if got := run(name); got != want {
			t.Errorf("%s gives %s, want %s", name, got, want)
		}
	}
	do(t, c, "BEGIN")
	do(t, c, "DECLARE q CURSOR FOR SELECT 1 AS a, 'x' AS b")
	do(t, c, "PREPARE p AS SELECT 1 AS a, 'x' AS b")
	for name, sql := range map[string]string{"fetch": "FETCH 5 FROM q", "exec": "EXECUTE p"} {
		if _, err := c.PgConn().Prepare(ctx, name, sql, nil); err != nil {
			t.Fatal(err)
		}
		wants(name, "a:23 b:25 1|x")
	}
	do(t, c, "COMMIT")
	do(t, c, "DEALLOCATE p")
	do(t, c, "BEGIN")
	do(t, c, "DECLARE q CURSOR FOR SELECT 'only' AS c")
	do(t, c, "PREPARE p AS SELECT 'only' AS c")
	wants("fetch", "c:25 only")
	wants("exec", "c:25 only")
	do(t, c, "COMMIT")
}
