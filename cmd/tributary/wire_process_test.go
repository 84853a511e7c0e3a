package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// TestTypes sends values of every type, in text and binary format, as a parameter into a table and
// reads them back.
func TestTypes(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	c := p.connect()
	ctx := context.Background()
	for typ, values := range map[string][]string{
		"bool":          {"t", "f"},
		"int2":          {"-32768", "32767"},
		"int4":          {"-2147483648", "0"},
		"int8":          {"-9223372036854775808", "9223372036854775807"},
		"float4":        {"0.1", "-3.4028235e+38", "NaN", "-Infinity"},
		"float8":        {"0.1", "1e-300", "-0", "NaN", "Infinity"},
		"numeric":       {"0", "0.0000", "-12345678901234567890123456789.1234567890", "1000000000000000000000000000000000000000000", "NaN", "Infinity", "-Infinity", "0.000000000000000000000000000000000001"},
		"numeric(12,3)": {"123456789.125", "-0.001"},
		"text":          {"", "ü🙂", `\N "quoted" 'it'`, "a\tb\nc\r"},
		"varchar(3)":    {"äöü"},
		"char(4)":       {"ab  "},
		"name":          {"a_name"},
		"bytea":         {`\x`, `\x00ff5c`},
		"date":          {"2024-02-29", "0044-03-15 BC", "infinity", "5874897-12-31"},
		"time":          {"00:00:00", "23:59:59.999999", "24:00:00"},
		"timetz":        {"12:00:00+05:30", "00:00:00-12"},
		"timestamp":     {"2000-01-01 00:00:00", "1999-12-31 23:59:59.999999", "-infinity", "0001-01-01 00:00:00 BC"},
		"timestamptz":   {"2024-06-01 12:00:00+00", "infinity"},
		"interval":      {"1 year 2 mons -3 days +04:05:06.7", "00:00:00", "-178956970 years"},
		"uuid":          {"00000000-0000-0000-0000-000000000000", "12345678-9abc-def0-1234-56789abcdef0"},
		"json":          {`{"b": 1,  "a":[null]}`, "3"},
		"jsonb":         {`{"a": [null], "b": 1.50}`, `"x"`},
		"oid":           {"0", "4294967295"},
		"int4[]":        {"{}", "{1,NULL,-3}"},
		"text[]":        {`{a,"b,c","",NULL,"NULL","q\"q"}`},
		"numeric[]":     {"{1.50,NaN}"},
		"bool[]":        {"{t,f,NULL}"},
		"timestamptz[]": {`{"2024-06-01 12:00:00+00"}`},
	} {
		do(t, c, "BEGIN")
		do(t, c, fmt.Sprintf("CREATE TABLE v (a %s)", typ))
		sd, err := c.Prepare(ctx, "", "INSERT INTO v VALUES ($1)")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range values {
			in := [][]byte{[]byte(want)}
			formats := []int16{pgx.TextFormatCode}
			for step := range 2 {
				do(t, c, "DELETE FROM v")
				if r := c.PgConn().ExecParams(ctx, "INSERT INTO v VALUES ($1)", in, sd.ParamOIDs, formats, nil).Read(); r.Err != nil || r.CommandTag.String() != "INSERT 0 1" {
					t.Errorf("%s %q: %v %v", typ, want, r.CommandTag, r.Err)
					break
				}
				text := c.PgConn().ExecParams(ctx, "SELECT a FROM v", nil, nil, nil, []int16{pgx.TextFormatCode}).Read()
				if text.Err != nil || len(text.Rows) != 1 || string(text.Rows[0][0]) != want {
					t.Errorf("%s %q in step %d: %q %v", typ, want, step, text.Rows, text.Err)
					break
				}
				bin := c.PgConn().ExecParams(ctx, "SELECT a FROM v", nil, nil, nil, []int16{pgx.BinaryFormatCode}).Read()
				if bin.Err != nil {
					t.Errorf("%s %q as binary: %v", typ, want, bin.Err)
					break
				}
				// What the server sent in binary format is sent back as the next parameter.
				in, formats = [][]byte{bin.Rows[0][0]}, []int16{pgx.BinaryFormatCode}
			}
		}
		r := c.PgConn().ExecParams(ctx, "SELECT $1::"+typ, [][]byte{nil}, nil, nil, []int16{pgx.BinaryFormatCode}).Read()
		if r.Err != nil || r.Rows[0][0] != nil {
			t.Errorf("NULL of %s: %v %v", typ, r.Rows, r.Err)
		}
		do(t, c, "ROLLBACK")
	}
}

// TestTags: command tags have the counts that clients read from them.
func TestTags(t *testing.T) {
	c := startProcess(t, t.TempDir(), "").connect()
	for _, tc := range [][2]string{
		{"CREATE SCHEMA s", "CREATE SCHEMA"}, {"CREATE TABLE s.t (i int PRIMARY KEY, x text)", "CREATE TABLE"}, {"INSERT INTO s.t VALUES (1, 'a'), (2, 'b')", "INSERT 0 2"},
		{"INSERT INTO s.t VALUES (2, 'c') ON CONFLICT DO NOTHING", "INSERT 0 0"}, {"UPDATE s.t SET x = 'z' WHERE i = 1", "UPDATE 1"}, {"SELECT * FROM s.t", "SELECT 2"},
		{"DELETE FROM s.t WHERE i > 5", "DELETE 0"}, {"CREATE VIEW s.v AS SELECT 1 AS one", "CREATE VIEW"}, {"CREATE TABLE s.u AS SELECT * FROM s.t", "SELECT 2"}, {"CREATE INDEX ON s.t (x)", "CREATE INDEX"},
		{"BEGIN", "BEGIN"}, {"SAVEPOINT p", "SAVEPOINT"}, {"ROLLBACK TO p", "ROLLBACK"}, {"RELEASE p", "RELEASE"}, {"COMMIT", "COMMIT"}, {"START TRANSACTION", "START TRANSACTION"}, {"ROLLBACK", "ROLLBACK"},
		{"SET work_mem = '8MB'", "SET"}, {"RESET work_mem", "RESET"}, {"SHOW work_mem", "SHOW"}, {"TRUNCATE s.u", "TRUNCATE TABLE"}, {"ALTER TABLE s.u RENAME TO w", "ALTER TABLE"},
		{"PREPARE q AS SELECT 1", "PREPARE"}, {"EXECUTE q", "SELECT 1"}, {"DEALLOCATE q", "DEALLOCATE"}, {"EXPLAIN SELECT 1", "EXPLAIN"}, {"VALUES (1), (2)", "SELECT 2"},
		{"DROP VIEW s.v", "DROP VIEW"}, {"DROP SCHEMA s CASCADE", "DROP SCHEMA"}, {"DISCARD ALL", "DISCARD ALL"},
	} {
		results, err := c.PgConn().Exec(context.Background(), tc[0]).ReadAll()
		if err != nil || len(results) != 1 || results[0].CommandTag.String() != tc[1] {
			t.Errorf("%s: %v %v, want %s", tc[0], results, err, tc[1])
		}
	}
}

// TestDeathInCopy: when a client disconnects within a COPY, no row is stored and its session ends.
func TestDeathInCopy(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	c, victim := p.connect(), p.connect()
	do(t, c, "CREATE TABLE t (i int)")
	pid := victim.PgConn().PID()
	in, out := io.Pipe()
	go func() { _, _ = victim.PgConn().CopyFrom(context.Background(), in, "COPY t FROM STDIN") }()
	for i := range 200000 {
		if _, err := fmt.Fprintln(out, i); err != nil {
			t.Fatal(err)
		}
	}
	_ = victim.PgConn().Conn().Close()
	_ = out.Close()
	waitFor(t, c, "the session ends", fmt.Sprintf("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = %d", pid))
	if n := value[int64](t, c, "SELECT count(*) FROM t"); n != 0 {
		t.Errorf("%d rows of a copy that did not end", n)
	}
}

// TestBackends: pg_cancel_backend and pg_terminate_backend end other sessions' statements and
// sessions.
func TestBackends(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	c, other := p.connect(), p.connect()
	const long = "SELECT count(*) FROM generate_series(1, 100000000000) g WHERE g % 7 = 3"
	for _, tc := range []struct{ fn, code string }{{"pg_cancel_backend", "57014"}, {"pg_terminate_backend", "57P01"}} {
		failed := make(chan error, 1)
		go func() {
			_, err := other.Exec(context.Background(), long)
			failed <- err
		}()
		waitFor(t, c, "it runs", fmt.Sprintf("SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = %d AND state = 'active'", other.PgConn().PID()))
		if !value[bool](t, c, "SELECT "+tc.fn+"($1)", int32(other.PgConn().PID())) {
			t.Errorf("%s is false", tc.fn)
		}
		var e *pgconn.PgError
		if err := <-failed; !errors.As(err, &e) || e.Code != tc.code {
			t.Errorf("%s: %v", tc.fn, err)
		}
	}
	if value[bool](t, c, "SELECT pg_terminate_backend(999999)") {
		t.Error("a session that is not there was terminated")
	}
	do(t, c, "SET statement_timeout = 50")
	var e *pgconn.PgError
	if _, err := c.Exec(context.Background(), long); !errors.As(err, &e) || e.Code != "57014" || !strings.Contains(e.Message, "statement timeout") {
		t.Error(err)
	}
}

// residentKiB returns the resident memory of a process.
func residentKiB(t *testing.T, pid int) int { return statusKiB(t, pid, "VmRSS") }

// statusKiB returns a field of /proc/PID/status (proc(5)).
func statusKiB(t *testing.T, pid int, field string) (n int) {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc to read the server's memory from")
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if _, err := fmt.Sscanf(s.Text(), field+": %d kB", &n); err == nil {
			return n
		}
	}
	t.Fatal("no " + field)
	return 0
}

// TestSlowReader does not read a result of 10 million rows: the server buffers little of it, other
// sessions read and write meanwhile, and the statement can be cancelled.
func TestSlowReader(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	c := p.connect()
	do(t, c, "CREATE TABLE t (i int)")
	before := residentKiB(t, p.Pid())
	slow := p.connect().PgConn()
	hc, err := slow.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer hc.Conn.Close()
	hc.Frontend.Send(&pgproto3.Query{String: "SELECT g, repeat('x', 100) FROM generate_series(1, 10000000) g"})
	if err := hc.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, "it runs", fmt.Sprintf("SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = %d AND state = 'active'", hc.PID))
	for i := range 20 {
		do(t, c, "INSERT INTO t VALUES ($1)", i)
	}
	if n := value[int64](t, c, "SELECT count(*) FROM t"); n != 20 {
		t.Errorf("%d rows", n)
	}
	if grown := residentKiB(t, p.Pid()) - before; grown > 256<<10 {
		t.Errorf("the server grew by %d KiB", grown)
	}
	if !value[bool](t, c, "SELECT pg_cancel_backend($1)", int32(hc.PID)) {
		t.Error("not cancelled")
	}
	_ = hc.Conn.SetReadDeadline(time.Now().Add(longest))
	rows := 0
	for {
		m, err := hc.Frontend.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(*pgproto3.DataRow); ok {
			rows++
		}
		if e, ok := m.(*pgproto3.ErrorResponse); ok {
			if e.Code != "57014" {
				t.Errorf("%s %s", e.Code, e.Message)
			}
			break
		}
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			t.Fatalf("%d rows, and no error", rows)
		}
	}
	if rows >= 5000000 {
		t.Errorf("%d rows came after the cancel", rows)
	}
	// A session whose client never reads can be terminated.
	stuck := p.connect().PgConn()
	hs, err := stuck.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer hs.Conn.Close()
	hs.Frontend.Send(&pgproto3.Query{String: "SELECT g FROM generate_series(1, 10000000) g"})
	if err := hs.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, "it runs", fmt.Sprintf("SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = %d AND state = 'active'", hs.PID))
	do(t, c, fmt.Sprintf("SELECT pg_terminate_backend(%d)", hs.PID))
	waitFor(t, c, "it is gone", fmt.Sprintf("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = %d", hs.PID))
}

// TestHTTP reads the pages of a node.
func TestHTTP(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	for path, want := range map[string]string{"/readyz": "ready", "/metrics": "tributary_memory_limit_bytes", "/": "Tributary"} {
		nc, err := net.Dial("tcp", p.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(nc, "GET %s HTTP/1.0\r\n\r\n", path)
		b, err := io.ReadAll(nc)
		_ = nc.Close()
		if err != nil || !strings.Contains(string(b), "200 OK") || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v %.200s", path, err, b)
		}
	}
}
