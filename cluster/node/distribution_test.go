package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestDistributionKey: on more nodes than a file has copies, tables distributed by the same key are
// joined and grouped on the nodes that store their rows, whichever node is the gateway. The results
// are those of tables without a key, also after a node is lost.
func TestDistributionKey(t *testing.T) {
	nodes := start(t, 5)
	c := connect(t, nodes[0], spread)
	c.must("create table lines (id bigint, n int, price bigint, what text) with (distribution_key = 'id'); " +
		"create table orders (id bigint, customer text, day int) partition by hash (id); " +
		"create table pairs with (distribution_key = 'n, \"Id\"', partitions = 24) as select g % 7 as n, g / 7 as \"Id\", g as v from generate_series(1, 70000) g; " +
		"insert into lines select g / 4, g % 9, g * 7919 % 101, 'text ' || g from generate_series(4, 160000) g; " +
		"insert into lines values (null, 1, 5, null), (null, 2, 6, 'x'), (-7, 1, 1, ''); " +
		"insert into orders select g, 'c' || g % 700, g % 90 from generate_series(1, 40000) g order by g * 7919 % 40009; insert into orders values (null, 'c1', 1), (-7, null, 2); " +
		"insert into orders values (-8, null, 2); update orders set id = id + 100000 where id between 300 and 5000; update lines set id = id + 100000 where id between 300 and 5000; delete from lines where n = 8")
	for _, name := range []string{"lines", "orders", "pairs"} {
		c.must("create table plain_" + name + " as select * from " + name)
	}
	queries := []struct {
		sql  string
		sent bool // rows are sent to other nodes than the gateway
	}{
		{"select count(*), sum(l.price), sum(o.day) from #lines l join #orders o on l.id = o.id", false},
		{"select count(*), sum(l.price), count(o.day) from #lines l full join #orders o on l.id = o.id", false},
		{"select count(*), sum(l.price), count(o.day) from #lines l left join (select * from #orders where day < 60) o on l.id = o.id and l.n < o.day", false},
		{"select count(*) from #orders o where not exists (select from #lines l where l.id = o.id and l.n = 3)", false},
		{"select count(*), sum(s), max(w) from (select id, sum(price) s, max(what) w from #lines group by id) x", false},
		{"select count(*), sum(s) from (select o.id, o.day, sum(price) s from #lines l join #orders o on l.id = o.id group by o.id, o.day) x", false},
		{"select count(*), sum(r) from (select row_number() over (partition by id order by n, price) r from #lines) x", false},
		{"select count(*), count(distinct id), sum(price) from #lines", false},
		{"select count(*), sum(a.v) from #pairs a join #pairs b on a.\"Id\" = b.\"Id\" and a.n = b.n", false},
		{"select count(*), sum(a.v) from #pairs a join #pairs b on a.\"Id\" = b.\"Id\" and a.v < b.v", true},
		{"select count(*), sum(l.price) from #lines l join #pairs p on l.id = p.v", true},
		{"select o.customer, sum(l.price) s from #lines l join #orders o on l.id = o.id group by o.customer order by s desc, 1 limit 5", true},
	}
	check := func(c *client, planned bool) {
		t.Helper()
		for _, q := range queries {
			sql := strings.ReplaceAll(q.sql, "#", "")
			if planned {
				plan := strings.Join(c.must("explain (costs off) "+sql), "\n")
				if n := strings.Count(plan, "Repartition") + strings.Count(plan, "Broadcast"); n > 0 != q.sent || !strings.Contains(plan, "on 5 nodes") {
					t.Errorf("%s\n%s", sql, plan)
				}
			}
			got, want := c.must(sql), c.must(strings.ReplaceAll(q.sql, "#", "plain_"))
			if !slices.Equal(got, want) {
				t.Errorf("%s\ngives %q, not %q", sql, got, want)
			}
		}
	}
	check(c, true)
	check(connect(t, nodes[3], spread), true)
	if got := c.must("select reloptions from pg_class where relname = 'pairs'"); !slices.Equal(got, []string{`{"distribution_key=n, \"Id\"",partitions=24}`}) {
		t.Errorf("%q", got)
	}

	// The rows are rewritten by REPARTITION, or by setting a key later.
	c.must("alter table lines repartition into 7; alter table plain_orders set (distribution_key = id); alter table orders rename column day to d; alter table orders rename column d to day")
	check(c, true)
	if got := c.must("select count(*) from plain_orders a join lines l using (id)"); !slices.Equal(got, c.must("select count(*) from orders a join plain_lines l using (id)")) {
		t.Errorf("%q", got)
	}

	// A node is lost: the others have copies of its files, or fetch them.
	if err := nodes[4].Close(); err != nil {
		t.Fatal(err)
	}
	check(connect(t, nodes[1], spread), false)
}

// TestDistributionKeySpills: a load into many partitions succeeds although its rows do not fit in
// memory: those that wait for their partition's segment are written early.
func TestDistributionKeySpills(t *testing.T) {
	nodes := start(t, 1, func(o *Options) { o.Memory = 64 << 20 })
	c := connect(t, nodes[0])
	c.must("create table t (k bigint, v text) with (distribution_key = 'k', partitions = 64)")
	c.must("insert into t select g, repeat('some text that takes room ' || g, 20) from generate_series(1, 100000) g")
	if p := nodes[0].pool; p.Limit() > 100000*540/2 || p.Peak() > p.Limit() {
		t.Errorf("rows of %d bytes were to be more than fits in the %d of the pool, which held %d", 100000*540, p.Limit(), p.Peak())
	}
	if got := c.must("select count(*), sum(k), min(length(v)) from t"); !slices.Equal(got, []string{fmt.Sprintf("100000|%d|540", 100000*100001/2)}) {
		t.Errorf("%q", got)
	}
}

// TestDistributionKeyErrors: invalid distribution keys, and changes of their columns that are
// refused.
func TestDistributionKeyErrors(t *testing.T) {
	nodes := start(t, 1)
	c := connect(t, nodes[0])
	c.must("create table t (k bigint, v json, w text) with (distribution_key = 'k')")
	for _, x := range []struct{ sql, code string }{
		{"create table a (k int) with (distribution_key = 'x')", "42703"},
		{"create table a (k int) with (distribution_key = 'k, k')", "42701"},
		{"create table a (k int) with (distribution_key = '')", "22023"},
		{"create table a (k int) with (distribution_key = 'k +')", "22023"},
		{"create table a (k json) with (distribution_key = 'k')", "22023"},
		{"create table a (k int) with (distribution_key = 'k', partitions = 257)", "22023"},
		{"create table a (k int) partition by range (k)", "0A000"},
		{"create table a (k int) partition by hash ((k + 1))", "0A000"},
		{"create table a partition of t for values with (modulus 2, remainder 0)", "0A000"},
		{"alter table t drop column k", "42P16"},
		{"alter table t alter column k type text", "42P16"},
		{"alter table t repartition into 300", "22023"},
	} {
		if _, err := c.do(x.sql); string(pgerr.CodeOf(err)) != x.code {
			t.Errorf("%s\n%v", x.sql, err)
		}
	}
	c.must("alter table t reset (distribution_key); alter table t drop column k; alter table t set (fillfactor = 70, distribution_key = w)")
	if got := c.must("select reloptions from pg_class where relname = 't'"); !slices.Equal(got, []string{"{distribution_key=w,fillfactor=70}"}) {
		t.Errorf("%q", got)
	}
}
