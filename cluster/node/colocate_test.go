package node

import (
	"slices"
	"strings"
	"testing"
)

// TestColocate: if every node stores all rows, joins, groupings and window functions read them
// locally instead of exchanging them; results are the same as with tributary.colocate off.
func TestColocate(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[1], spread)
	c.must("create table orders as select g as id, g % 700 as customer, g % 90 as day from generate_series(1, 40000) g; " +
		"create table lines as select g / 4 as id, g % 9 as n, g % 101 as price from generate_series(4, 160000) g; " +
		"insert into lines values (null, 1, 5), (null, 2, 6), (-7, 1, 1); insert into orders values (null, 1, 1), (-7, null, 2); " +
		"create table facts as select g * 7919 % 100003 as k, g % 5 as j, g as v from generate_series(1, 270000) g; insert into facts values (null, 1, 1), (null, null, 2); " +
		"create table customers as select g as id, 'c' || g as name from generate_series(0, 699) g; delete from lines where n = 8")
	for _, x := range []struct {
		sql       string
		exchanges int // how many Repartitions and Broadcasts the plan has
		read      []string
	}{
		{"select count(*), sum(l.price), sum(o.day) from lines l join orders o on l.id = o.id", 0, nil},
		{"select count(*), sum(l.price), count(o.id) from lines l left join orders o on l.id = o.id", 0, nil},
		{"select count(*), sum(l.price), count(o.day) from lines l full join orders o on l.id = o.id", 0, nil},
		{"select count(*) from orders where id not in (select id from lines where id is not null)", 0, nil},
		{"select count(*) from orders o where not exists (select from lines l where l.id = o.id and l.n = 3)", 0, nil},
		{"select count(*), sum(price) from (select id, sum(price) price from lines group by id) x", 0, nil},
		{"select count(*), sum(s) from (select o.id, o.day, sum(price) s from lines l join orders o on l.id = o.id group by o.id, o.day) x", 0, nil},
		{"select c.name, count(*) from orders o join customers c on c.id = o.customer group by c.name", 0, nil},
		{"select count(*), sum(r) from (select row_number() over (partition by id order by n, price) r from lines) x", 0, nil},
		{"select count(*), max(x.k) from (select c.id, random() as k from customers c) x join orders o on o.customer = x.id where x.k > 2", 0, nil},
		{"select count(*), sum(a.price) from lines a join lines b on a.id = b.id join orders o on o.id = a.id", 0, nil},
		{"select count(*) from (select distinct id, n from lines) x", 0, nil},
		{"select count(*) from lines l join orders o on l.n = o.day", 1, nil},
		// The files are not divided by the key. Either each node reads one table whole, or it reads of
		// all rows those whose hash of the key is assigned to it.
		{"select count(*), sum(a.v), sum(b.v) from facts a join facts b on a.k = b.k and a.v < b.v", 0, []string{"all rows by each node"}},
		{"select count(*), sum(a.v), count(b.v) from facts a left join facts b on a.k = b.k and a.j < b.j", 0, []string{"hash of a.k", "hash of b.k"}},
		{"select count(*), sum(a.v), count(b.v) from facts a full join (select * from facts where j > 1) b on a.k = b.k and a.j = b.j", 1, []string{"hash of a.k, a.j", "Hash Key: facts.k, facts.j"}},
		{"select count(*), sum(r * v) from (select v, row_number() over (partition by k order by v) r from facts) x", 0, []string{"hash of k"}},
		{"select count(*), sum(s), sum(n) from (select k, j, sum(v) s, count(*) n from facts group by k, j) x", 0, []string{"hash of k, j"}},
		// Each node reads the whole probe side, and joins it with its part of the build side.
		{"select count(*), count(a.customer) from orders a where not exists (select from lines l where l.price = a.day and l.n = a.customer)", 0, []string{"all rows by each node"}},
		{"select count(*), sum(o.day), count(c.name) from (select * from customers where id < 600) c right join orders o on c.id = o.customer", 0, []string{"all rows by each node"}},
	} {
		c.must("set tributary.colocate = on")
		plan := strings.Join(c.must("explain (costs off) "+x.sql), "\n")
		if n := strings.Count(plan, "Repartition") + strings.Count(plan, "Broadcast"); n != x.exchanges || !strings.Contains(plan, "on 3 nodes") ||
			slices.ContainsFunc(x.read, func(how string) bool { return !strings.Contains(plan, how) }) {
			t.Errorf("%s\n%s", x.sql, plan)
		}
		got := c.must(x.sql)
		c.must("set tributary.colocate = off")
		plan = strings.Join(c.must("explain (costs off) "+x.sql), "\n")
		if strings.Contains(plan, "Read:") {
			t.Errorf("%s\n%s", x.sql, plan)
		}
		want := c.must(x.sql)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngives %q, not %q", x.sql, got, want)
		}
	}
}
