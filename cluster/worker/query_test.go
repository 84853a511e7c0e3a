package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// world is a cluster with the tables t, u and s of plantest.Small.
type world struct {
	*cluster
	plans     *plantest.World
	rows      map[types.OID][][]types.Datum
	manifests map[types.OID]*catalog.Manifest
}

func newWorld(t testing.TB, nodes int) *world { return newTables(t, nodes, 70, 25, 12, 9) }

func newTables(t testing.TB, nodes, nt, nu, ns, per int) *world {
	w := &world{cluster: newCluster(t, nodes, 1<<30, nil, nil), plans: plantest.Small(t),
		rows: map[types.OID][][]types.Datum{}, manifests: map[types.OID]*catalog.Manifest{}}
	w.plans.Nodes = nodes
	r := rand.New(rand.NewSource(5))
	maybe := func(d types.Datum, p float64) types.Datum {
		if r.Float64() < p {
			return nil
		}
		return d
	}
	num := func(n int) types.Datum { return int64(r.Intn(n)) }
	text := func() types.Datum { return string(rune('a'+r.Intn(4))) + strings.Repeat("é", r.Intn(3)) }
	put := func(name string, cols []types.Type, rows [][]types.Datum, per int) {
		tc := make([]tableCol, len(cols))
		for i, c := range cols {
			tc[i] = tableCol{int16(i + 1), c}
		}
		oid := w.plans.OID(name)
		w.rows[oid] = rows
		w.manifests[oid] = w.write(t, oid, tc, rows, per)
	}
	var tr, ur, sr [][]types.Datum
	for i := range nt {
		tr = append(tr, []types.Datum{int64(i + 1), maybe(num(nt/4), 0.1), maybe(text(), 0.1), maybe(number.DecimalFromInt64(int64(r.Intn(500)), 2), 0.1)})
	}
	for range nu {
		a := types.Array{Elem: types.Int4}
		for range r.Intn(3) {
			a.Elems = append(a.Elems, num(4))
		}
		ur = append(ur, []types.Datum{maybe(int64(1+r.Intn(nt)), 0.1), num(5), maybe(text(), 0.2), maybe(a, 0.2)})
	}
	for i := range ns {
		sr = append(sr, []types.Datum{int64(i + 1), maybe(num(5), 0.1), text()})
	}
	put("t", []types.Type{types.Int4, types.Int4, types.Text, types.FixedNumeric(10, 2, true)}, tr, per)
	put("u", []types.Type{types.Int4, types.Int4, types.Text, {OID: 1007, Mod: -1}}, ur, per)
	put("s", []types.Type{types.Int4, types.Int4, types.Text}, sr, per)
	return w
}

// TestEquivalence runs the planner's collection of queries over small tables on three nodes.
func TestEquivalence(t *testing.T) {
	text, err := os.ReadFile("../../planner/stage/testdata/equivalence.sql")
	if err != nil {
		t.Fatal(err)
	}
	w := newTables(t, 3, 9, 9, 6, 2)
	n := 0
	for _, sql := range strings.Split(string(text), ";\n") {
		if sql = strings.TrimSpace(sql); sql == "" {
			continue
		}
		q, err := w.plans.Bind(sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		want, werr := (&plantest.Interp{Tables: w.rows}).Query(q)
		got, err := w.run(t, sql, worker.Options{BatchSize: 16 + 100*(n%2)})
		n++
		switch {
		case err != nil && werr != nil && pgerr.CodeOf(err) == pgerr.CodeOf(werr):
		case err != nil:
			t.Errorf("%s: %v", sql, err)
		case werr != nil: // the reference fails too
		default:
			if !strings.Contains(sql, "/* ordered */") {
				got, want = plantest.SortedCopy(got), plantest.SortedCopy(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s\ngot  %d rows %s\nwant %d rows %s", sql, len(got), cut(got), len(want), cut(want))
			}
		}
	}
}

// staged plans a query for all nodes.
func (w *world) staged(t testing.TB, sql string) (*plan.Staged, *plan.Query) {
	t.Helper()
	q, err := w.plans.Optimize(t, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return w.stage(t, q.Root, q.Cols), q
}

func (w *world) stage(t testing.TB, root plan.Node, cols []plan.Column) *plan.Staged {
	p, err := stage.Stage(root, cols, &stage.Env{Nodes: w.plans.Nodes, Stats: w.plans})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) snapshot(p *plan.Staged) map[*plan.Scan]*catalog.Manifest {
	out := map[*plan.Scan]*catalog.Manifest{}
	for _, s := range scans(p) {
		out[s] = w.manifests[s.Table]
	}
	return out
}

// run runs a query with its buffers.
func (w *world) run(t testing.TB, sql string, o worker.Options) ([]string, error) {
	t.Helper()
	ctx := context.Background()
	q, err := w.plans.Optimize(t, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	s, end := w.statement(t, sql, o)
	defer end()
	for _, b := range q.Buffers {
		p := w.stage(t, b.Root, b.Cols)
		r, err := s.Execute(ctx, p, w.snapshot(p))
		if err == nil {
			err = s.Fill(ctx, b.ID, b.Cols, r)
		}
		if err != nil {
			return nil, err
		}
	}
	p := w.stage(t, q.Root, q.Cols)
	r, err := s.Execute(ctx, p, w.snapshot(p))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return rowsOf(ctx, r, q.Cols)
}

var queries = []string{
	"select a, b from t where b > 10",
	"select count(*), sum(d), min(c), max(b), avg(a) from t",
	"select b, count(*), sum(d) from t group by b",
	"select b, count(distinct c) from t group by b",
	"select t.a, u.x, u.y from t join u on t.a = u.a",
	"select t.a, s.w from t left join s on t.b = s.v where t.a < 50",
	"select x.a, y.a from t x join t y on x.a = y.b",
	"select c, a from t order by c, a desc /* ordered */",
	"select a, d from t order by d nulls first, a limit 7 offset 2 /* ordered */",
	"select count(*) from (select a from t limit 50) x",
	"select a from t where a in (select a from u)",
	"select a from t where b not in (select v from s where v is not null) and a < 100",
	"select b from t union select v from s",
	"select a, rank() over (partition by b order by a) from t where a < 60",
	"with m as (select b, count(*) n from t group by b) select x.b from m x join m y on x.n = y.n",
	"select u.x, sum(t.d) from t join u on t.a = u.a join s on u.x = s.v group by u.x having count(*) > 2",
	"select 1 + 1",
	"select a, d * 2.5, c || 'x', case when b is null then 'none' else b::text end from t where d between 1.5 and 3.25 and c like 'a%'",
}

// TestCluster runs the tests below on one node and on three.
func TestCluster(t *testing.T) {
	want := map[string][]string{}
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			w := newWorld(t, nodes)
			t.Run("exchanges", func(t *testing.T) { testExchanges(t, w) })
			t.Run("queries", func(t *testing.T) { testQueries(t, w, want) })
			t.Run("stats", func(t *testing.T) { testStats(t, w) })
			t.Run("early close", func(t *testing.T) { testEarlyClose(t, w) })
			t.Run("errors", func(t *testing.T) { testErrors(t, w) })
			t.Run("cancel", func(t *testing.T) { testCancel(t, w) })
		})
	}
}

// testExchanges checks that the queries' plans have exchanges of all kinds, so that all are tested.
func testExchanges(t *testing.T, w *world) {
	seen := map[string]bool{}
	for _, sql := range queries {
		p, _ := w.staged(t, sql)
		for i := range p.Stages {
			if o := p.Stages[i].Out; o != nil {
				seen[[]string{"gather", "hash", "broadcast", "spread"}[o.Kind]] = true
			}
			walk(p.Stages[i].Root, func(n plan.Node) {
				if r, ok := n.(*plan.Receive); ok && len(r.Merge) > 0 {
					seen["merge"] = true
				}
			})
		}
	}
	for _, k := range []string{"gather", "hash", "broadcast", "merge"} {
		if !seen[k] && len(w.nodes) > 1 {
			t.Errorf("no query has a %s", k)
		}
	}
}

// testQueries compares with a reference that runs the plan row by row; want caches its results.
func testQueries(t *testing.T, w *world, want map[string][]string) {
	for i, sql := range queries {
		if want[sql] == nil {
			q, err := w.plans.Bind(sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if want[sql], err = (&plantest.Interp{Tables: w.rows}).Query(q); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		want := want[sql]
		o := worker.Options{BatchSize: []int{0, 3, 64}[i%3], Saturation: []float64{0, 1, math.Inf(1)}[i%3]}
		got, err := w.run(t, sql, o)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if !strings.Contains(sql, "/* ordered */") {
			got, want = plantest.SortedCopy(got), plantest.SortedCopy(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %d rows %s\nwant %d rows %s", sql, len(got), cut(got), len(want), cut(want))
		}
	}
}

func cut(l []string) string { return strings.Join(l[:min(len(l), 12)], " ; ") }

// testStats checks that the counters include the rows of all nodes.
func testStats(t *testing.T, w *world) {
	p, q := w.staged(t, "select b, count(*) from t group by b")
	s, end := w.statement(t, "stats", worker.Options{})
	defer end()
	r, err := s.Execute(context.Background(), p, w.snapshot(p))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := rowsOf(context.Background(), r, q.Cols); err != nil {
		t.Fatal(err)
	}
	act := s.Actuals()
	found := false
	for i := range p.Stages {
		num := 0
		walk(p.Stages[i].Root, func(n plan.Node) {
			if _, ok := n.(*plan.Scan); ok {
				st := act[stage.Key{Stage: p.Stages[i].ID, Node: num}]
				if found = true; st.Rows != 70 || st.Tasks != len(w.nodes) {
					t.Errorf("the scan gave %d rows in %d tasks", st.Rows, st.Tasks)
				}
			}
			num++
		})
	}
	if !found {
		t.Error("no scan")
	}
}

// testEarlyClose closes readers before their last row.
func testEarlyClose(t *testing.T, w *world) {
	for i, sql := range []string{"select a from t", "select t.a from t join u on t.b = u.x", "select a from t order by a"} {
		for rows := range 3 {
			p, _ := w.staged(t, sql)
			s, end := w.statement(t, fmt.Sprint("early ", i, rows), worker.Options{BatchSize: 5})
			r, err := s.Execute(context.Background(), p, w.snapshot(p))
			if err != nil {
				t.Fatal(err)
			}
			for range rows {
				if _, err := r.Next(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			r.Close()
			end()
		}
	}
}

// testErrors checks that a row's error on any node is returned, and that all is released.
func testErrors(t *testing.T, w *world) {
	for range 20 {
		_, err := w.run(t, "select b, sum(1 / (a - 55)) from t group by b", worker.Options{BatchSize: 10})
		if !pgerr.Is(err, pgerr.DivisionByZero) {
			t.Fatal(err)
		}
	}
}

// testCancel cancels the context of a running plan.
func testCancel(t *testing.T, w *world) {
	for range 5 {
		ctx, cancel := context.WithCancelCause(context.Background())
		p, q := w.staged(t, "select x.a from t x, t y where x.b + y.b > 3")
		s, end := w.statement(t, "cancel", worker.Options{BatchSize: 3})
		r, err := s.Execute(ctx, p, w.snapshot(p))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(ctx); err != nil {
			t.Fatal(err)
		}
		cause := errors.New("enough")
		cancel(cause)
		if _, err := rowsOf(context.Background(), r, q.Cols); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		r.Close()
		end()
	}
}
