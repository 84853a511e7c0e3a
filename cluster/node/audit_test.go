package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// records collects an audit log.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

// take returns the records that were written since the last call, each as its statement, objects,
// roles and result. The other fields must be those of the test's session.
func (r *records) take(t *testing.T, role string) (out []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.b.String()
	r.b.Reset()
	if strings.Contains(text, "geheim") || strings.Contains(text, "verifier") {
		t.Fatalf("a password is in the audit log:\n%s", text)
	}
	for line := range strings.Lines(text) {
		var rec struct {
			Msg   string
			Audit struct {
				Session                                          uint64
				User, Role, Database, Address, Statement, Result string
				Objects, Roles                                   []string
			}
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		a := rec.Audit
		if rec.Msg != "audit" || a.Session == 0 || a.User != "tributary" || a.Role != role || a.Database != "tributary" || a.Address != "192.0.2.1:5" {
			t.Fatalf("a record of the session is %s", line)
		}
		out = append(out, strings.Join([]string{a.Statement, strings.Join(a.Objects, " "), strings.Join(a.Roles, " "), a.Result}, "|"))
	}
	return out
}

// TestAudit: each DDL statement leaves one record with its outcome and the names in it, other
// statements leave none, and no record contains a password or another constant of the statement.
func TestAudit(t *testing.T) {
	var log records
	n := start(t, 1, func(o *Options) { o.Audit = slog.New(slog.NewJSONHandler(&log, nil)) })[0]
	s, err := n.Engine().Connect(context.Background(), session.Startup{User: "tributary", Database: "tributary", Remote: "192.0.2.1:5", PID: pids.Add(1), Notify: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := &client{t, s}
	role := "tributary"
	check := func(sql string, want ...string) {
		t.Helper()
		_, err := c.do(sql)
		if got := log.take(t, role); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s (%v) left\n %q, not\n %q", sql, err, got, want)
		}
	}
	for _, x := range []struct{ sql, want string }{
		{"create schema s", "CREATE SCHEMA|s||ok"},
		{"create table s.t (a int primary key, b text default 'geheim')", "CREATE TABLE|s.t||ok"},
		{"create table s.t (a int)", "CREATE TABLE|s.t||42P07"},
		{"alter table s.t add c float8", "ALTER TABLE|s.t||ok"},
		{"alter table s.t rename c to d", "ALTER TABLE|s.t c d||ok"},
		{"alter table s.t repartition into 4", "ALTER TABLE|s.t||ok"},
		{"create index i on s.t (b)", "CREATE INDEX|s.t i||ok"},
		{"create view v as select a from s.t where b <> 'geheim'", "CREATE VIEW|v||ok"},
		{"create materialized view m as select a from s.t", "CREATE MATERIALIZED VIEW|m||ok"},
		{"refresh materialized view m", "REFRESH MATERIALIZED VIEW|m||ok"},
		{"create sequence q", "CREATE SEQUENCE|q||ok"},
		{"create type e as enum ('geheim')", "CREATE TYPE|e||ok"},
		{"create table t2 as select i, i * 2.0 as y from generate_series(1, 50) g(i)", "CREATE TABLE AS|t2||ok"},
		{"create table t3 as select * from nowhere", "CREATE TABLE AS|t3||42P01"},
		{"select a into t3 from s.t", "SELECT INTO|t3||ok"},
		{"comment on table s.t is 'geheim'", "COMMENT|s.t||ok"},
		{"truncate s.t, t3", "TRUNCATE TABLE|s.t t3||ok"},
		{"create role ann login password 'geheim'", "CREATE ROLE|ann||ok"},
		{"create user ann password 'geheim'", "CREATE ROLE|ann||42710"},
		{"alter role ann password 'geheim'", "ALTER ROLE|ann||ok"},
		{"alter role ann set search_path = 'geheim'", "ALTER ROLE|ann||ok"},
		{"create role staff", "CREATE ROLE|staff||ok"},
		{"grant staff to ann", "GRANT ROLE|staff|ann|ok"},
		{"revoke staff from ann", "REVOKE ROLE|staff|ann|ok"},
		{"grant select on s.t, v to ann, public", "GRANT|s.t v|ann public|ok"},
		{"revoke select on v from ann", "REVOKE|v|ann|ok"},
		{"grant select on nowhere to ann", "GRANT|nowhere|ann|42P01"},
		{"alter default privileges grant select on tables to ann", "ALTER DEFAULT PRIVILEGES||ann|ok"},
		{"alter table t3 owner to ann", "ALTER TABLE|t3|ann|ok"},
		{"alter system set work_mem = 'geheim'", "ALTER SYSTEM|work_mem||22023"},
		{"alter node nowhere drain", "ALTER NODE|nowhere||42704"},
		{"train model mod using linear_regression predict y as select * from t2", "TRAIN MODEL|mod||ok"},
		{"train model mod using linear_regression predict y as select * from t2", "TRAIN MODEL|mod||42710"},
		{"train model none using linear_regression predict y as select * from nowhere", "TRAIN MODEL|none||42P01"},
		{"retrain model mod", "RETRAIN MODEL|mod||ok"},
		{"grant select on model mod to ann", "GRANT|mod|ann|0LP01"},
		{"alter model mod rename to mod2", "ALTER MODEL|mod||ok"},
		{"drop model mod2", "DROP MODEL|mod2||ok"},
		{"drop view v", "DROP VIEW|v||ok"},
		{"drop table t3, nowhere", "DROP TABLE|t3 nowhere||42P01"},
		{"create extension geheim", "CREATE EXTENSION|||0A000"},
	} {
		check(x.sql, x.want)
	}
	for _, sql := range []string{"select 1", "select * from nowhere", "insert into t2 values (1, 2)", "update t2 set y = 0", "delete from t2", "set work_mem = '64MB'", "show models",
		"explain create table x as select 1", "prepare p as select 1", "execute p", "begin; commit", "vacuum", "create tabel x"} {
		check(sql)
	}

	// In a transaction block, records are written when the outcome is known: at the end of the block,
	// or at a rollback to a savepoint.
	check("begin")
	check("create table a (x int)")
	check("savepoint one")
	check("create table b (x int)")
	check("rollback to one", "CREATE TABLE|b||40000")
	check("create table c (x int)")
	check("commit", "CREATE TABLE|a||ok", "CREATE TABLE|c||ok")
	check("begin")
	check("drop table a")
	check("drop table b", "DROP TABLE|b||42P01")
	check("drop table c") // refused with 25P02 before it is analysed: no record
	check("commit", "DROP TABLE|a||40000")
	check("begin")
	check("alter table a add z int")
	other := connect(t, n)
	other.must("alter table a add y int")
	log.mu.Lock()
	log.b.Reset() // drops the other session's record
	log.mu.Unlock()
	if _, err := c.do("commit"); pgerr.CodeOf(err) != pgerr.SerializationFailure {
		t.Fatalf("a conflict is %v", err)
	}
	if got := log.take(t, role); fmt.Sprint(got) != "[ALTER TABLE|a||40001]" {
		t.Errorf("a conflict left %q", got)
	}

	// EXECUTE of a statement that was prepared by the protocol: the record has that statement.
	pieces, err := s.Script(context.Background(), "create table late (x int)")
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Prepare(context.Background(), pieces[0], []types.OID{})
	if err == nil {
		err = s.StorePrepared("late", st)
	}
	if err != nil {
		t.Fatal(err)
	}
	check("execute late", "CREATE TABLE|late||ok")

	// The record's role is the current role, not the session's user.
	check("set role ann")
	role = "ann"
	check("create role x", "CREATE ROLE|x||42501")

	names := make([]string, 150)
	for i := range names {
		names[i] = fmt.Sprint("x", i)
	}
	check("drop table if exists "+strings.Join(names, ", "), "DROP TABLE|"+strings.Join(names[:100], " ")+"||ok")
}
