package node

import "testing"

// TestManyGroups: groups, distinct values, joins, set operations and window functions over so many
// different strings that nodes exchange many batches.
func TestManyGroups(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[1], spread)
	c.must("create table big with (partitions = 4) as select i, md5(i::text) s from generate_series(1, 150000) i")
	for sql, want := range map[string]string{
		"select count(*), count(distinct s) from big":                                           "150000|150000",
		"select count(*), sum(n) from (select s, count(*) n from big group by s) x":             "150000|150000",
		"select count(*), max(a.i) from big a join big b on a.s = b.s":                          "150000|150000",
		"select count(*) from (select s from big except select s from big where i % 3 = 0) x":   "100000",
		"select count(*) from (select distinct s from big) x":                                   "150000",
		"select count(*), max(r) from (select row_number() over (partition by s) r from big) x": "150000|1",
	} {
		if got := c.must(sql); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, not %s", sql, got, want)
		}
	}
}
