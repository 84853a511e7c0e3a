package node

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// tables returns a script that makes random tables: t has several segments of several hundred rows,
// u is smaller, e is empty.
func tables(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	val := func(n int) string {
		if r.IntN(12) == 0 {
			return "null"
		}
		return fmt.Sprint(r.IntN(n))
	}
	var b strings.Builder
	b.WriteString("create table t(id int, a int, b text, c numeric, d float8); create table u(id int primary key, a int, k text); create table e(a int, b text);")
	id := 0
	for range 5 {
		b.WriteString("insert into t values ")
		for i := range 200 + r.IntN(200) {
			if i > 0 {
				b.WriteByte(',')
			}
			id++
			fmt.Fprintf(&b, "(%d,%s,'x%d',%s * 0.25,%s)", id, val(60), r.IntN(9), val(1000), val(4))
		}
		b.WriteByte(';')
	}
	b.WriteString("insert into u values ")
	for i := range 150 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "(%d,%s,'x%d')", i, val(80), r.IntN(12))
	}
	// w and p have too many rows to be broadcast, so that rows are exchanged by the hash of a join's key.
	b.WriteString("; create table w as select g as id, g % 977 as a, 'x' || g % 13 as k from generate_series(1, 9000) g;")
	b.WriteString("create table p as select g as id, ('x' || g % 13)::char(6) as c, ('x' || g % 13 || repeat(' ', g % 4))::bpchar as b from generate_series(1, 9000) g;")
	b.WriteString("create view v as select b, count(*) as n, sum(a) as s from t group by b")
	return b.String()
}

var statements = []string{
	// joins
	"select t.id, u.k from t join u on t.a = u.a",
	"select count(*), sum(t.a), min(w.k) from t join w on t.a = w.a",
	"select t.id, u.id from t left join u on t.a = u.a and u.id < 50",
	"select t.id, u.id from t right join u on t.a = u.a and t.id < 300",
	"select t.id, u.id, w.id from t full join u on t.a = u.a full join w on w.a = t.id",
	"select count(*) from t full join w on t.a = w.a where t.id is null or w.id is null",
	"select count(*) from t cross join u",
	"select t.id, u.id from t join u on t.a < u.a and t.id % 40 = 3",
	"select t.id from t natural join u",
	"select t.id, l.m from t, lateral (select max(u.id) as m from u where u.a = t.a) l",
	"select t.id, l.id from t left join lateral (select u.id from u where u.a = t.a order by u.id limit 2) l on true",
	"select x.b, count(*) from t x join t y using (b) where x.id < 200 and y.id < 100 group by 1",
	// groups
	"select b, count(*), sum(a), avg(c), min(d), max(id) from t group by b",
	"select a, b, count(*) from t group by a, b having count(*) > 2",
	"select count(*), count(a), sum(c) from t",
	"select count(*), sum(a) from e",
	"select b, count(distinct a), sum(distinct d) from t group by b",
	"select string_agg(b, ',' order by id) from t where id < 50",
	"select b, array_agg(id order by id desc) from t where a < 5 group by b",
	"select a, b, count(*), grouping(a, b) from t group by rollup (a, b)",
	"select b, d, sum(a) from t group by grouping sets ((b), (d), ())",
	"select percentile_disc(0.5) within group (order by a) from t",
	"select id, count(*) from w group by id having count(*) > 1",
	"select k, count(*) filter (where a > 500), bool_or(a = 3) from w group by k",
	// char(n): trailing blanks are not significant in keys
	"select c, count(*), max(octet_length(c)) from p group by c",
	"select count(*), max(n) from (select count(*) as n from p group by b) x",
	"select count(*), count(distinct b), count(distinct c), max(octet_length(b)) from p where c in ('x1', 'x2 ') or c like 'x3    ' or b = 'x4'",
	"select count(*) from p x join (select distinct b from p) y on x.c = y.b",
	"select count(*) from p join (select distinct k from w) y on p.b = y.k",
	"select x.id, y.id from p x join p y on x.c = y.b where x.id < 40 and y.id < 40",
	"select c from p where id < 30 union select c from p",
	"select count(*) from (select b from p except select c from p where c <> 'x5') x",
	"select count(*) from (select row_number() over (partition by b order by id) as n from p) x where n = 1",
	"select id, b, c from p where b > 'x3' order by b, id limit 20",
	// distinct and sets
	"select distinct b, d from t",
	"select distinct on (b) b, id from t order by b, id",
	"select a from t union select a from u",
	"select a, b from t union all select a, k from u",
	"select a from t intersect select a from u",
	"select a from t except select a from u",
	"select a from t except all select a from u",
	"select a from t intersect all select a from u",
	"select 1 as a union all select a from t union select null",
	// windows
	"select id, row_number() over (partition by b order by id) from t",
	"select id, sum(a) over (order by id rows between 3 preceding and current row) from t",
	"select id, rank() over (partition by b, d order by a), lag(id) over (partition by b order by id) from t",
	// order and limit
	"select id, b from t order by 1 limit 10",
	"select id, b from t order by 1 desc limit 7 offset 20",
	"select a, id from t order by 1 nulls first, 2",
	"select a, b from t order by 1, 2 fetch first 5 rows with ties",
	"select count(*) from (select id from t limit 17) x",
	// subqueries
	"select id from t where a in (select a from u where id < 40)",
	"select id from t where a not in (select a from u where a is not null)",
	"select id from t where a not in (select a from u)",
	"select id from t where exists (select 1 from u where u.a = t.a and u.id > 100)",
	"select id from t where not exists (select 1 from u where u.a = t.a)",
	"select id, (select count(*) from u where u.a = t.a) from t",
	"select id from t where c > (select avg(c) from t)",
	"select id from t where a = any (select a from w where id < 30)",
	"select id, a in (select a from u) from t",
	"select (select max(id) from t), (select min(a) from e)",
	// with
	"with x as (select a, count(*) as n from t group by a) select x.a, x.n, y.n from x join x y on x.a = y.a + 1",
	"with x as materialized (select * from t where id < 100) select count(*) from x join x y using (a)",
	"with recursive r as (select 1 as n union all select n + 1 from r where n < 50) select t.id from r join t on t.id = r.n",
	"with recursive r(id, a) as (select id, a from t where id = 1 union select t.id, t.a from t join r on t.id = r.id + 1 where t.id < 30) select * from r",
	"select n, s from v",
	// generators, values, functions
	"select count(*), round(sum(x0)::numeric, 6) from make_classification(n_samples => 3000, n_features => 5, n_informative => 3, random_state => 7)",
	"select count(*) from make_blobs(n_samples => 2500, random_state => 3) g join t on t.id = g.y + 1",
	"select g, t.b from generate_series(1, 20) g left join t on t.id = g * 3",
	"select v.x, count(t.id) from (values (1), (2), (3), (null)) v(x) left join t on t.d = v.x group by v.x",
	"select unnest(array[a, id]) from t where id < 40",
	"select t.b::regclass::text from (select 't' as b from t limit 1) t",
	"select count(*) from t where random() >= 0",
	"select oid::regclass::text, count(*) from (select 'u'::regclass::oid as oid from t) x group by 1",
	"select distinct current_setting('work_mem') from t",
	"select (t).b, count(*) from t group by 1",
	"select id, row(a, b) from t where id < 20",
}

// TestSameAsOneNode: statements over random tables have the same results on one node as on three,
// where the first or the last is the gateway.
func TestSameAsOneNode(t *testing.T) {
	for seed := range uint64(2) {
		one, three := connect(t, start(t, 1)[0]), start(t, 3)
		first := connect(t, three[0], spread)
		script := tables(seed)
		one.must(script)
		first.must(script)
		last := connect(t, three[2], spread, "batch_size = 100")
		for _, sql := range statements {
			want, err := one.do(sql)
			if err != nil {
				t.Errorf("one node: %s: %v", sql, err)
				continue
			}
			for i, c := range []*client{first, last} {
				got, err := c.do(sql)
				if err != nil {
					t.Errorf("three nodes, session %d: %s: %v", i, sql, err)
				} else if !slices.Equal(sorted(sql, got), sorted(sql, want)) {
					t.Errorf("%s: session %d gives %d rows, not %d:\n%.300q\n%.300q", sql, i, len(got), len(want), sorted(sql, got), sorted(sql, want))
				}
			}
		}
	}
}

// TestWrites: what statements on three nodes write, read through another node, is what they write on
// one node.
func TestWrites(t *testing.T) {
	one, three := connect(t, start(t, 1)[0]), start(t, 3)
	c, other := connect(t, three[1], spread), connect(t, three[0], spread)
	script := tables(9)
	one.must(script)
	c.must(script)
	for _, sql := range []string{
		"create table x as select a, count(*) as n from t group by a",
		"insert into x select a, id from t where id % 3 = 0",
		"update x set n = n + u.id from u where u.a = x.a and u.id = (select max(id) from u u2 where u2.a = x.a)",
		"delete from x where a in (select a from u where id % 5 = 0)",
		"insert into u select id + 1000, a, b from t where id < 100 on conflict (id) do update set a = excluded.a",
		"insert into u select id + 1050, a + 1, b from t where id < 100 on conflict (id) do update set a = excluded.a",
		"merge into x using (select a, max(id) as m from t group by a) s on s.a = x.a when matched and s.m % 2 = 0 then update set n = s.m when matched then delete when not matched then insert values (s.a, -s.m)",
		"create type mood as enum ('sad', 'ok', 'happy'); create table m as select id, (array['sad', 'ok', 'happy'])[1 + id % 3]::mood as f from t",
		"with d as (delete from x where n < 5 returning a) insert into x select a, -1 from d",
	} {
		for _, cl := range []*client{one, c} {
			cl.must(sql)
		}
		for _, q := range []string{"select a, n from x", "select id, a, k from u"} {
			want, got := sorted(q, one.must(q)), sorted(q, other.must(q))
			if !slices.Equal(got, want) {
				t.Fatalf("after %s: %s gives %d rows, not %d:\n%.300q\n%.300q", sql, q, len(got), len(want), got, want)
			}
		}
	}
	q := "select f, count(*), min(f), max(f) from m group by f"
	if want, got := sorted(q, one.must(q)), sorted(q, other.must(q)); !slices.Equal(got, want) {
		t.Errorf("%q is not %q", got, want)
	}
	// A transaction's plans on all nodes see the rows that it has written.
	got := c.must("begin; insert into e select a, b from t; create table fresh as select * from w; delete from w where id > 100; select (select count(*) from e), (select count(*) from fresh), (select count(*) from w)")
	want := one.must("select count(*) from t")[0] + "|9000|100"
	if !slices.Equal(got, []string{want}) {
		t.Errorf("%q is not %q", got, want)
	}
	c.must("rollback")
}
