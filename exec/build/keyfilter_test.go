package build_test

import (
	"fmt"
	"math/rand"
	"sync/atomic"
	"testing"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// strictly leaves out every row that the filter of a join's keys excludes, by zone and by value. A
// real scan may leave out fewer: the result must be right for both.
func strictly(t *testing.T, tb optest.Table, keys []op.ScanKeys, refused *atomic.Int64) optest.Table {
	out := optest.Table{Types: tb.Types}
	sel := map[int32]int{}
	asked := 0
	for _, k := range keys {
		var vals []types.Datum
		for _, r := range tb.Rows {
			vals = append(vals, r[k.Col])
		}
		if some, ok := k.Filter.Select(optest.Array(t, tb.Types[k.Col], vals), nil, nil); ok {
			asked++
			for _, i := range some {
				sel[i]++
			}
		}
	}
	for i, r := range tb.Rows {
		keep := sel[int32(i)] == asked
		for _, k := range keys {
			if v, ok := r[k.Col].(int64); ok && !k.Filter.Any(v, v) {
				keep = false
			}
		}
		if keep {
			out.Rows = append(out.Rows, r)
		} else {
			refused.Add(1)
		}
	}
	return out
}

// TestKeyFilters runs random trees over tables that return every row, and over tables without the
// rows that a filter of join keys excludes: the results are the same.
func TestKeyFilters(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	var refused atomic.Int64
	for i := range 300 {
		g := &treeMaker{r: r, tables: map[types.OID]optest.Table{}}
		root := g.node(2 + r.Intn(3))
		tree := &plan.Project{Input: root, Items: nil}
		for _, c := range root.Schema() {
			tree.Items = append(tree.Items, plan.Item{Col: c, Expr: ref(c)})
		}
		for _, threads := range []int{1, 3} {
			want, err := run(t, g.tables, tree, threads, &function.Env{})
			if err != nil {
				t.Fatalf("tree %d: %v", i, err)
			}
			got, err := runTables(t, g.tables, tree, threads, &function.Env{}, func(tb optest.Table, keys []op.ScanKeys) optest.Table {
				return strictly(t, tb, keys, &refused)
			})
			if err != nil {
				t.Fatalf("tree %d: %v", i, err)
			}
			optest.Compare(t, got, want, typesOf(root.Schema()), false)
			if t.Failed() {
				t.Fatalf("tree %d of %d threads:\n%s", i, threads, plan.Format(tree))
			}
		}
	}
	if refused.Load() < 1000 {
		t.Errorf("only %d rows were refused", refused.Load())
	}
}

// treeMaker makes random trees of joins and of operators through which filters of join keys may, or
// may not, be pushed down.
type treeMaker struct {
	r      *rand.Rand
	tables map[types.OID]optest.Table
	next   int
}

func (g *treeMaker) col(t types.Type) plan.Column {
	g.next++
	return col(g.next, t)
}

// scan makes a table of keys, some far apart, some NULL.
func (g *treeMaker) scan() plan.Node {
	kinds := []types.Type{types.Int4, types.Int8, types.Int2}
	cols := []plan.Column{g.col(kinds[g.r.Intn(3)]), g.col(kinds[g.r.Intn(3)])}
	tb := optest.Table{Types: typesOf(cols)}
	most := int64(3 + g.r.Intn(20))
	wide := g.r.Intn(3) == 0
	for range g.r.Intn(40) {
		row := types.Row{g.r.Int63n(most), g.r.Int63n(most)}
		if wide && cols[0].Type.OID != types.Int2OID {
			row[0] = row[0].(int64) * 100_000_007 % (1 << 31)
		}
		if g.r.Intn(8) == 0 {
			row[g.r.Intn(2)] = nil
		}
		tb.Rows = append(tb.Rows, row)
	}
	oid := len(g.tables) + 1
	g.tables[types.OID(oid)] = tb
	return scan(oid, cols...)
}

func (g *treeMaker) pick(cols []plan.Column) plan.Column { return cols[g.r.Intn(len(cols))] }

func (g *treeMaker) node(depth int) plan.Node {
	if depth == 0 {
		return g.scan()
	}
	switch g.r.Intn(9) {
	case 0:
		in := g.node(depth - 1)
		c := g.pick(in.Schema())
		out := g.col(c.Type)
		return &plan.Project{Input: in, Items: []plan.Item{{Col: out, Expr: ref(c)}, {Col: g.col(types.Int8), Expr: konst(7, types.Int8)}}}
	case 1:
		in := g.node(depth - 1)
		c := g.pick(in.Schema())
		return &plan.Aggregate{Input: in, Groups: []plan.Item{{Col: g.col(c.Type), Expr: ref(c)}},
			Aggs: []plan.AggItem{{Col: g.col(types.Int8), Call: expr.AggCall{Fn: fn.Lookup("count")[0], Typ: types.Int8, Star: true}}}}
	case 2:
		l, rr := g.node(depth-1), g.node(depth-1)
		a, b := g.pick(l.Schema()), g.pick(rr.Schema())
		if a.Type.OID != b.Type.OID {
			return l
		}
		cut := func(n plan.Node, c plan.Column) plan.Node {
			return &plan.Project{Input: n, Items: []plan.Item{{Col: g.col(c.Type), Expr: ref(c)}}}
		}
		return &plan.SetOp{Kind: []plan.SetOpKind{plan.Union, plan.Union, plan.Except}[g.r.Intn(3)], All: g.r.Intn(2) == 0,
			Inputs: []plan.Node{cut(l, a), cut(rr, b)}, Cols: []plan.Column{g.col(a.Type)}}
	}
	l, rr := g.node(depth-1), g.node(g.r.Intn(depth))
	kind := []plan.JoinKind{plan.Inner, plan.Inner, plan.Inner, plan.Left, plan.Right, plan.Full, plan.Semi, plan.Anti, plan.RightSemi, plan.RightAnti}[g.r.Intn(10)]
	j := &plan.Join{Kind: kind, L: l, R: rr}
	for range 1 + g.r.Intn(2) {
		j.LKeys = append(j.LKeys, ref(g.pick(l.Schema())))
		j.RKeys = append(j.RKeys, ref(g.pick(rr.Schema())))
		j.NullSafe = append(j.NullSafe, g.r.Intn(6) == 0)
	}
	if len(j.Schema()) == 0 {
		panic(fmt.Sprint("no columns: ", kind))
	}
	return j
}

// TestKeyFiltersAskRows: a scan tests each row against the keys of the join above it only if that
// costs less than it saves: where the join would have to hash several keys.
func TestKeyFiltersAskRows(t *testing.T) {
	l, r := []plan.Column{col(1, types.Int4), col(2, types.Int8)}, []plan.Column{col(3, types.Int4), col(4, types.Int8)}
	tb := optest.Table{Types: typesOf(l), Rows: []types.Row{{int64(1), int64(2)}}}
	for keys := 1; keys <= 2; keys++ {
		j := &plan.Join{Kind: plan.Inner, L: scan(1, l...), R: scan(2, r...)}
		for k := range keys {
			j.LKeys, j.RKeys = append(j.LKeys, ref(l[k])), append(j.RKeys, ref(r[k]))
		}
		var asked atomic.Int64
		if _, err := runTables(t, map[types.OID]optest.Table{1: tb, 2: tb}, j, 1, &function.Env{}, func(tb optest.Table, of []op.ScanKeys) optest.Table {
			for _, k := range of {
				if k.Rows {
					asked.Add(1)
				}
			}
			return tb
		}); err != nil {
			t.Fatal(err)
		}
		if want := int64(2 * (keys - 1)); asked.Load() != want {
			t.Errorf("%d keys: %d are asked for each row, want %d", keys, asked.Load(), want)
		}
	}
}

// TestKeysFarApart: for keys too far apart for a bitmap, scans still exclude nearly all rows
// without a match, by value and by zone, and never one that has a match.
func TestKeysFarApart(t *testing.T) {
	for _, far := range []int64{1 << 20, 1 << 26, 1 << 34, 1 << 52} {
		l, r := []plan.Column{col(1, types.Int8)}, []plan.Column{col(2, types.Int8)}
		var build, probe optest.Table
		build.Types, probe.Types = typesOf(r), typesOf(l)
		for i := int64(-500); i < 500; i++ {
			build.Rows = append(build.Rows, types.Row{i * far}, types.Row{nil})
		}
		for i := int64(-510); i < 510; i++ {
			for _, d := range []int64{-far / 2, 0, far / 3} {
				probe.Rows = append(probe.Rows, types.Row{i*far + d})
			}
		}
		j := &plan.Join{Kind: plan.Inner, L: scan(1, l...), R: scan(2, r...), LKeys: []expr.Expr{ref(l[0])}, RKeys: []expr.Expr{ref(r[0])}}
		var refused atomic.Int64
		got, err := runTables(t, map[types.OID]optest.Table{1: probe, 2: build}, j, 2, &function.Env{}, func(tb optest.Table, keys []op.ScanKeys) optest.Table {
			return strictly(t, tb, keys, &refused)
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1000 {
			t.Errorf("far %d: %d rows, want 1000", far, len(got))
		}
		if without := int64(len(probe.Rows) - 1000); refused.Load() != without {
			t.Errorf("far %d: %d of %d rows without a match are refused", far, refused.Load(), without)
		}
	}
}
