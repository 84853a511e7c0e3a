package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/cluster/node"
)

// postgres is a connection string of a superuser on a PostgreSQL server: with it the test records that
// server's answers instead of checking ours; see testdata/privileges/golden.sh.
var postgres = flag.String("postgres", "", "write PostgreSQL's answers to testdata/privileges, asking the server at this address")

const privilegeAnswers = "testdata/privileges/answers.txt"

// securable is a kind of object: the statements by which the role owner creates it, the privileges
// that can be granted on it, and the statements that need them.
type securable struct {
	name  string
	setup string   // run as owner, who may create in schema x and has all privileges on base
	on    string   // as in GRANT … ON
	privs []string // granted one at a time, each in a transaction of its own
	stmts []string
}

// locks is a statement that a materialized view does not allow; reads[1:] leaves it out.
const locks = "select a from o for update"

var reads = []string{locks, "select a from o", "select b from o", "select * from o", "select count(*) from o", "select 1 from o where b > 0",
	"select o from o", "select x.a from o as x join o as y on x.a = y.b", "with q as (select a from o) select 1 from q", "select (select max(b) from o)", "copy (select a from o) to stdout",
	"explain select a from o", "create temp table z as select a from o", "declare c cursor for select a from o; close c"}

var writes = []string{"insert into o (a) values (1)", "insert into o values (1)", "insert into o default values",
	"insert into o (a) values (1) returning b", "insert into o (a) select a from o",
	"insert into o (a) select count(*) from o", "update o set a = 1", "update o set a = b", "update o set a = 1 where a > 0", "update o set a = 1 returning b", "delete from o", "delete from o where a > 0", "delete from o returning b",
	"delete from o where exists (select 1 from o)", "explain delete from o"}

var tableOnly = []string{"truncate o", "create table x.r (a int references o (a))", "create table x.r (c int references o (c))", "copy o (a) from stdin", "copy o from stdin", "copy o to stdout",
	"copy o (a) to stdout", "insert into o (a, c) values (1, 1) on conflict (c) do nothing", "insert into o (a, c) values (1, 1) on conflict do nothing",
	"insert into o (a, c) values (1, 1) on conflict (c) do update set b = 1", "insert into o (a, c) values (1, 1) on conflict (c) do update set b = excluded.b",
	"insert into o (a, c) values (1, 1) on conflict (c) do update set b = o.b",
	"merge into o using (values (5)) as s (k) on o.a = s.k when not matched then insert (a) values (s.k)",
	"merge into o using (values (1)) as s (k) on o.a = s.k when matched then update set b = s.k",
	"merge into o using (values (1)) as s (k) on o.a = s.k when matched then delete",
	"alter table o add column d int", "alter table o rename to p", "alter table o rename column a to d", "create index on o (a)", "comment on table o is 'c'", "drop table o",
	"grant select on o to stranger", "grant select (a) on o to stranger", "revoke select on o from grantee", "alter table o owner to stranger", "alter table o owner to owner"}

var tablePrivs = []string{"", "select", "insert", "update", "delete", "truncate", "references", "trigger", "all", "select (a)", "select (b)", "select (a, b)", "insert (a)", "insert (a), select (b)", "update (a)", "update (a), select (a)", "references (a)", "all (a)", "insert (a, c), select (c), update (b)"}

var viewPrivs = []string{"", "select", "insert", "update", "delete", "all", "select (a)", "insert (a), select (b)", "update (a), select (a)"}

var viewOnly = []string{"drop view o", "alter view o rename to p", "create or replace view x.o as select 1 as a, 2 as b, 3 as c", "grant select on o to stranger", "alter view o owner to stranger"}

var securables = []securable{
	{"table", "create table x.o (a int unique, b int, c int unique)", "o", tablePrivs, append(append(append([]string{}, reads...), writes...), tableOnly...)},
	{"view", "create view x.o as select a, b, c from base", "o", viewPrivs, append(append(append([]string{}, reads...), writes...), viewOnly...)},
	{"view of part", "create view x.o as select a, b from base where c is null or c > 0", "o", []string{"", "select", "all"}, append(append([]string{}, reads...), writes...)},
	{"view without rights", "create view x.o as select a, b, c from hidden", "o", []string{"", "select", "all"}, append(append([]string{}, reads...), writes...)},
	{"view reading only", "create view x.o as select a, b, c from shown", "o", []string{"", "select", "all"}, append(append([]string{}, reads...), writes...)},
	{"view writing only", "create view x.o as select a, b, c from sunk", "o", []string{"", "all"}, append(append([]string{}, reads...), writes...)},
	{"view of view", "create view x.v as select a, b, c from base; create view x.o as select a, b, c from x.v", "o", []string{"", "select"}, reads},
	{"view of another's view", "create view x.o as select a, b, c from theirs", "o", []string{"", "select"}, reads},
	{"invoker's view", "create view x.o with (security_invoker) as select a, b, c from base", "o", viewPrivs, append(append([]string{}, reads...), writes...)},
	{"invoker's view of open table", "create view x.o with (security_invoker = on) as select a, b, c from open", "o", viewPrivs, append(append([]string{}, reads...), writes...)},
	{"invoker's view, then not", "create view x.o with (security_invoker) as select a, b, c from base; alter view x.o reset (security_invoker)", "o", []string{"", "select"}, reads},
	{"view, then invoker's", "create view x.o as select a, b, c from base; alter view x.o set (security_invoker = true)", "o", []string{"", "select"}, reads},
	{"view of invoker's view", "create view x.v with (security_invoker) as select a, b, c from base; create view x.o as select a, b, c from x.v", "o", []string{"", "select"}, reads},
	{"invoker's view of view", "create view x.v as select a, b, c from base; create view x.o with (security_invoker) as select a, b, c from x.v", "o", []string{"", "select"}, reads},
	{"view of one's own name", "create view x.o as select current_user::text as a, has_table_privilege('hidden', 'select') as b, 1 as c", "o", []string{"", "select"}, []string{"select a from o", "select b from o"}},
	{"materialized view", "create materialized view x.o as select a, b, c from base", "o", []string{"", "select", "all", "select (a)"},
		append([]string{"refresh materialized view o", "drop materialized view o", "alter materialized view o rename to p"}, reads[1:]...)},
	{"materialized view without rights", "set role other; create materialized view x.o as select a, b, c from hidden; reset role; alter materialized view x.o owner to owner", "o", []string{"", "select"},
		[]string{"select a from o", "refresh materialized view o"}},
	{"sequence", "create sequence x.o", "sequence o", []string{"", "select", "usage", "update", "all"},
		[]string{"select nextval('o')", "select currval('o')", "select lastval()", "select setval('o', 3)", "select setval('o', 3, false)", "select last_value from o", "select * from o",
			"alter sequence o restart", "drop sequence o", "alter sequence o owner to stranger", "grant usage on sequence o to stranger"}},
	{"serial column", "create table x.o (a serial, b int)", "o", []string{"", "insert", "all"},
		[]string{"insert into o (b) values (1)", "insert into o (a, b) values (1, 2)", "select nextval('o_a_seq')", "alter table o drop column a"}},
	{"identity column", "create table x.o (a int generated by default as identity, b int)", "o", []string{"", "insert", "insert (b)", "all"},
		[]string{"insert into o (b) values (1)", "insert into o (a, b) values (1, 2)", "insert into o default values", "select nextval('o_a_seq')", "copy o (b) from stdin"}},
	{"schema", "create schema y; create table y.t (a int); grant all on y.t to public; create type y.e as enum ('a')", "schema y", []string{"", "usage", "create", "all"},
		[]string{"select a from y.t", "create table y.u (a int)", "create view y.v as select 1", "create type y.f as enum ('b')", "drop table y.t", "alter schema y rename to z", "drop schema y cascade",
			"set search_path = y; select a from t", "set search_path = y; create table u (a int)", "set search_path = y; select current_schema()", "alter schema y owner to stranger",
			"grant usage on schema y to stranger", "comment on schema y is 'c'", "insert into y.t values (1)", "select 'a'::y.e", "create view x.z as select a from y.t", "alter type y.e add value 'b'",
			"drop type y.e", "alter type y.e owner to stranger", "alter type y.e rename to f"}},
	{"database", "reset role; revoke all on database tributary from public", "database tributary", []string{"", "create", "temp", "all"},
		[]string{"create schema z", "create temp table z (a int)", "create schema z authorization owner", "grant temp on database tributary to stranger", "comment on database tributary is 'c'"}},
	{"roles", "select 1", "", []string{""},
		[]string{"create role z", "drop role lone", "alter role lone createdb", "alter role lone password 'p'", "alter role current_user password 'p'", "alter role current_user createrole",
			"alter role current_user superuser", "alter role lone superuser", "alter role boss password 'p'", "alter role boss rename to z", "alter role lone rename to z", "grant boss to lone", "grant grantee to lone",
			"grant lone to current_user", "revoke grantee from member", "create role z in role boss", "create role z in role lone", "create role z superuser", "create role z createrole", "create role z replication",
			"set role boss", "set role grantee", "set role owner", "alter role current_user set work_mem = '8MB'", "alter role lone set work_mem = '8MB'",
			"alter role boss set work_mem = '8MB'", "drop role boss", "alter role lone replication", "alter role lone bypassrls", "comment on role lone is 'c'",
			"alter default privileges grant select on tables to stranger", "alter default privileges for role owner grant select on tables to stranger"}},
}

// testServer is a node in this process with its listeners, until the test ends.
func testServer(t *testing.T) *server {
	t.Helper()
	s, err := startServer(context.Background(), node.Options{Data: t.TempDir(), ListenCluster: "127.0.0.1:0", Memory: 1 << 30, Threads: 2, Log: slog.New(slog.DiscardHandler)}, "127.0.0.1:0", "127.0.0.1:0", false, new(access))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(time.Second); err != nil {
			t.Error(err)
		}
	})
	return s
}

// players are the roles that try each statement. "public" is the role stranger, with the privilege
// granted to PUBLIC.
var players = []string{"super", "owner", "ownermember", "grantee", "member", "noinherit", "maker", "stranger", "public"}

const cast = `create role owner; create role ownermember in role owner; create role grantee; create role member in role grantee; create role noinherit noinherit in role grantee;
create role maker createrole; create role stranger; create role other; create role boss superuser; create role lone;
create schema x authorization owner; grant usage on schema x to public; create schema d; grant usage on schema d to public;
set search_path = d;
create table d.base (a int, b int, c int); create table d.hidden (a int, b int, c int); create table d.shown (a int, b int, c int); create table d.sunk (a int, b int, c int);
create table d.open (a int, b int, c int);
insert into base values (1, 1, 1); create view d.theirs as select a, b, c from d.hidden;
alter table d.base owner to other; alter table d.hidden owner to other; alter table d.shown owner to other; alter table d.sunk owner to other; alter table d.open owner to other; alter view d.theirs owner to other;
grant all on d.base to owner; grant select on d.shown to owner; grant insert, update, delete on d.sunk to owner; grant select on d.theirs to owner; grant create, usage on schema x to other; grant create on database tributary to owner;
grant select, insert, update (a, b) on d.open to public`

// TestPrivileges runs statements on every kind of object, with every privilege granted, as every kind
// of role: the answers are PostgreSQL's.
func TestPrivileges(t *testing.T) {
	ctx := context.Background()
	dsn := *postgres
	if dsn == "" {
		dsn = "postgres://tributary@" + testServer(t).pg.Addr().String() + "/tributary?sslmode=disable"
	}
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	q := &asker{t: t, ctx: ctx, c: c.PgConn()}
	for _, s := range strings.Split(cast, ";") {
		q.must(strings.TrimSpace(s))
	}
	var got strings.Builder
	for _, o := range securables {
		for _, priv := range o.privs {
			fmt.Fprintf(&got, "== %s, granted: %s\n", o.name, priv)
			answers := make([][]string, len(o.stmts))
			for _, public := range []bool{false, true} {
				q.make(o, priv, public)
				for i, stmt := range o.stmts {
					for _, p := range players {
						if (p == "public") == public {
							answers[i] = append(answers[i], q.try(p, stmt))
						}
					}
				}
				q.unmake()
			}
			for i, stmt := range o.stmts {
				fmt.Fprintf(&got, "%s\n", stmt)
				for k, p := range players {
					fmt.Fprintf(&got, "  %-12s%s\n", p, answers[i][k])
				}
			}
		}
	}
	if *postgres != "" {
		if err := os.WriteFile(privilegeAnswers, []byte(condense(got.String())), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(privilegeAnswers)
	if err != nil {
		t.Fatal(err)
	}
	differences(t, condense(got.String()), string(want))
}

// condense puts the roles that get the same answer to a statement on one line.
func condense(text string) string {
	var out strings.Builder
	var order []string
	by := map[string][]string{}
	flush := func() {
		for _, a := range order {
			fmt.Fprintf(&out, "  %s: %s\n", strings.Join(by[a], " "), a)
		}
		order, by = nil, map[string][]string{}
	}
	for _, line := range strings.SplitAfter(text, "\n") {
		line = strings.TrimSuffix(line, "\n")
		who, isAnswer := strings.CutPrefix(line, "  ")
		if !isAnswer {
			flush()
			if line != "" {
				fmt.Fprintln(&out, line)
			}
			continue
		}
		name, answer, _ := strings.Cut(who, " ")
		answer = strings.TrimSpace(answer)
		if by[answer] == nil {
			order = append(order, answer)
		}
		by[answer] = append(by[answer], name)
	}
	flush()
	return out.String()
}

// differences reports each statement with an answer that differs from PostgreSQL's.
func differences(t *testing.T, got, want string) {
	t.Helper()
	blocks := func(text string) (heads, bodies []string) {
		section := ""
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			switch {
			case strings.HasPrefix(line, "=="):
				section = line
			case strings.HasPrefix(line, "  "):
				bodies[len(bodies)-1] += line + "\n"
			default:
				heads, bodies = append(heads, section+" | "+line), append(bodies, "")
			}
		}
		return heads, bodies
	}
	gh, gb := blocks(got)
	wh, wb := blocks(want)
	if len(gh) != len(wh) {
		t.Fatalf("%d statements were tried, %d answers are written down: write them anew", len(gh), len(wh))
	}
	for i := range gh {
		if gh[i] != wh[i] {
			t.Fatalf("the statement %q was tried where %q is written down: write the answers anew", gh[i], wh[i])
		}
		if gb[i] != wb[i] {
			t.Errorf("%s\n gave\n%s PostgreSQL gives\n%s", gh[i], gb[i], wb[i])
		}
	}
}

// asker is a superuser's connection to the server under test.
type asker struct {
	t   *testing.T
	ctx context.Context
	c   *pgconn.PgConn
}

func (q *asker) run(sql string) error {
	if strings.HasSuffix(sql, "from stdin") {
		_, err := q.c.CopyFrom(q.ctx, strings.NewReader(""), sql)
		return err
	}
	return q.c.Exec(q.ctx, sql).Close()
}

func (q *asker) must(sql string) {
	q.t.Helper()
	if err := q.run(sql); err != nil {
		q.t.Fatalf("%s: %v", sql, err)
	}
}

// make creates the object and grants the privilege on it, in a transaction that unmake rolls back.
func (q *asker) make(o securable, priv string, public bool) {
	q.t.Helper()
	q.must("begin")
	q.must("set search_path = x, d")
	q.must("set role owner")
	q.must(o.setup)
	q.must("reset role")
	if priv != "" {
		to := "grantee"
		if public {
			to = "public"
		}
		q.must("grant " + priv + " on " + o.on + " to " + to)
	}
}

func (q *asker) unmake() { q.must("rollback") }

// try runs a statement as a role and returns "ok" or the SQLSTATE, with the message if it is a missing
// privilege (42501).
func (q *asker) try(player, stmt string) string {
	q.t.Helper()
	role := map[string]string{"super": "tributary", "public": "stranger"}[player]
	if role == "" {
		role = player
	}
	q.must("savepoint s")
	q.must("set session authorization " + role)
	err := q.run(stmt)
	q.must("rollback to s")
	q.must("reset session authorization")
	q.must("set search_path = x, d")
	var e *pgconn.PgError
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &e):
		q.t.Fatalf("%s: %v", stmt, err)
	case e.Code == "42501":
		return e.Code + " " + e.Message
	}
	return e.Code
}
