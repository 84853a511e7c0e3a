package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestEarlyConditions: an aggregation with FILTERs on columns of joined tables is partially computed
// below the join (eager aggregation), and has the same result as above it. On three nodes, partial
// states are exchanged.
func TestEarlyConditions(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := connect(t, start(t, n)[n-1], spread)
			c.must("create table days (day int, name text, week int)")
			c.must("insert into days select g, case g % 7 when 0 then 'sun' when 1 then 'mon' else 'other' end, g / 7 from generate_series(1, 400) g")
			c.must("create table sales (day int, store int, price numeric(7,2))")
			c.must("insert into sales select nullif(g % 411, 5), g % 3, nullif(g % 1000, 17) / 4.0 from generate_series(1, 120000) g")
			c.must("analyze")
			aggs := "week, store, sum(case when name = 'sun' then price end), avg(case when name = 'mon' then price else null end), count(*) filter (where name <> 'sun'), " +
				"max(price) filter (where week % 2 = store), sum(price), stddev(case when name = 'other' then price end)"
			from := "sales s join days d on s.day = d.day"
			query := "select " + aggs + " from " + from + " group by week, store order by 1, 2"
			if plan := strings.Join(c.must("explain "+query), "\n"); !strings.Contains(plan, "Partial") {
				t.Error(plan)
			}
			want := c.must("with j as materialized (select week, store, name, price from " + from + ") select " + aggs + " from j group by week, store order by 1, 2")
			if got := c.must(query); len(want) != 173 || !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d:\n%v\n%v", len(got), len(want), got, want)
			}
		})
	}
}
