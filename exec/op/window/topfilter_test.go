package window_test

import (
	"context"
	"math"
	"math/rand"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/window"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// atMost is a filter that keeps rows whose int8 column is at most k, and counts all rows that it
// sees.
type atMost struct {
	col  int
	k    int64
	seen *atomic.Int64
}

func (f atMost) Select(_ context.Context, b *batch.Batch) (*batch.Batch, error) {
	b = kernel.Compact(b)
	f.seen.Add(int64(b.N))
	var rows []int32
	for i, v := range b.Cols[f.col].(*array.Int64).Int64Values() {
		if v <= f.k {
			rows = append(rows, int32(i))
		}
	}
	if rows == nil {
		return b.Slice(0, 0), nil
	}
	return &batch.Batch{Cols: b.Cols, N: b.N, Sel: rows, Seq: -1}, nil
}

// TestWindowTop: a window with a run condition (rank() <= k) returns the rows that satisfy it, with
// their ranks, and few others; with keys of fixed and of any width, NULLs, ties, no partitions, and
// no memory for keys.
func TestWindowTop(t *testing.T) {
	rank := fn.Lookup("rank")
	rank = slices.DeleteFunc(slices.Clone(rank), func(f *fn.Func) bool { return f.Kind != fn.Window })
	for k, ty := range []types.Type{types.Int8, types.Text, types.Numeric} {
		r := rand.New(rand.NewSource(int64(k)))
		ts := []types.Type{types.Text, ty, types.Int8}
		tb := optest.Table{Types: ts}
		for i := range 1500 {
			tb.Rows = append(tb.Rows, types.Row{optest.Value(r, types.Text, 5), optest.Value(r, ty, 3000), int64(i)})
		}
		cols := make([]plan.Column, len(ts))
		for i, ty := range ts {
			cols[i] = plan.Column{ID: expr.ColID(i + 1), Type: ty}
		}
		for n, c := range []struct {
			parts int
			desc  bool
			top   int64
		}{{1, true, 3}, {1, false, 20}, {0, true, 10}, {0, false, 1}} {
			w := &plan.Window{OrderBy: []expr.Order{{Expr: &expr.Col{ID: 2, Typ: ty}, Desc: c.desc, NullsFirst: n%2 == 0}},
				Items: []plan.WindowItem{{Col: plan.Column{ID: 9, Type: types.Int8}, Call: expr.AggCall{Fn: rank[0], Typ: types.Int8}}}}
			if c.parts > 0 {
				w.PartitionBy = []expr.Expr{&expr.Col{ID: 1, Typ: types.Text}}
			}
			var want []types.Row
			for _, row := range tb.Rows {
				before := int64(0)
				for _, o := range tb.Rows {
					if before == c.top {
						break
					}
					if c.parts > 0 && types.Compare(types.Text, orEmpty(o[0]), orEmpty(row[0])) != 0 {
						continue
					}
					if stands(ty, o[1], row[1], c.desc, n%2 == 0) {
						before++
					}
				}
				if before < c.top {
					want = append(want, append(slices.Clone(row), before+1))
				}
			}
			for _, limit := range []int64{0, 1 << 20} {
				for _, threads := range []int{1, 3} {
					var seen atomic.Int64
					cs := optest.Case{Inputs: []optest.Table{tb}, Out: append(slices.Clone(ts), types.Int8), Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
						m := *w
						m.Top = c.top
						ops, err := window.New(rt, nil, &m, cols, nil, in[0], window.SortingOf(&m), false)
						if err != nil {
							t.Fatal(err)
						}
						filters := make([]op.Filter, len(ops))
						for i := range filters {
							filters[i] = atMost{3, c.top, &seen}
						}
						return op.NewFilter(ops, filters)
					}}
					optest.Once(t, cs, threads, optest.Form{Size: []int{7, 1000, 8192}[n%3], Dict: n == 1}, limit)
					if limit == 0 && seen.Load() > int64(len(tb.Rows))*4/5 {
						t.Errorf("%v %+v, %d threads: %d rows were sorted", ty, c, threads, seen.Load())
					}
				}
			}
			if t.Failed() {
				t.Fatalf("%v %+v", ty, c)
			}
		}
	}
}

func orEmpty(d types.Datum) types.Datum {
	if d == nil {
		return "\x00null"
	}
	return d
}

// stands reports whether a comes before b.
func stands(ty types.Type, a, b types.Datum, desc, nullsFirst bool) bool {
	switch {
	case a == nil || b == nil:
		return a == nil && b != nil && nullsFirst || a != nil && b == nil && !nullsFirst
	case desc:
		return types.Compare(ty, a, b) > 0
	}
	return types.Compare(ty, a, b) < 0
}

// TestWindowTopOfManyPartitions: rows are filtered before the sort also where the first rows find
// partitions with fewer than k rows; only if no partition ever has k is the filter given up. Rows
// that later ones displace are not returned. Partition keys are close together, or until some
// point, or far apart.
func TestWindowTopOfManyPartitions(t *testing.T) {
	rank := slices.DeleteFunc(slices.Clone(fn.Lookup("rank")), func(f *fn.Func) bool { return f.Kind != fn.Window })
	const rows, k = 1 << 18, 2
	cols := []plan.Column{{ID: 1, Type: types.Int8}, {ID: 2, Type: types.Int8}}
	w := &plan.Window{Top: k, PartitionBy: []expr.Expr{&expr.Col{ID: 1, Typ: types.Int8}}, OrderBy: []expr.Order{{Expr: &expr.Col{ID: 2, Typ: types.Int8}}},
		Items: []plan.WindowItem{{Col: plan.Column{ID: 9, Type: types.Int8}, Call: expr.AggCall{Fn: rank[0], Typ: types.Int8}}}}
	for _, c := range []struct {
		parts int
		key   func(i int, of int64) int64
		most  int64 // rows that pass
		falls bool  // each row is before all rows so far
	}{
		{rows / 20, func(_ int, of int64) int64 { return of }, k * rows / 20, false},
		{rows / 20, func(i int, of int64) int64 { return of%min(rows/20, int64(i)+1) - int64(i)/64 }, rows / 2, false},
		{rows / 20, func(i int, of int64) int64 { return of * int64(1+i/(rows/2)*1_000_003) }, rows / 2, false},
		{rows / 20, func(_ int, of int64) int64 { return of<<40 - 1<<60 }, k * rows / 20, false},
		{rows, func(_ int, of int64) int64 { return of }, rows, false},
		// Far from 0, where no key is: days before 1970, the least and the greatest numbers.
		{20, func(_ int, of int64) int64 { return of - 100 }, rows / 20, false},
		{rows / 20, func(i int, of int64) int64 { return of%min(rows/20, int64(i)+1) - int64(i)/64 - 1<<40 }, rows / 2, false},
		{rows / 20, func(_ int, of int64) int64 { return math.MinInt64 + of }, k * rows / 20, false},
		{rows / 20, func(i int, of int64) int64 { return math.MaxInt64 - of%min(rows/20, int64(i)+1) }, rows / 2, false},
		{rows / 20, func(_ int, of int64) int64 { return of }, k * rows / 20, true},
		{20, func(_ int, of int64) int64 { return of }, rows / 20, true},
	} {
		parts := c.parts
		r := rand.New(rand.NewSource(3))
		of, by := make([]int64, rows), make([]int64, rows)
		least := map[int64][]int64{} // the k least values of each partition
		for i := range of {
			of[i], by[i] = c.key(i, int64(r.Intn(parts))), r.Int63()
			if c.falls {
				by[i] = int64(rows-i) << 30
			}
			l := least[of[i]]
			at, _ := slices.BinarySearch(l, by[i])
			l = slices.Insert(l, at, by[i])
			least[of[i]] = l[:min(len(l), k)]
		}
		var want, got int64
		for _, l := range least {
			for _, v := range l {
				want += v & 0xffffffff
			}
		}
		in := optest.Cut(rows, func(from, n int) []arrow.Array {
			return []arrow.Array{optest.Int8s(n, func(i int) int64 { return of[from+i] }), optest.Int8s(n, func(i int) int64 { return by[from+i] })}
		})
		pool := mem.NewPool("n1", 0).Child("statement", 1<<30)
		rt := &op.Runtime{Threads: 1, Pool: pool, Spill: spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})}
		ops, err := window.New(rt, nil, w, cols, nil, op.NewStatic(rt, in), window.SortingOf(w), false)
		if err != nil {
			t.Fatal(err)
		}
		var seen atomic.Int64
		ops = op.NewFilter(ops, []op.Filter{atMost{2, k, &seen}})
		ctx := context.Background()
		if err := ops[0].Open(ctx); err != nil {
			t.Fatal(err)
		}
		if err := op.Drain(ctx, ops[0], func(b *batch.Batch) error {
			for _, v := range kernel.Compact(b).Cols[1].(*array.Int64).Int64Values() {
				got += v & 0xffffffff
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := ops[0].Close(); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%d partitions: the sum of the least is %d, not %d", parts, got, want)
		}
		if seen.Load() > c.most {
			t.Errorf("%d partitions: %d rows of %d were sorted", parts, seen.Load(), rows)
		}
	}
}
