package stage_test

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/plan"
)

// TestWholeWindows: windows over whole partitions of a large table are joined to groupings of it, with the same results,
// NULL partitions too; others are not.
func TestWholeWindows(t *testing.T) {
	w := plantest.Small(t)
	w.Resize("u", 1e6)
	for sql, joins := range map[string]int{
		"SELECT a, b, sum(a) OVER (PARTITION BY b), avg(d) OVER (PARTITION BY b) FROM t":                                    1,
		"SELECT a, d - avg(d) OVER w, count(*) OVER w FROM t WINDOW w AS (PARTITION BY c)":                                  1,
		"SELECT a, max(b) OVER (PARTITION BY c), min(b) OVER (PARTITION BY b % 3), sum(b) OVER () FROM t WHERE a > 1":       3,
		"SELECT y, x, count(x) FILTER (WHERE x > 2) OVER (PARTITION BY y, x) FROM u":                                        1,
		"SELECT * FROM (SELECT a, b, max(a) OVER (PARTITION BY b) AS m FROM t) x WHERE a = m":                               1,
		"SELECT a, sum(b) OVER (PARTITION BY c ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t":            1,
		"SELECT a, sum(a) OVER (PARTITION BY d * 1.00, b::float8 / 7), b - avg(b) OVER (PARTITION BY d) FROM t WHERE b < 3": 2, // by numbers
		"SELECT b, count(*), sum(count(*)) OVER () FROM t GROUP BY b":                                                       0, // over groups
		"SELECT a, row_number() OVER (PARTITION BY b ORDER BY a), sum(a) OVER (PARTITION BY b) FROM t":                      0, // one sort serves both
		"SELECT a, sum(b) OVER (PARTITION BY a) FROM t":                                                                     0, // a row a partition
		"SELECT t.a, sum(u.x) OVER (PARTITION BY t.b) FROM t JOIN u ON t.a = u.a":                                           0, // over a join
		"SELECT k, sum(v) OVER (PARTITION BY v) FROM s":                                                                     0, // small
	} {
		w.Resize("t", 1e6)
		if strings.Contains(sql, "PARTITION BY a)") {
			w.Resize("t", 12000) // of as many different a
		}
		for seed := range int64(12) {
			equivalent(t, w, randomTables(w, rand.New(rand.NewSource(seed))), sql, 2*seed)
		}
		w.Nodes = 1
		q, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatal(err)
		}
		text := plan.Format(q.Root)
		if got := strings.Count(text, "Join") - strings.Count(sql, " JOIN "); got != joins || joins > 0 && strings.Contains(text, "Window") {
			t.Errorf("%s: %d joins, want %d\n%s", sql, got, joins, text)
		}
	}
}
