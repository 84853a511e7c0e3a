package node

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExplainAnalyzeWrites: EXPLAIN ANALYZE of DML executes the statement and shows the counters of
// its plan, not those of the plans that check constraints afterwards.
func TestExplainAnalyzeWrites(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	c.must("create table t as select i, i % 3 as v from generate_series(1, 900) i; create table k (i int primary key, v int)")
	times := regexp.MustCompile(`\(actual time=\S+ (rows=\d+) loops=\d+ batches=\d+\)|Execution Time: .*|Memory: .*`)
	shown := func(sql string) (out []string) {
		for _, l := range c.must("explain (analyze, costs off) " + sql) {
			if l = times.ReplaceAllString(l, "$1"); strings.TrimSpace(l) != "" {
				out = append(out, l)
			}
		}
		return out
	}
	for _, s := range []struct {
		sql  string
		want []string
	}{
		{"insert into k select i, v from t where v = 1", []string{"Insert on k rows=300", "  ->  Seq Scan on t rows=300", "        Filter: (v = 1)"}},
		{"update k set v = 5 where i < 100", []string{"Update on k rows=33", "  ->  Project rows=33", "        ->  Seq Scan on k rows=33", "              Filter: (i < 100)"}},
		{"with d as (delete from k where i < 10 returning i) select count(*) from d",
			[]string{"Aggregate rows=1", "  ->  CTE Scan on d rows=3", "  CTE d", "  ->  Delete on k rows=3", "        ->  Seq Scan on k rows=3", "              Filter: (i < 10)"}},
	} {
		if got := shown(s.sql); !slices.Equal(got, s.want) {
			t.Errorf("%s\n%q, not\n%q", s.sql, got, s.want)
		}
	}
	if got := c.must("select count(*), sum(v) from k"); !slices.Equal(got, []string{"297|417"}) {
		t.Error(got)
	}
}
