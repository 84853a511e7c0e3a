package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// moment returns the present time, which is after all that was committed and before all that will be.
func (c *client) moment() string {
	c.t.Helper()
	return c.must("select clock_timestamp()::text")[0]
}

// TestAsOf: a session and a transaction read what was at a time: rows, columns, names and models of then, whatever has become of
// the files; on one node and on three, and after a start.
func TestAsOf(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n, fewInline)
			c, w := connect(t, nodes[n-1], spread), connect(t, nodes[0])
			const sums = "select count(*), sum(v), max(v) from t"
			states := map[string][]string{}
			note := func() {
				t.Helper()
				states[w.moment()] = w.must(sums)
			}
			w.must("create table t (id int primary key, v int)")
			note()
			w.must("insert into t select i, i from generate_series(1, 30000) i")
			note()
			w.must("insert into t values (0, 7)")
			note()
			w.must("update t set v = v + 1 where id % 3 = 0")
			note()
			w.must("delete from t where id < 20000")
			note()
			w.must("truncate t")
			note()
			w.must("insert into t select i, 5 from generate_series(1, 100) i")
			note()
			w.must("alter table t drop column v; alter table t add column v int default 9")
			note()
			last := w.moment()
			w.must("alter table t rename to u")
			w.must("drop table u; create table t (x text)")
			check := func() {
				t.Helper()
				for at, want := range states {
					if got := c.must("set tributary.as_of = '" + at + "'; " + sums); !slices.Equal(got, want) {
						t.Errorf("at %s: %q, not %q", at, got, want)
					}
				}
				c.must("reset tributary.as_of")
			}
			check()
			if got := c.must("select count(*) from t"); got[0] != "0" {
				t.Error("now:", got)
			}
			// Files that only the past needs stay while the sweep takes others.
			files := func() (n int) {
				for _, nd := range nodes {
					k, _ := nd.store.Usage()
					n += k
				}
				return n
			}
			had := files()
			w.must("create temp table z as select i, md5(i::text) from generate_series(1, 20000) i; drop table z")
			until(t, "the sweep", func() bool { return files() <= had })
			check()
			for sql, code := range map[string]pgerr.Code{
				"insert into t values (1)": pgerr.ReadOnlySQLTransaction, "create table x (a int)": pgerr.ReadOnlySQLTransaction,
				"train model m using linear_regression predict v as select id, v from t": pgerr.ReadOnlySQLTransaction,
				"select * from u": pgerr.UndefinedTable, "select x from t": pgerr.UndefinedColumn,
			} {
				if _, err := c.do("begin; set local tributary.as_of = '" + last + "'; " + sql); pgerr.CodeOf(err) != code {
					t.Error(sql, err)
				}
				c.must("rollback")
			}
			if got := c.must("begin; set local tributary.as_of = '-1 microsecond'; select 1; commit; select count(*) from t"); got[0] != "0" {
				t.Error("after the transaction", got)
			}
			for value, code := range map[string]pgerr.Code{"'10 minutes'": pgerr.InvalidParameterValue, "'-10 days'": pgerr.SnapshotTooOld, "'x'": pgerr.InvalidParameterValue} {
				if _, err := c.do("begin; set local tributary.as_of = " + value + "; select count(*) from t"); pgerr.CodeOf(err) != code {
					t.Error(value, err)
				}
				c.must("rollback")
			}
			if n > 1 {
				return
			}
			// A start goes on with the history.
			if err := nodes[0].Close(); err != nil {
				t.Fatal(err)
			}
			o := nodes[0].o
			nd, err := Start(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = nd.Close() })
			c = connect(t, nd)
			check()
		})
	}
}

// TestPastOfOthers: a node that joined late reads what was before, from those who have it; a time that nobody knows is refused.
func TestPastOfOthers(t *testing.T) {
	nodes := start(t, 1, fewInline)
	w := connect(t, nodes[0])
	w.must("create table t as select i, i % 7 as k from generate_series(1, 20000) i")
	first := w.moment()
	w.must("update t set k = 100 where i <= 10; create table gone as select 5 as v")
	second := w.moment()
	w.must("drop table t; drop table gone")
	with := nodes[0].o
	with.Data, with.Name, with.Join, with.Secret, with.ListenCluster = t.TempDir(), "late", []string{nodes[0].ClusterAddr()}, nodes[0].secret(t), "127.0.0.1:0"
	late, err := Start(t.Context(), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = late.Close() })
	c := connect(t, late, spread)
	for at, want := range map[string]string{first: "20000|59998", second: "20000|60971"} {
		if got := c.must("set tributary.as_of = '" + at + "'; select count(*), sum(k) from t"); got[0] != want {
			t.Error(at, got)
		}
	}
	c.must("reset tributary.as_of; undrop table t; undrop table gone")
	if got := c.must("select (select count(*) from t where k = 100), v from gone"); got[0] != "10|5" {
		t.Error(got)
	}
	if _, err := c.do("set tributary.as_of = '-10 days'; select count(*) from t"); pgerr.CodeOf(err) != pgerr.SnapshotTooOld {
		t.Error(err)
	}
}

// TestPastPrivileges: the past shows to each role what the present would: a privilege that was revoked since is gone for the past
// too, one that was granted since holds, and what was dropped belongs to its owner.
func TestPastPrivileges(t *testing.T) {
	nd := start(t, 1)[0]
	c := connect(t, nd)
	c.must("create role a login; create role b login; create table t (x int, y int); create table d (x int); alter table d owner to a; grant select on t, d to b; insert into t values (1, 2); insert into d values (3)")
	at := c.moment()
	c.must("revoke select on t from b; grant select (x) on t to a; drop table d")
	as := func(role, sql string) error {
		s, err := nd.Engine().Connect(context.Background(), startup(role, [2]string{"options", "-c tributary.as_of=" + strings.ReplaceAll(at, " ", "\\ ")}))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = (&client{t, s}).do(sql)
		return err
	}
	for _, x := range []struct {
		role, sql string
		code      pgerr.Code
	}{
		{"b", "select x from t", pgerr.InsufficientPrivilege}, {"b", "select x from d", pgerr.InsufficientPrivilege}, {"a", "select x from t", ""},
		{"a", "select y from t", pgerr.InsufficientPrivilege}, {"a", "select x from d", ""}, {"tributary", "select * from t, d", ""},
	} {
		if err := as(x.role, x.sql); x.code == "" && err != nil || x.code != "" && pgerr.CodeOf(err) != x.code {
			t.Error(x.role, x.sql, err)
		}
	}
}

// TestPastGoes: files of the past are there as long as it is kept, by the cluster or by their table, and no longer.
func TestPastGoes(t *testing.T) {
	nd := start(t, 1, fewInline)[0]
	c := connect(t, nd)
	fill := func(name, with string) {
		c.must(fmt.Sprintf("create table %s (id int, v text) %s; insert into %[1]s select i, md5(i::text) from generate_series(1, 20000) i", name, with))
	}
	files := func() int {
		n, _ := nd.store.Usage()
		return n
	}
	fill("a", "")
	fill("b", "with (retention = '0')")
	fill("d", "")
	both := files()
	at := c.moment()
	c.must("drop table a; drop table b")
	until(t, "files to go", func() bool { return files() < both })
	if got := c.must("select relation, kind, dropped_at is null, retention, files > 0, bytes > 0 from cluster.history order by 1"); !slices.Equal(got, []string{"a|table|f|01:00:00|t|t"}) {
		t.Error(got)
	}
	if got := c.must("set tributary.as_of = '" + at + "'; select count(*) from a; "); got[0] != "20000" {
		t.Error(got)
	}
	if _, err := c.do("select count(*) from b"); pgerr.CodeOf(err) != pgerr.SnapshotTooOld {
		t.Error(err)
	}
	c.must("reset tributary.as_of; alter system set tributary.retention = '0'")
	until(t, "files to go", func() bool { return files() == both/3 })
	if _, err := c.do("set tributary.as_of = '" + at + "'; select count(*) from a"); pgerr.CodeOf(err) != pgerr.SnapshotTooOld {
		t.Error(err)
	}
	c.must("reset tributary.as_of")
	if _, err := c.do("alter system set tributary.retention = 'soon'"); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Error(err)
	}
	if _, err := c.do("create table x (a int) with (retention = '-1h')"); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Error(err)
	}
	// An idle cluster removes what is due.
	c.must("alter system set tributary.retention = '1s'")
	c.must("drop table d")
	until(t, "files to go", func() bool { return files() == 0 })
	// Where there is no room, what is kept goes before its time.
	c.must("alter system set tributary.retention = '1h'")
	fill("e", "")
	c.must("drop table e")
	if len(nd.Catalog().Graves()) == 0 {
		t.Fatal("nothing is kept")
	}
	if _, err := nd.raft.Propose(context.Background(), []catalog.Change{&catalog.ForgetPast{Micros: time.Now().UnixMicro()}}); err != nil {
		t.Fatal(err)
	}
	until(t, "files to go", func() bool { return files() == 0 })
}

// TestForSystemTime: tables of now and of then in one statement, wherever a query may stand, on one node and on three.
func TestForSystemTime(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n, fewInline)
			c := connect(t, nodes[n-1], spread)
			c.must("create schema s; create type mood as enum ('sad', 'happy'); create table s.t (id int primary key, v int, m mood default 'sad'); create role r login; grant usage on schema s to r; grant select on s.t to r")
			c.must("insert into s.t select i, i from generate_series(1, 20000) i")
			first := c.moment()
			c.must("update s.t set v = -v, m = 'happy' where id % 1000 = 0; delete from s.t where id = 1; insert into s.t values (20001, 0)")
			second := c.moment()
			c.must("alter table s.t rename column v to w; alter table s.t drop constraint t_pkey; insert into s.t values (5, 5)")
			c.must("set search_path = s, public")
			at := func(sql string) string {
				return strings.NewReplacer("FIRST", "for system_time as of '"+first+"'", "SECOND", "for system_time as of timestamptz '"+second+"'").Replace(sql)
			}
			for sql, want := range map[string]string{
				"select count(*), sum(v), count(*) filter (where m = 'sad') from t FIRST":                                                       "20000|200010000|20000",
				"select count(*), min(v) from s.t x SECOND where m = 'happy'":                                                                   "20|-20000",
				"select count(*) from t n full join t FIRST as o using (id, m) where n.w is distinct from o.v":                                  "42",
				"select count(*) from t SECOND a join t FIRST b on a.id = b.id and a.v <> b.v":                                                  "20",
				"select string_agg(v::text, ',' order by v) from (select v from t SECOND except select v from t FIRST) q where v > -3000":       "-2000,-1000,0",
				"with old as (select * from t FIRST where id < 10) select count(*) from old where not exists (select from t where id = old.id)": "1",
				"select v from t FIRST where id = 1":                                                                                            "1",
				"select count(*) from t FIRST where id in (1, 20001)":                                                                           "1",
				"select count(*) from t for system_time as of '-1 microsecond'::interval":                                                       "20001",
			} {
				if got, err := c.do(at(sql)); err != nil || len(got) != 1 || got[0] != want {
					t.Errorf("%s: %q %v, not %s", sql, got, err, want)
				}
			}
			c.must(at("create table was as select * from t FIRST"))
			c.must(at("insert into was select id + 100000, v, m from t SECOND where id > 20000"))
			if got := c.must("select count(*), max(id) from was"); got[0] != "20001|120001" {
				t.Error(got)
			}
			c.must("begin")
			c.must("delete from t")
			c.must(at("insert into t (id, w) select id, v from t SECOND"))
			if got := c.must("select count(*), sum(w) from t; "); got[0] != c.must(at("select count(*), sum(v) from t SECOND"))[0] {
				t.Error("brought back:", got)
			}
			c.must("rollback")
			if got := c.must(at("explain select * from t FIRST where id = 3")); !strings.Contains(strings.Join(got, " "), "t") {
				t.Error(got)
			}
			c.must(at("prepare p (timestamptz) as select count(*) from t for system_time as of $1"))
			if got := c.must("execute p ('" + first + "')"); got[0] != "20000" {
				t.Error("by a parameter:", got)
			}
			if got := c.must("execute p (now())"); got[0] != "20001" {
				t.Error("by a parameter:", got)
			}
			for sql, code := range map[string]pgerr.Code{
				"select w from t FIRST": pgerr.UndefinedColumn, "select * from x FIRST": pgerr.UndefinedTable, "create view y as select * from t FIRST": pgerr.FeatureNotSupported,
				"select * from t for system_time as of v": pgerr.UndefinedColumn, "select * from t for system_time as of '1 hour'::interval": pgerr.InvalidParameterValue,
				"select * from t for system_time as of null": pgerr.NullValueNotAllowed, "select * from t a, t for system_time as of a.m": pgerr.DatatypeMismatch,
				"select * from t for system_time as of '-1 week'::interval": pgerr.SnapshotTooOld, "select * from pg_class FIRST": pgerr.FeatureNotSupported,
				"select * from t FIRST for update": pgerr.FeatureNotSupported,
			} {
				if _, err := c.do(at(sql)); pgerr.CodeOf(err) != code {
					t.Errorf("%s: %v", sql, err)
				}
			}
			other, err := nodes[0].Engine().Connect(context.Background(), startup("r"))
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			o := &client{t, other}
			if got := o.must(at("select count(*) from s.t FIRST")); got[0] != "20000" {
				t.Error(got)
			}
			c.must("revoke select on s.t from r")
			if _, err := o.do(at("select count(*) from s.t FIRST")); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
				t.Error(err)
			}
			c.must("drop table s.t")
			if got := c.must(at("select count(*) from s.t FIRST")); got[0] != "20000" {
				t.Error("of a table that was dropped:", got)
			}
		})
	}
}

// TestUndrop: a table that was dropped comes back with all that it had, by itself, by DROP SCHEMA CASCADE, under another name, in a
// transaction, and from an earlier time; and only its owner brings it back.
func TestUndrop(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n, fewInline)
			c := connect(t, nodes[n-1])
			for _, s := range strings.SplitAfter(restorable, ";\n") {
				if strings.TrimSpace(s) != "" {
					c.must(s)
				}
			}
			c.must("analyze s.t")
			want, oid := c.must(fmt.Sprintf(described, "s.t")), c.must("select 's.t'::regclass::oid")
			full := c.moment()
			c.must("delete from s.t where id > 100; truncate small")
			less := c.must(fmt.Sprintf(described, "s.t"))
			c.must("drop table s.t")
			c.must("undrop table s.t")
			if got := c.must(fmt.Sprintf(described, "s.t")); !slices.Equal(got, less) {
				t.Errorf("it comes back as\n%s\nit was\n%s", got, less)
			}
			if got := c.must("select 's.t'::regclass::oid"); !slices.Equal(got, oid) {
				t.Error("another OID", got, oid)
			}
			c.must("insert into s.t (p, v) values (1, 1)") // the sequences go on, constraints hold
			if _, err := c.do("insert into s.t (id, v) values (1, 1)"); pgerr.CodeOf(err) != pgerr.UniqueViolation {
				t.Error(err)
			}
			c.must("begin; drop table s.t; commit; undrop table s.t as of '" + full + "'")
			if got := c.must(fmt.Sprintf(described, "s.t")); !slices.Equal(got, want) {
				t.Errorf("it comes back as\n%s\nit was\n%s", got, want)
			}
			c.must("drop schema s cascade")
			for sql, code := range map[string]pgerr.Code{"undrop table s.t": pgerr.InvalidSchemaName, "undrop table nothing": pgerr.UndefinedTable,
				"undrop table small as of '" + full + "'": pgerr.ObjectNotInPrerequisiteState, "undrop table s.t as of '-1 week'": pgerr.SnapshotTooOld} {
				if _, err := c.do(sql); pgerr.CodeOf(err) != code {
					t.Errorf("%s: %v", sql, err)
				}
			}
			c.must("create schema s; create table s.t (x int)")
			if _, err := c.do("undrop table s.t"); pgerr.CodeOf(err) != pgerr.DuplicateTable {
				t.Error(err)
			}
			c.must("begin; undrop table s.t rename to back; rollback; undrop table s.t rename to back; undrop table s.parent")
			if got := c.must(fmt.Sprintf(described, "s.back")); strings.Split(got[0], " | ")[0] != strings.Split(want[0], " | ")[0] {
				t.Errorf("%s\n%s", got, want)
			}
			// The newest of several comes back first.
			for i := range 3 {
				c.must(fmt.Sprintf("create table again as select %d as x; drop table again", i))
			}
			for i := range 3 {
				c.must("undrop table again rename to " + string(rune('x'+i)))
				if got := c.must("select x from " + string(rune('x'+i))); got[0] != fmt.Sprint(2-i) {
					t.Error(i, got)
				}
			}
			c.must("create role o login; create role p login; grant create on schema public to o, p; create table owned (a int); alter table owned owner to o; drop table owned")
			for _, role := range []string{"p", "o"} {
				s, err := nodes[0].Engine().Connect(context.Background(), startup(role))
				if err != nil {
					t.Fatal(err)
				}
				_, err = (&client{t, s}).do("undrop table public.owned")
				if role == "p" && pgerr.CodeOf(err) != pgerr.InsufficientPrivilege || role == "o" && err != nil {
					t.Error(role, err)
				}
				_ = s.Close()
			}
		})
	}
}

// TestTrainOnPast: a model of rows of the past is the one that those rows give, inside a transaction and outside, and the training
// keeps them although the past itself is kept no longer.
func TestTrainOnPast(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n, fewInline)
			c := connect(t, nodes[n-1], spread)
			c.must(flowers)
			c.must("train model first using logistic_regression predict kind as select kind, a, b from flowers")
			at := c.moment()
			c.must("delete from flowers where a > (select avg(a) from flowers); update flowers set b = -b")
			const again = "train model %s using logistic_regression predict kind as select kind, a, b from flowers for system_time as of '%s'"
			c.must(fmt.Sprintf(again, "second", at))
			c.must("begin")
			c.must(fmt.Sprintf(again, "third", at))
			c.must("commit")
			c.must("train model other using logistic_regression predict kind as select kind, a, b from flowers")
			got := c.must("select name, sha256 = (select sha256 from ml.models where name = 'first') from ml.models order by 1")
			if want := []string{"first|t", "other|f", "second|t", "third|t"}; !slices.Equal(got, want) {
				t.Error(got)
			}
			if got := c.must("select count(distinct snapshot #>> '{tables,0,digest}') from ml.models where name <> 'other'"); got[0] != "1" {
				t.Error("snapshots", got)
			}
			c.must("drop table flowers")
			c.must(fmt.Sprintf("explain "+again, "fourth", at))
			c.must(fmt.Sprintf(again, "fourth", at))
		})
	}
}
