package stage_test

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
)

// TestLateColumns: columns that depend on a key among the grouping keys are read only for the rows
// that a sort with a LIMIT returns, unless an operator below reads them. The rows are the same.
func TestLateColumns(t *testing.T) {
	w := plantest.Small(t)
	w.Resize("u", 1e6)
	for sql, late := range map[string]string{
		"SELECT s.k, s.w, sum(u.x) FROM u JOIN s ON u.a = s.k GROUP BY s.k, s.w ORDER BY 3 DESC, 1 LIMIT 2":                                               "s",
		"SELECT s.w || '!', sum(u.x) AS n FROM u JOIN s ON u.a = s.k GROUP BY s.k, s.w ORDER BY n, s.k LIMIT 2":                                           "s", // as what is made of it
		"SELECT s.w, u.a, sum(u.x) FROM u JOIN s ON u.a = s.k GROUP BY u.a, s.w ORDER BY 3, 2 LIMIT 2 OFFSET 1":                                           "s", // u.a equals the key s.k
		"SELECT s.w, r.w, s.k, max(u.y) FROM u JOIN s ON u.a = s.k JOIN s r ON s.v = r.k GROUP BY s.k, s.w, r.w ORDER BY 4, 3 LIMIT 3":                    "s s",
		"SELECT s.w, s.k, count(*) FROM u LEFT JOIN s ON u.a = s.k GROUP BY s.k, s.w ORDER BY 3, 2 LIMIT 2":                                               "", // not applied: the outer join's row of NULLs is not in s
		"SELECT s.w, s.k, sum(u.x) FROM s LEFT JOIN u ON u.a = s.k WHERE s.v > 1 GROUP BY s.k, s.w HAVING count(*) > 1 ORDER BY 3 NULLS FIRST, 2 LIMIT 2": "s",
		"SELECT s.w, s.k, sum(u.x) FROM u JOIN s ON u.a = s.k GROUP BY s.k, s.w HAVING s.w > 'a' OR count(*) > 1 ORDER BY 3, 2 LIMIT 2":                   "",
		"SELECT s.w, s.k, sum(u.x) FROM u JOIN s ON u.a = s.k GROUP BY s.k, s.w ORDER BY 3, 1, 2 LIMIT 2":                                                 "",
		"SELECT s.w, s.v, sum(u.x) FROM u JOIN s ON u.a = s.k GROUP BY s.v, s.w ORDER BY 3, 2, 1 LIMIT 2":                                                 "",
		"SELECT s.k, s.w, sum(u.x) FROM u JOIN s ON u.a = s.k GROUP BY s.k, s.w ORDER BY 3 DESC, 1":                                                       "",
		"SELECT s.k, s.w, sum(u.x) FROM u JOIN s ON u.a = s.k GROUP BY GROUPING SETS ((s.k, s.w), (s.k)) ORDER BY 3 DESC, 1, 2 LIMIT 2":                   "",
		"SELECT u.a, u.y, s.w, sum(s.v) FROM u JOIN s ON u.a = s.k GROUP BY u.a, u.y, s.w ORDER BY 4, 1, 2 LIMIT 3":                                       "s",
	} {
		for seed := range int64(20) {
			equivalent(t, w, randomTables(w, rand.New(rand.NewSource(seed))), sql, 2*seed+1)
		}
		o, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatal(err)
		}
		_, text, err := runStaged(w, randomTables(w, rand.New(rand.NewSource(1))), o, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		var scans []string
		for _, line := range strings.Split(text[:strings.Index(text, "Aggregate")], "\n") {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "Scan" {
				scans = append(scans, f[1])
			}
		}
		if got := strings.Join(scans, " "); got != late {
			t.Errorf("%s\nreads %q late, not %q\n%s", sql, got, late, text)
		}
	}
}
