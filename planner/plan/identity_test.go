package plan_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/plan"
)

// TestIdentity: Identity is equal for plans with the same result, whatever their layout and
// estimates, and differs for the others here. A query whose result depends on more than tables, as
// on random(), has none.
func TestIdentity(t *testing.T) {
	w := plantest.Small(t)
	of := func(sql string) (plan.Identity, bool) {
		t.Helper()
		q, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return q.Identity(func(*plan.Source) bool { return false })
	}
	var all []plan.Identity
	for _, sql := range []string{
		"SELECT a, b FROM t",
		"SELECT a, b FROM t WHERE a > 1",
		"SELECT a, b FROM t WHERE a > 2",
		"SELECT a, b FROM t WHERE b > 1",
		"SELECT a, b FROM t WHERE a > 1 AND c = 'x'",
		"SELECT a, b FROM t WHERE a > 1 AND c = 'y'",
		"SELECT a, a + b AS b FROM t",
		"SELECT a, a - b AS b FROM t",
		"SELECT a, b::bigint AS b FROM t",
		"SELECT a, coalesce(b, 0) AS b FROM t",
		"SELECT a, coalesce(b, NULL) AS b FROM t",
		"SELECT a, b FROM t ORDER BY a LIMIT 10",
		"SELECT a, b FROM t ORDER BY a LIMIT 11",
		"SELECT a, b FROM t ORDER BY a DESC LIMIT 10",
		"SELECT u.a, u.x FROM u JOIN t ON u.a = t.a",
		"SELECT u.a, u.x FROM u LEFT JOIN t ON u.a = t.a",
		"SELECT b, count(*) FROM t GROUP BY b",
		"SELECT b, count(a) FROM t GROUP BY b",
		"SELECT b, count(DISTINCT c) FROM t GROUP BY b",
		"SELECT a, row_number() OVER (PARTITION BY b ORDER BY a) FROM t",
		"SELECT a, row_number() OVER (PARTITION BY c ORDER BY a) FROM t",
		"WITH s AS MATERIALIZED (SELECT a FROM t WHERE b = 1) SELECT * FROM s x, s y",
		"WITH s AS MATERIALIZED (SELECT a FROM t WHERE b = 2) SELECT * FROM s x, s y",
		"SELECT a FROM t UNION ALL SELECT a FROM u",
		"SELECT a FROM t UNION SELECT a FROM u",
	} {
		id, ok := of(sql)
		if !ok || len(id.Tables) == 0 || !slices.IsSorted(id.Tables) {
			t.Errorf("%s has no identity, or reads %v", sql, id.Tables)
		}
		for i, other := range all {
			if bytes.Equal(id.Plan, other.Plan) {
				t.Errorf("%s is query %d", sql, i)
			}
		}
		all = append(all, id)
		again, ok := of("\n\n" + sql + " -- again")
		if !ok || !bytes.Equal(id.Plan, again.Plan) || !slices.Equal(id.Tables, again.Tables) {
			t.Errorf("%s is another query the second time", sql)
		}
	}
	w.Resize("t", 5)
	if id, _ := of("SELECT q.a, q.b FROM public.t q"); !bytes.Equal(id.Plan, all[0].Plan) {
		t.Error("an estimate of the rows or an alias makes another query")
	}
	for _, sql := range []string{
		"SELECT a, random() AS r FROM t",
		"SELECT a FROM t WHERE random() < 0.5",
		"SELECT a, clock_timestamp() FROM t",
		"SELECT a, to_char(timestamptz '2020-01-01' + a * interval '1 day', 'Day') FROM t",
		"SELECT a, (timestamptz '2020-01-01' + a * interval '1 day')::text FROM t",
		"SELECT a FROM t FOR UPDATE",
	} {
		if _, ok := of(sql); ok {
			t.Errorf("%s has an identity", sql)
		}
	}
}

// TestChooses: queries that leave rows out by an order, and others.
func TestChooses(t *testing.T) {
	w := plantest.Small(t)
	for sql, want := range map[string]bool{
		"SELECT a, b FROM t":                                                      false,
		"SELECT a, b FROM t ORDER BY a":                                           false,
		"SELECT DISTINCT a FROM t":                                                false,
		"SELECT a, b FROM t LIMIT 10":                                             true,
		"SELECT a, b FROM t OFFSET 10":                                            true,
		"SELECT a, b FROM t ORDER BY a LIMIT 10":                                  true,
		"SELECT a, sum(b) FROM (SELECT * FROM t LIMIT 5) s GROUP BY 1":            true,
		"WITH s AS MATERIALIZED (SELECT a FROM t LIMIT 7) SELECT * FROM s x, s y": true,
	} {
		q, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if got := q.Chooses(); got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
}
