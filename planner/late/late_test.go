package late_test

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/plan"
)

func optimized(t *testing.T, w *plantest.World, sql string) string {
	t.Helper()
	q, err := w.Optimize(t, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return plan.Format(q.Root)
}

// TestGroupKeys: keys that follow from others are not grouped by, unless equal values of these differ, or none would be left.
func TestGroupKeys(t *testing.T) {
	w := plantest.Small(t)
	for sql, want := range map[string]int{
		"SELECT x, x + 1, x - a, 7, count(*) FROM u GROUP BY x, 2, x - a, a, 4":             2,
		"SELECT 7, count(*) FROM u GROUP BY 1":                                              1,
		"SELECT x + 1, count(*) FROM u GROUP BY x + 1, a":                                   2,
		"SELECT d, d + 1, count(*) FROM t GROUP BY d, 2":                                    1, // d has one scale
		"SELECT d / 3, d / 3 + 1, count(*) FROM (SELECT d / 7 AS d FROM t) s GROUP BY d, 1": 2, // 1.0 and 1.00 are equal
		"SELECT x, random() < 2, count(*) FROM u GROUP BY x, 2":                             2,
		"SELECT x, x + 1, count(*) FROM u GROUP BY ROLLUP (x, x + 1)":                       2,
		"SELECT DISTINCT y, upper(y), length(y) FROM u":                                     1,
	} {
		text := optimized(t, w, sql)
		_, by, _ := strings.Cut(text, "Aggregate")
		by, _, _ = strings.Cut(by, "\n")
		_, by, _ = strings.Cut(by, " by ")
		if got := strings.Count(by, ", ") + 1; got != want {
			t.Errorf("%s: groups by %q, want %d\n%s", sql, by, want, text)
		}
	}
}

// TestItems: what only the result of a sort with a limit shows is computed after it.
func TestItems(t *testing.T) {
	w := plantest.Small(t)
	for sql, late := range map[string]bool{
		"SELECT x, x * 2 AS v, y FROM u ORDER BY x LIMIT 3":       true,
		"SELECT x * 2 AS v FROM u ORDER BY y, x LIMIT 3 OFFSET 1": true,
		"SELECT x, x * 2 AS v FROM u ORDER BY v LIMIT 3":          false,
		"SELECT x, x * 2 AS v FROM u ORDER BY x":                  false,
		"SELECT x, x * random() AS v FROM u ORDER BY x LIMIT 3":   false,
	} {
		text := optimized(t, w, sql)
		above, _, _ := strings.Cut(text, "Sort")
		if strings.Contains(above, "*") != late {
			t.Errorf("%s: computed after the sort %v, want %v\n%s", sql, !late, late, text)
		}
	}
}
