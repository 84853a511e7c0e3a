package node

import (
	"slices"
	"strings"
	"testing"
)

// TestRuntimeFilter: the scan of a join's probe side, on other nodes, gets a runtime filter of the build
// side's keys, as EXPLAIN shows; the results are those of one node.
func TestRuntimeFilter(t *testing.T) {
	c, one := connect(t, start(t, 3)[2], spread, apart), connect(t, start(t, 1)[0])
	for _, c := range []*client{c, one} {
		c.must("create table orders as select i as id, i % 7 as kind, case when i % 11 > 0 then i end as maybe from generate_series(1, 20000) i")
		c.must("create table lines as select (i * 7919) % 80000 as id, i % 5 as n, 'line ' || i % 100 as note from generate_series(1, 60000) i")
		c.must("analyze orders, lines")
	}
	for _, sql := range []string{
		"select kind, count(*), sum(id) from orders where kind < 3 and exists (select from lines where lines.id = orders.id and n > 0) group by kind order by 1",
		"select kind, count(*), sum(id) from orders where kind < 3 and not exists (select from lines where lines.id = orders.maybe and n > 0) group by kind order by 1",
		"select kind, count(*), count(note), min(note) from orders left join lines on lines.id = orders.maybe and n > 0 where kind < 3 group by kind order by 1",
	} {
		if plan := strings.Join(c.must("explain "+sql), "\n"); !strings.Contains(plan, "Runtime Filter of orders.") {
			t.Errorf("%s has no runtime filter:\n%s", sql, plan)
		}
		if got, want := c.must(sql), one.must(sql); len(want) != 3 || !slices.Equal(got, want) {
			t.Errorf("%s\n%q, on one node\n%q", sql, got, want)
		}
	}
}
