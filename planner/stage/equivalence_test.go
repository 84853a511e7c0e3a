package stage_test

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/opt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestEquivalence: a query as bound, as optimised, and as staged for several nodes returns the same
// rows, over small random tables with NULLs.
func TestEquivalence(t *testing.T) {
	text, err := os.ReadFile("testdata/equivalence.sql")
	if err != nil {
		t.Fatal(err)
	}
	w := plantest.Small(t)
	for seed := range int64(2) {
		tables := randomTables(w, rand.New(rand.NewSource(seed)))
		for _, sql := range strings.Split(string(text), ";\n") {
			if sql = strings.TrimSpace(sql); sql != "" {
				equivalent(t, w, tables, sql, seed)
			}
		}
	}
}

// TestEquivalenceRandom is TestEquivalence with random queries.
func TestEquivalenceRandom(t *testing.T) {
	w := plantest.Small(t)
	for seed := range int64(randomSeeds) {
		r := rand.New(rand.NewSource(seed))
		tables := randomTables(w, r)
		// Other sizes lead to other join orders, build sides and exchanges.
		for _, name := range []string{"t", "u", "s"} {
			w.Resize(name, float64(int(10)<<r.Intn(16)))
		}
		equivalent(t, w, tables, randomQuery(r), seed)
	}
}

// TestEarlyAggregation: an aggregation whose partial phase runs below joins has the same result,
// however many matches a row has.
func TestEarlyAggregation(t *testing.T) {
	w := plantest.Small(t)
	for _, sql := range []string{
		"SELECT u.x, count(*), sum(t.b) FROM t JOIN u ON t.a = u.a GROUP BY u.x",
		"SELECT u.x + s.v, min(t.b), max(t.a), avg(t.b) FROM t JOIN u ON t.a = u.a JOIN s ON t.b = s.k GROUP BY u.x + s.v",
		"SELECT count(*), sum(t.b) FROM t JOIN u ON t.a = u.a",
		"SELECT DISTINCT u.x, t.b FROM u JOIN t ON t.a = u.a",
		"SELECT count(*) FROM (SELECT DISTINCT u.x, t.b FROM t LEFT JOIN u ON t.a = u.a) x",
		"SELECT u.x, count(*) FROM u JOIN t ON t.a = u.a GROUP BY u.x",
		"SELECT u.x, s.v, sum(t.b) FROM t JOIN u ON t.a = u.a LEFT JOIN s ON t.b = s.k GROUP BY ROLLUP (u.x, s.v)",
		"SELECT t.b, sum(t.a) FILTER (WHERE t.a > 1), avg(t.a) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.x <> t.b) GROUP BY t.b",
		"SELECT x.c, sum(x.d) FROM (SELECT u.x + 1 AS c, t.a * 2 + t.b AS d FROM t JOIN u ON t.a = u.a AND t.b < u.x) x GROUP BY x.c",
		"SELECT u.x, sum(t.b) FROM t RIGHT JOIN u ON t.a = u.a GROUP BY u.x",
		"SELECT u.y, count(t.c), sum(t.b), avg(t.d), max(t.c) FROM u LEFT JOIN t ON t.a = u.a AND t.b < u.x GROUP BY u.y",
		"SELECT u.y, sum(t.b + s.v), count(s.w) FROM u LEFT JOIN (t JOIN s ON t.b = s.k) ON t.a = u.a GROUP BY u.y",
		"SELECT u.y, s.w, min(t.b), count(t.b) FILTER (WHERE t.d > 2) FROM u LEFT JOIN t ON t.a = u.a RIGHT JOIN s ON s.k = u.x GROUP BY u.y, s.w",
		"SELECT u.y, count(t.b), count(*) FROM u LEFT JOIN t ON t.a = u.a GROUP BY u.y",  // not applied: count(*) counts a row of u without a match, of which the phase below has nothing
		"SELECT u.y, sum(coalesce(t.b, 1)) FROM u LEFT JOIN t ON t.a = u.a GROUP BY u.y", // not applied: coalesce makes a value of the NULL of a row without a match
		"SELECT x.c, sum(x.d) FROM (SELECT u.x + 1 AS c, coalesce(t.b, 0) AS d FROM t JOIN u ON t.a = u.a AND t.b < u.x) x GROUP BY x.c",
		"SELECT u.x, sum((t.d + t.d) / 2) FROM t JOIN u ON t.a = u.a GROUP BY u.x",
		"SELECT u.x, sum(t.d / 0) FROM t JOIN u ON t.a = u.a GROUP BY u.x", // not applied: rows of t without a match, which the join drops, would raise the error
		"SELECT u.x, sum(CASE WHEN u.a > 1 THEN t.b END), sum(CASE WHEN u.a = 1 THEN t.b ELSE NULL END), sum(t.b), count(*) FILTER (WHERE u.x < 3), count(*) FROM t JOIN u ON t.a = u.a GROUP BY u.x",
		"SELECT s.v, max(x.d), count(x.d), avg(x.d) FILTER (WHERE x.b > s.v) FROM (SELECT t.b, CASE WHEN u.x > 1 AND t.a < 3 THEN t.d END AS d FROM t JOIN u ON t.a = u.a) x JOIN s ON x.b = s.k GROUP BY s.v",
		"SELECT sum(CASE WHEN u.x > 2 THEN t.b END) FROM t JOIN u ON t.a = u.a WHERE t.a > 1",
		"SELECT u.x, sum(t.b + u.a) FROM t JOIN u ON t.a = u.a GROUP BY u.x",                                               // not applied: the argument needs columns of both sides
		"SELECT u.x, sum(CASE WHEN t.a - t.b > 2 THEN 1 ELSE 0 END), max(t.b + 7) FROM t JOIN u ON t.a = u.a GROUP BY u.x", // applied: the columns' bounds prove that t.b + 7 stays within int4
		"SELECT u.x, sum(t.b + 2147483600) FROM t JOIN u ON t.a = u.a GROUP BY u.x",                                        // not applied: may overflow
	} {
		for seed := range int64(20) {
			equivalent(t, w, randomTables(w, rand.New(rand.NewSource(seed))), sql, 2*seed+1)
		}
		o, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatal(err)
		}
		_, text, err := runStaged(w, randomTables(w, rand.New(rand.NewSource(1))), o, 1, true)
		if early := strings.Contains(strings.ToLower(text), "partial"); err != nil && !refused(err) || early != !(strings.Contains(sql, "t.b + u.a") || strings.Contains(sql, "t.b + 21") || strings.Contains(sql, "count(*) FROM u LEFT") || strings.Contains(sql, "coalesce(t.b, 1)") || strings.Contains(sql, "t.a * 2") || strings.Contains(sql, "/ 0")) {
			t.Errorf("%s\nbegins early: %v, %v\n%s", sql, early, err, text)
		}
	}
}

// TestWholeBelow: an aggregation may be completed below joins if its grouping keys include a key of
// the joined table, and not otherwise: two rows of s may have the same w, and so belong to one
// group.
func TestWholeBelow(t *testing.T) {
	w := plantest.Small(t)
	for sql, whole := range map[string]bool{
		"SELECT s.k, s.w, count(*), sum(t.d), min(t.c) FROM t JOIN s ON t.b = s.k GROUP BY s.k, s.w":                                             true,
		"SELECT s.w, u.x, sum(u.x) FILTER (WHERE u.x > 2), s.k + 1 FROM u JOIN s ON u.a = s.k GROUP BY s.w, s.k, u.x":                            true,
		"SELECT s.k, r.w, sum(t.d) + 1 FROM t JOIN s ON t.b = s.k JOIN s r ON s.v = r.k GROUP BY s.k, r.w":                                       true,
		"SELECT s.w, count(*), sum(t.d) FROM t JOIN s ON t.b = s.k GROUP BY s.w":                                                                 false,
		"SELECT s.k, s.w, sum(CASE WHEN s.v > 2 THEN t.b END), sum(CASE WHEN s.v < 2 THEN t.b END) FROM t JOIN s ON t.b = s.k GROUP BY s.k, s.w": false,
		"SELECT s.k, s.w, count(t.a), sum(t.d), min(t.c) FROM s LEFT JOIN t ON t.b = s.k GROUP BY s.k, s.w":                                      true,
		"SELECT s.k, s.w, count(t.a) FROM s LEFT JOIN t ON t.b = s.k AND t.a < s.v GROUP BY s.k, s.w":                                            false, // grouped by t.b and t.a below the join, so several groups for one s.k
		"SELECT s.w, count(t.a) FROM s LEFT JOIN t ON t.b = s.k GROUP BY s.w":                                                                    false,
		"SELECT s.k, count(*), sum(t.d) FROM t LEFT JOIN s ON t.b = s.k GROUP BY s.k":                                                            false, // all t.b without a match are one group, of NULL
	} {
		for seed := range int64(20) {
			equivalent(t, w, randomTables(w, rand.New(rand.NewSource(seed))), sql, 2*seed+1)
		}
		o, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatal(err)
		}
		_, text, err := runStaged(w, randomTables(w, rand.New(rand.NewSource(1))), o, 1, true)
		if text = strings.ToLower(text); err != nil || whole == strings.Contains(text, "final") || whole != (strings.Index(text, "join") < strings.Index(text, "aggregate")) {
			t.Errorf("%s\nwhole below: not %v, %v\n%s", sql, whole, err, text)
		}
	}
}

// TestHavingBelow: a HAVING condition is pushed down with its aggregation, except where it could
// raise an error for a group that the join would drop.
func TestHavingBelow(t *testing.T) {
	w := plantest.Small(t)
	for sql, below := range map[string]bool{
		"SELECT s.k, s.w, count(*) FROM t JOIN s ON t.b = s.k GROUP BY s.k, s.w HAVING count(*) > 1":                                                              true,
		"SELECT x.k, x.n FROM (SELECT s.k, s.w, r.v, sum(t.b) AS n FROM t JOIN s ON t.b = s.k JOIN s r ON s.v = r.k GROUP BY s.k, s.w, r.k, r.v) x WHERE x.n < 9": true,
		"SELECT s.k, s.w, min(t.b) FROM t JOIN s ON t.b = s.k GROUP BY s.k, s.w HAVING 3 / min(t.b) < 2":                                                          false,
	} {
		for seed := range int64(20) {
			equivalent(t, w, randomTables(w, rand.New(rand.NewSource(seed))), sql, 2*seed+1)
		}
		o, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatal(err)
		}
		_, text, err := runStaged(w, randomTables(w, rand.New(rand.NewSource(1))), o, 1, true)
		text = strings.ToLower(text)
		if join, filter := strings.Index(text, "join"), strings.Index(text, "filter"); err != nil && !refused(err) || filter < 0 || below != (join < filter) {
			t.Errorf("%s\ncondition below: not %v, %v\n%s", sql, below, err, text)
		}
	}
}

// randomSeeds is the number of random queries.
const randomSeeds = 60

func equivalent(t *testing.T, w *plantest.World, tables map[types.OID][][]types.Datum, sql string, seed int64) {
	t.Helper()
	q, err := w.Bind(sql)
	if err != nil {
		t.Errorf("%s\n%v", sql, err)
		return
	}
	want, werr := (&plantest.Interp{Tables: tables}).Query(q)
	if werr != nil && !refused(werr) {
		t.Errorf("seed %d, reference: %v\n%s", seed, werr, sql)
		return
	}
	for _, nodes := range []int{1, 3} {
		w.Nodes = nodes
		o, err := w.Optimize(t, sql)
		if err != nil {
			t.Errorf("%s\n%v", sql, err)
			return
		}
		early := seed%2 == 1 // every other query is forced to aggregate partially below joins
		got, text, err := runStaged(w, tables, o, nodes, early)
		switch {
		case werr != nil && err != nil && pgerr.CodeOf(err) == pgerr.CodeOf(werr):
		case err != nil:
			t.Errorf("seed %d, %d nodes: %v\n%s\n%s", seed, nodes, err, sql, text)
		case werr == nil && !sameLines(want, got, strings.Contains(sql, "/* ordered */")):
			t.Errorf("seed %d, %d nodes:\n%s\nwant\n%s\ngot\n%s\n%s\n%s", seed, nodes, sql, strings.Join(want, "\n"), strings.Join(got, "\n"),
				plan.FormatQuery(q), text)
		}
	}
}

// refused reports whether an error is a valid outcome of a query.
func refused(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && e.Code != pgerr.InternalError
}

func runStaged(w *plantest.World, tables map[types.OID][][]types.Datum, q *plan.Query, nodes int, early bool) ([]string, string, error) {
	in := &plantest.Interp{Tables: tables, Buffers: map[int][]plantest.Row{}}
	var text strings.Builder
	run := func(root plan.Node, cols []plan.Column) ([]plantest.Row, error) {
		s, err := stage.Stage(root, cols, &stage.Env{Nodes: nodes, Stats: w, Always: early})
		if err != nil {
			return nil, err
		}
		for _, st := range s.Stages {
			fmt.Fprintf(&text, "stage %d where %d out %+v\n%s", st.ID, st.Where, st.Out, plan.Format(st.Root))
		}
		return in.RunStaged(s, nodes)
	}
	for _, b := range q.Buffers {
		rows, err := run(b.Root, b.Cols)
		if err != nil {
			return nil, text.String(), err
		}
		in.Fill(b.ID, rows, b.Cols)
	}
	rows, err := run(q.Root, q.Cols)
	if err != nil {
		return nil, text.String(), err
	}
	return plantest.Lines(rows, q.Cols), text.String(), nil
}

func sameLines(a, b []string, ordered bool) bool {
	if !ordered {
		a, b = plantest.SortedCopy(a), plantest.SortedCopy(b)
	}
	return slices.Equal(a, b)
}

// randomTables fills the tables of the small schema within the bounds of their
// statistics.
func randomTables(w *plantest.World, r *rand.Rand) map[types.OID][][]types.Datum {
	maybe := func(d types.Datum, p float64) types.Datum {
		if r.Float64() < p {
			return nil
		}
		return d
	}
	num := func(n int) types.Datum { return int64(r.Intn(n)) }
	text := func() types.Datum { return string(rune('a' + r.Intn(4))) }
	out := map[types.OID][][]types.Datum{}
	for i := range r.Intn(9) {
		out[w.OID("t")] = append(out[w.OID("t")], []types.Datum{int64(i + 1), maybe(num(5), 0.2), maybe(text(), 0.2),
			maybe(number.DecimalFromInt64(int64(r.Intn(500)), 2), 0.1)})
	}
	for range r.Intn(9) {
		a := types.Array{Elem: types.Int4}
		for range r.Intn(3) {
			a.Elems = append(a.Elems, num(4))
		}
		out[w.OID("u")] = append(out[w.OID("u")], []types.Datum{maybe(int64(1+r.Intn(8)), 0.2), num(5), maybe(text(), 0.2), maybe(a, 0.2)})
	}
	for i := range r.Intn(6) {
		out[w.OID("s")] = append(out[w.OID("s")], []types.Datum{int64(i + 1), maybe(num(5), 0.2), text()})
	}
	return out
}

var _ = opt.Validate

// TestEqualGroupings: equal groupings are computed once into a buffer, with the same results.
func TestEqualGroupings(t *testing.T) {
	w := plantest.Small(t)
	w.Resize("t", 1e6)
	for sql, buffers := range map[string]int{
		"SELECT x.b, x.n, y.m FROM (SELECT b, c, count(*) n FROM t GROUP BY b, c) x, (SELECT max(n) m FROM (SELECT b, c, count(*) n FROM t GROUP BY b, c) z) y WHERE x.n < y.m + 1": 1,
		"SELECT x.b, y.n FROM (SELECT b, sum(a) n FROM t WHERE a > 1 GROUP BY b) x JOIN (SELECT b, sum(a) n FROM t WHERE a > 1 GROUP BY b) y ON x.n = y.n":                          1,
		"SELECT x.b, y.n FROM (SELECT b, sum(a) n FROM t WHERE a > 1 GROUP BY b) x JOIN (SELECT b, sum(a) n FROM t WHERE a > 2 GROUP BY b) y ON x.n = y.n":                          0,
		"SELECT b, sum(a) FROM t GROUP BY b UNION ALL SELECT b, sum(a) FROM t GROUP BY b":                                                                                           1,
		"SELECT b, sum(a) FROM t GROUP BY b UNION ALL SELECT b, max(a) FROM t GROUP BY b":                                                                                           0,
		"SELECT x.b FROM (SELECT b, random() < 2 r FROM t GROUP BY b, random() < 2) x JOIN (SELECT b, random() < 2 r FROM t GROUP BY b, random() < 2) y ON x.b = y.b":               0,
	} {
		for seed := range int64(6) {
			equivalent(t, w, randomTables(w, rand.New(rand.NewSource(seed))), sql, seed)
		}
		w.Nodes = 1
		o, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Buffers) != buffers {
			t.Errorf("%s\n%d buffers\n%s", sql, len(o.Buffers), plan.FormatQuery(o))
		}
	}
}
