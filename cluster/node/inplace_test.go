package node

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRowsInPlace: statements that find their rows by a key do the same by a walk over their tree as by its plan, which runs
// where the operators are to be kept; whatever the key, and where the rows lie.
func TestRowsInPlace(t *testing.T) {
	for _, nodes := range oneAndThree() {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			all := start(t, nodes)
			short := connect(t, all[0])
			long := connect(t, all[nodes-1], "auto_explain.log_min_duration = 0")
			const columns = `(i int, b bigint, v varchar(9), d date, n numeric, a int[], x text DEFAULT 'none', PRIMARY KEY (%s))`
			for k, key := range []string{"b", "v", "i, v", "d"} {
				for _, name := range []string{"short", "long"} {
					short.must(fmt.Sprintf("CREATE TABLE %s%d ", name, k) + fmt.Sprintf(columns, key))
					short.must(fmt.Sprintf("INSERT INTO %s%d SELECT g, g, 'v' || g, date '2026-01-01' + g, g / 3.0, ARRAY[g, NULL], NULL FROM generate_series(1, 300) AS g(g)", name, k))
				}
				r := rand.New(rand.NewPCG(uint64(k), uint64(nodes)))
				by := strings.Split(key, ", ")
				for range 70 {
					g := 1 + r.IntN(330)
					vals := func(g int) string {
						return fmt.Sprintf("%d, %[1]d, 'v%[1]d', date '2026-01-01' + %[1]d, %[1]d / 7.0, ARRAY[%[1]d], 'new'", g)
					}
					var where, on []string
					for _, c := range by {
						val := map[string]string{"i": fmt.Sprint(g), "b": fmt.Sprint(g), "v": fmt.Sprintf("'v%d'", g), "d": fmt.Sprintf("date '2026-01-01' + %d", g)}[c]
						where, on = append(where, c+" = "+val), append(on, "t."+c+" = s."+c)
					}
					w, at := strings.Join(where, " AND "), strings.Join(by, ", ")
					const cols = "i, b, v, d, n, a, x"
					sql := []string{
						"UPDATE @ SET n = n * 2 + 1, a = a || i, x = x || 'u' WHERE " + w + " RETURNING *",
						"UPDATE @ AS t SET n = -n WHERE " + w + " AND n > 30 RETURNING i, n, xmin <> 0",
						"DELETE FROM @ WHERE " + w + " RETURNING v, a",
						"INSERT INTO @ VALUES (" + vals(g) + ") ON CONFLICT (" + at + ") DO UPDATE SET n = @.n + excluded.n, x = coalesce(@.x, 'null') || excluded.x RETURNING *",
						"INSERT INTO @ VALUES (" + vals(g) + "), (" + vals(g+40) + "), (" + vals(1) + ") ON CONFLICT (" + at + ") DO UPDATE SET x = 'several' RETURNING *",
						"INSERT INTO @ VALUES (" + vals(g) + "), (" + vals(g+7) + ") ON CONFLICT DO NOTHING RETURNING i",
						"MERGE INTO @ AS t USING (VALUES (" + vals(g) + "), (" + vals(g+11) + ")) AS s (" + cols + ") ON " + strings.Join(on, " AND ") +
							" WHEN MATCHED AND t.n > 60 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + s.n, x = s.x || t.i WHEN NOT MATCHED THEN INSERT VALUES (" + "s.i, s.b, s.v, s.d, s.n, s.a, s.x)",
						"UPDATE @ AS t SET x = s.x, n = s.n FROM (VALUES (" + vals(g) + "), (" + vals(g+3) + ")) AS s (" + cols + ") WHERE " + strings.Join(on, " AND ") + " RETURNING t.i, t.x",
						"UPDATE @ SET n = 1 / (i - i) WHERE " + w,
						"MERGE INTO @ AS t USING (VALUES (" + vals(g) + "), (" + vals(g+9) + ")) AS s (" + cols + ") ON " + strings.Join(on, " AND ") +
							" WHEN MATCHED THEN UPDATE SET i = t.i + 9, b = t.b + 9, v = 'v' || t.i + 9, d = t.d + 9 WHEN NOT MATCHED THEN INSERT VALUES (s.i - 9, s.b - 9, 'v' || s.i - 9, s.d - 9, s.n, s.a, s.x)",
						"UPDATE @ AS t SET i = s.i + 5, b = s.b + 5, v = 'v' || s.i + 5, d = s.d + 5 FROM (VALUES (" + vals(g) + "), (" + vals(g+5) + ")) AS s (" + cols + ") WHERE " + strings.Join(on, " AND "),
					}[r.IntN(11)]
					got, err := short.do(strings.ReplaceAll(sql, "@", fmt.Sprint("short", k)))
					want, wrong := long.do(strings.ReplaceAll(sql, "@", fmt.Sprint("long", k)))
					if fmt.Sprint(err) != strings.ReplaceAll(fmt.Sprint(wrong), "long", "short") || fmt.Sprint(sorted(sql, got)) != fmt.Sprint(sorted(sql, want)) {
						t.Fatalf("%s: %v %v, not %v %v", sql, got, err, want, wrong)
					}
				}
				const rows = "SELECT * FROM %s%d ORDER BY i, v"
				if got, want := short.must(fmt.Sprintf(rows, "short", k)), long.must(fmt.Sprintf(rows, "long", k)); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: %v, not %v", key, got, want)
				}
			}
		})
	}
}
