package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributarydb/tributary/cmd/shell"
)

// TestShell runs the shell on a script and interactively.
func TestShell(t *testing.T) {
	dsn, stop, err := testNode(t.Context(), shell.EngineOptions{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	run := func(in string, args ...string) (out, errs string, code int) {
		t.Helper()
		var o, e strings.Builder
		err := shell.Main(t.Context(), append([]string{"--dsn", dsn}, args...), shell.IO{In: strings.NewReader(in), Out: &o, Err: &e}, nil)
		var exit shell.Exit
		if errors.As(err, &exit) {
			code = exit.Code
		} else if err != nil {
			t.Fatal(err)
		}
		return o.String(), e.String(), code
	}
	out, errs, code := run("create table t (a integer,\n b text);\ncopy t from stdin;\n1\tone;\n2\ttwo\n\\.\nselect * from t order by a;\n\\d t\n\\dt\n\\x\nselect 'x;y' as z")
	want := []string{"CREATE TABLE\nCOPY 2\n", " a |  b   \n---+------\n 1 | one;\n 2 | two\n(2 rows)\n", " a      | integer ", "public | t    | table",
		"Expanded display is on.\n-[ RECORD 1 ]\nz | x;y\n"}
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
	if errs != "" || code != 0 {
		t.Errorf("%s, code %d", errs, code)
	}

	out, errs, code = run("select 1;\nselect nothing from t;\nselect 2;\n")
	if !strings.Contains(errs, "ERROR:  column \"nothing\" does not exist\nLINE 1: select nothing from t\n               ^\n") || code != 0 || strings.Count(out, "(1 row)") != 2 {
		t.Errorf("code %d\n%s\n%s", code, out, errs)
	}
	if out, _, code = run("select nothing;\nselect 2;\n", "--stop"); code != 3 || out != "" {
		t.Errorf("--stop: code %d, %s", code, out)
	}
	if out, errs, code = run("", "-c", "select 1 as one", "-c", `\timing`); code != 0 || !strings.Contains(out, "one") || !strings.Contains(out, "Timing is on.") {
		t.Errorf("-c: code %d, %s %s", code, out, errs)
	}
	if _, _, code = run("", "-c", "select nothing"); code != 1 {
		t.Errorf("-c with an error: code %d", code)
	}
	if _, errs, code = run("", "--dsn", "postgres://tributary@127.0.0.1:1/tributary"); code != 2 || errs == "" {
		t.Errorf("no server: code %d, %s", code, errs)
	}
}

// TestShellCancels: Ctrl-C cancels the running statement, and the next one runs.
func TestShellCancels(t *testing.T) {
	dsn, stop, err := testNode(t.Context(), shell.EngineOptions{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	interrupts := make(chan os.Signal, 1)
	var out, errs strings.Builder
	done := make(chan error)
	go func() {
		done <- shell.Main(t.Context(), []string{"--dsn", dsn, "-c", "select pg_sleep(600)", "-c", "select 41 + 1 as answer"},
			shell.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Interrupts: interrupts}, nil)
	}()
	for running := false; !running; {
		if err := c.QueryRow(t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE query = 'select pg_sleep(600)' AND state = 'active'").Scan(&running); err != nil {
			t.Fatal(err)
		}
	}
	interrupts <- os.Interrupt
	err = <-done
	if !strings.Contains(errs.String(), "canceling statement due to user request") || !strings.Contains(out.String(), "42") {
		t.Errorf("%v\n%s\n%s", err, out.String(), errs.String())
	}
}

// testNode starts a node in the test's process, which clients reach by TCP.
func testNode(ctx context.Context, o shell.EngineOptions) (dsn string, stop func() error, err error) {
	s, stop, err := ownNode(ctx, o, "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("postgres://tributary@127.0.0.1:%d/tributary?sslmode=disable", port(s.pg)), stop, nil
}
