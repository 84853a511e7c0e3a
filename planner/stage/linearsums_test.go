package stage_test

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/plan"
)

// foldedSums are aggregations, and how many sums and counts each needs once those that are linear in one expression are
// computed from one of each; 0 where nothing may be folded.
var foldedSums = map[string]int{
	"SELECT sum(b), sum(b + 1), sum(b + 2), sum(3 * b - 1), avg(b + 7), count(b + 9) FROM t":                 2,
	"SELECT sum(5 - b), avg(b * 2), sum((b + 1) * 4) FROM t":                                                 2,
	"SELECT c, sum(b + 1), sum(b + 2), count(*), max(b) FROM t GROUP BY c":                                   4,
	"SELECT c, sum(d + 1), sum(d), sum(d * 1.50 + 2.5), avg(d - 0.125), avg(d) FROM t GROUP BY c":            2,
	"SELECT c, sum(d + 1.000), sum(d), sum(0.5 * d), sum(d - 7) FROM t GROUP BY c HAVING sum(d + 1.000) > 2": 2,
	"SELECT sum(b % 3 + 1), sum(b % 3 + 2), avg(b % 3 * 2) FROM t":                                           0, // nobody knows that b % 3 has room
	"SELECT sum(b + 2147483640), sum(b + 2147483641), sum(b) FROM t":                                         0, // they may overflow
	"SELECT sum(b * 30000000), sum(b * 30000001) FROM t":                                                     0,
	"SELECT sum(b + 1), avg(b + 1), count(b + 1) FROM t":                                                     0, // one state as it is
	"SELECT a, sum(b + 1), sum(b + 2) FROM t GROUP BY a":                                                     0, // a row a group
	"SELECT sum(DISTINCT b + 1), sum(DISTINCT b + 2) FROM t":                                                 0,
	"SELECT sum(b + 1) FILTER (WHERE a > 2), sum(b + 2) FILTER (WHERE a > 3) FROM t":                         0,
	"SELECT sum(b - 1), sum(b - 2), sum(x - 1), sum(x - 2), sum(t.b + u.x) FROM t JOIN u ON t.a = u.a":       5,
	"SELECT u.y, sum(t.b - 1), sum(t.b - 2), avg(t.b - 1) FROM u LEFT JOIN t ON t.a = u.a GROUP BY u.y":      2,
	"SELECT s FROM (SELECT c, sum(b + 1) AS s, sum(b + 2) AS r FROM t GROUP BY c) x WHERE r > 4":             2,
	"SELECT c, d, sum(b + 1), sum(b + 2), GROUPING(c, d) FROM t GROUP BY GROUPING SETS ((c), (), (c, d))":    2,
	"SELECT sum(b), sum(b + 1) FROM t WHERE a < 0":                                                           2,
}

// TestLinearSums: sums that are linear in one expression are the same, digits after the point too, once they are computed
// from its sum and count, and are not folded where a row's arithmetic may fail.
func TestLinearSums(t *testing.T) {
	w := plantest.Small(t)
	for sql, sums := range foldedSums {
		for seed := range int64(12) {
			equivalent(t, w, randomTables(w, rand.New(rand.NewSource(seed))), sql, 2*seed)
		}
		w.Nodes = 1
		q, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatal(err)
		}
		text := plan.Format(q.Root)
		var got, inside int
		for _, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "Aggregate") {
				got += strings.Count(line, "sum(") + strings.Count(line, "count(") + strings.Count(line, "max(") + strings.Count(line, "avg(")
				inside += strings.Count(line, "+") + strings.Count(line, "*")
			}
		}
		if sums > 0 && got != sums || sums == 0 && inside == 0 {
			t.Errorf("%s: %d sums and counts, want %d\n%s", sql, got, sums, text)
		}
	}
}
