package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cmd/shell"
)

// evaluated are what those who know psql, duckdb or pgcli try first in a shell, with a part of what must come.
var evaluated = []struct{ typed, want string }{
	{`select 1 + 1 as two;`, " two \n-----\n   2\n"},
	{`select * from read_csv('FILE') limit 1;`, "ann"},
	{`create table people as select * from read_csv('FILE');`, "SELECT 2"},
	{`\d`, " public | people | table"},
	{`\d people`, `Table "public.people"`},
	{`\dt+`, "Size"},
	{`\l`, "tributary"},
	{`select * from people order by name \gx`, "-[ RECORD 1 ]"},
	{`explain select count(*) from people;`, "QUERY PLAN"},
	{`\copy people to 'OUT' with (format csv)`, "COPY 2"},
	{`\timing on`, "Timing is on."},
	{`\x auto`, "Expanded display is used automatically."},
	{`\du`, "Superuser"},
	{`\df abs`, "double precision"},
	{`\dm`, ""},
	{`\conninfo`, "You are connected to database"},
	{`\?`, `\gset [PREFIX]`},
	{`help`, `\q, quit, exit`},
	{`\h select`, "[FROM item [, …]]"},
	{`quit`, ""},
}

// TestFirstCommands: each of them works, in a shell whose engine is in its process.
func TestFirstCommands(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(in, []byte("name,age\nann,30\nbob,40\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := strings.NewReplacer("FILE", in, "OUT", filepath.Join(dir, "out.csv"))
	script := ""
	args := []string{"--data", filepath.Join(dir, "data"), "--memory", "512MiB"}
	for _, e := range evaluated {
		script += "\\echo <<\n" + file.Replace(e.typed) + "\n"
	}
	var out, errs strings.Builder
	if err := shell.Main(t.Context(), args, shell.IO{In: strings.NewReader(script), Out: &out, Err: &errs}, localEngine); err != nil {
		t.Fatal(err, errs.String())
	}
	parts := strings.Split(out.String(), "<<")[1:]
	if len(parts) != len(evaluated) {
		t.Fatalf("%d parts of %d\n%s", len(parts), len(evaluated), out.String())
	}
	for i, e := range evaluated {
		if !strings.Contains(parts[i], e.want) {
			t.Errorf("%s: no %q in\n%s", e.typed, e.want, parts[i])
		}
	}
	if errs.String() != "" && errs.String() != "Did not find any models.\n" {
		t.Error(errs.String())
	}

	// Nobody else can connect to the engine: it has no address.
	out.Reset()
	if err := shell.Query(t.Context(), append(args, "-At", "select pg_address, http_address from cluster.nodes"), shell.IO{In: strings.NewReader(""), Out: &out, Err: &errs}, localEngine); err != nil || out.String() != "|\n" {
		t.Errorf("%v: %q\n%s", err, out.String(), errs.String())
	}

	// What was made in a directory is there for the next.
	out.Reset()
	if err := shell.Query(t.Context(), append(args, "-At", "select count(*) from people"), shell.IO{In: strings.NewReader(""), Out: &out, Err: &errs}, localEngine); err != nil || out.String() != "2\n" {
		t.Errorf("%v: %q\n%s", err, out.String(), errs.String())
	}
}

// TestShellExits: the exit codes are psql's.
func TestShellExits(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "a.sql")
	if err := os.WriteFile(script, []byte("select nothing;\nselect 1;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"-f", script}, 0},
		{[]string{"-v", "ON_ERROR_STOP=1", "-f", script}, 3},
		{[]string{"-c", "select nothing"}, 1},
		{[]string{"-c", "select nothing", "-c", "select 1"}, 0},
		{[]string{"-v", "ON_ERROR_STOP=1", "-c", "select nothing", "-c", "select 1"}, 1},
		{[]string{"-f", filepath.Join(dir, "none.sql")}, 1},
	} {
		var out, errs strings.Builder
		err := shell.Main(t.Context(), append([]string{"--data", data, "--memory", "512MiB"}, c.args...), shell.IO{In: strings.NewReader(""), Out: &out, Err: &errs}, localEngine)
		var exit shell.Exit
		if errors.As(err, &exit) && exit.Code != c.code || err == nil && c.code != 0 || err != nil && exit.Code == 0 {
			t.Errorf("%q: %v, want %d\n%s", c.args, err, c.code, errs.String())
		}
	}
}

// TestShellCommands runs \commands and compares what comes. The answers to those that psql has are psql's.
func TestShellCommands(t *testing.T) {
	script, err := os.ReadFile("testdata/shell/commands.sql")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := shell.Main(t.Context(), []string{"-a", "-X", "--memory", "512MiB"}, shell.IO{In: strings.NewReader(string(script)), Out: &out, Err: &out}, localEngine); err != nil {
		t.Fatal(err, out.String())
	}
	want, err := os.ReadFile("testdata/shell/commands.txt")
	if err != nil || out.String() != string(want) {
		t.Errorf("%v\n%s", err, out.String())
	}
}
