package node

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestPreparedAgain: statements of few rows by key that are prepared once and executed with many parameters, by two
// sessions in turn, do what their texts with these values do by plans, also when a run before failed.
func TestPreparedAgain(t *testing.T) {
	statements := []struct{ types, sql string }{
		{"bigint, int", "INSERT INTO @ VALUES ($1, 'new', $2) ON CONFLICT (k) DO UPDATE SET n = @.n + excluded.n, v = @.v || '!' RETURNING *"},
		{"bigint, int", "INSERT INTO @ VALUES ($1, 'new', $2) ON CONFLICT (k) DO UPDATE SET n = 100 / (@.n - $2) WHERE @.n <> $2 + 1"},
		{"bigint, int", "INSERT INTO @ VALUES ($1, 'a', $2), ($1 + 1, 'b', $2), ($1 + $2 % 3, NULL, 1) ON CONFLICT (k) DO UPDATE SET n = excluded.n * 2, v = coalesce(excluded.v, upper(@.v)) RETURNING v"},
		{"bigint, int", "INSERT INTO @ (k, n) VALUES ($1, $2) ON CONFLICT DO NOTHING"},
		{"bigint, int", "UPDATE @ SET n = n + $2, v = CASE WHEN n > $2 THEN v ELSE 'less' END WHERE k = $1 RETURNING k, v, n"},
		{"bigint, int", "DELETE FROM @ WHERE k = $1 AND n > $2"},
		{"bigint, int", "MERGE INTO @ AS t USING (VALUES ($1, $2), ($1 + 3, $2 - 1)) AS s (k, n) ON t.k = s.k WHEN MATCHED AND t.n = s.n THEN DELETE" +
			" WHEN MATCHED THEN UPDATE SET n = s.n, v = t.v || '?' WHEN NOT MATCHED AND s.n > 3 THEN INSERT VALUES (s.k, 'merged', s.n)"},
		{"bigint, int", "SELECT n + $2, upper(v), k, v || $2 FROM @ WHERE k = $1"},
		{"bigint, int", "SELECT k, CASE WHEN n > $2 THEN v END, 1 / (n - $2) FROM @ WHERE k = $1 AND n < 2 * $2"},
		{"bigint, int", "SELECT * FROM (SELECT v AS a, n * 2 AS b FROM @ WHERE k = $1) AS s WHERE b > $2 ORDER BY a LIMIT 1"},
		{"bigint, int", "UPDATE @ AS t SET n = s.n, k = t.k + s.n % 2 FROM (VALUES ($1, $2)) AS s (k, n) WHERE t.k = s.k"},
	}
	for _, nodes := range oneAndThree() {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			all := start(t, nodes)
			sessions := []*client{connect(t, all[0]), connect(t, all[nodes-1])}
			long := connect(t, all[0], "auto_explain.log_min_duration = 0")
			for _, name := range []string{"short", "long"} {
				long.must("CREATE TABLE " + name + " (k bigint PRIMARY KEY, v text, n int CHECK (n < 50))")
				long.must("INSERT INTO " + name + " SELECT g, 'v' || g, g % 40 FROM generate_series(1, 3000) AS g(g)")
			}
			for _, c := range sessions {
				for i, s := range statements {
					c.must(fmt.Sprintf("PREPARE p%d (%s) AS %s", i, s.types, strings.ReplaceAll(s.sql, "@", "short")))
				}
			}
			r := rand.New(rand.NewPCG(7, uint64(nodes)))
			for run := range 400 {
				i, k, n := r.IntN(len(statements)), fmt.Sprint(r.IntN(60)), fmt.Sprint(r.IntN(40))
				got, err := sessions[run%2].do(fmt.Sprintf("EXECUTE p%d(%s, %s)", i, k, n))
				sql := strings.NewReplacer("@", "long", "$1", k+"::bigint", "$2", n+"::int").Replace(statements[i].sql)
				want, wrong := long.do(sql)
				if fmt.Sprint(err) != strings.ReplaceAll(fmt.Sprint(wrong), "long", "short") || fmt.Sprint(sorted(sql, got)) != fmt.Sprint(sorted(sql, want)) {
					t.Fatalf("run %d, %s: %v %v, not %v %v", run, sql, got, err, want, wrong)
				}
			}
			const rows = "SELECT * FROM %s ORDER BY k"
			if got, want := sessions[0].must(fmt.Sprintf(rows, "short")), long.must(fmt.Sprintf(rows, "long")); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, not %v", got, want)
			}
		})
	}
}

// TestPreparedTogether: sessions that run the same prepared statements at the same time, with values of their own, lose
// none of their changes.
func TestPreparedTogether(t *testing.T) {
	const sessions, runs, keys = 6, 40, 5
	n := start(t, 1)[0]
	c := connect(t, n)
	c.must("CREATE TABLE sums (k bigint PRIMARY KEY, v bigint, by text)")
	statements := []string{
		"PREPARE p0(bigint, bigint, text) AS INSERT INTO sums VALUES ($1 * 1, $2 + 0, 'session ' || $3) ON CONFLICT (k) DO UPDATE SET v = sums.v + excluded.v, by = $3",
		"PREPARE p1(bigint, bigint, text) AS MERGE INTO sums AS t USING (VALUES ($1, $2, $3)) AS s (k, v, by) ON t.k = s.k" +
			" WHEN MATCHED THEN UPDATE SET v = t.v + s.v, by = s.by WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, s.by)",
		"PREPARE p2(bigint, bigint, text) AS UPDATE sums SET v = v + $2, by = upper($3) WHERE k = $1 AND v >= $2 - $2",
	}
	for k := range keys {
		c.must(fmt.Sprintf("INSERT INTO sums VALUES (%d, 0, '')", k))
	}
	var all sync.WaitGroup
	failed := make([]error, sessions)
	want := make([]int64, sessions)
	for i := range sessions {
		c := connect(t, n)
		for _, s := range statements {
			c.must(s)
		}
		r := rand.New(rand.NewPCG(3, uint64(i)))
		all.Go(func() {
			for run := range runs {
				k, v := r.IntN(keys), 1+r.IntN(1000)
				want[i] += int64(v)
				for {
					_, err := c.do(fmt.Sprintf("EXECUTE p%d(%d, %d, 's%d')", (run+i)%len(statements), k, v, i))
					if err == nil {
						break
					}
					if !pgerr.Is(err, pgerr.SerializationFailure) {
						failed[i] = err
						return
					}
				}
			}
		})
	}
	all.Wait()
	sum := int64(0)
	for i := range sessions {
		if failed[i] != nil {
			t.Fatal(failed[i])
		}
		sum += want[i]
	}
	if got := c.must("SELECT sum(v), count(*) FROM sums"); got[0] != fmt.Sprintf("%d|%d", sum, keys) {
		t.Errorf("%v, not %d of %d keys", got, sum, keys)
	}
}
