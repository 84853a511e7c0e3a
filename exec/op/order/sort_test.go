package order_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

func compareRows(specs []kernel.KeySpec, cols []int, a, b types.Row) int {
	for i, s := range specs {
		x, y := a[cols[i]], b[cols[i]]
		c := 0
		switch {
		case x == nil && y == nil:
		case x == nil:
			if c = 1; s.NullsFirst {
				c = -1
			}
		case y == nil:
			if c = -1; s.NullsFirst {
				c = 1
			}
		default:
			if c = types.Compare(s.Type, x, y); s.Desc {
				c = -c
			}
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// sortCase sorts a table; every column is a key, the last a number that makes
// the order total.
func sortCase(tb optest.Table, specs []kernel.KeySpec, limit int64) optest.Case {
	var cols []int
	for i := range tb.Types {
		cols = append(cols, i)
		if i == len(specs) {
			specs = append(specs, kernel.KeySpec{Type: tb.Types[i]})
		}
	}
	want := slices.Clone(tb.Rows)
	slices.SortStableFunc(want, func(a, b types.Row) int { return compareRows(specs, cols, a, b) })
	if limit >= 0 {
		want = want[:min(int(limit), len(want))]
	}
	return optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types, Want: want, Ordered: true,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			return order.NewSort(rt, nil, order.Config{Types: tb.Types, Keys: optest.Columns(rt.Threads, cols...), Specs: specs, Limit: limit}, in[0])
		}}
}

func numbered(tb optest.Table) optest.Table {
	tb.Types = append(slices.Clone(tb.Types), types.Int8)
	for i := range tb.Rows {
		tb.Rows[i] = append(tb.Rows[i], int64(i))
	}
	return tb
}

func TestSort(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, ts := range [][]types.Type{{types.Int4}, {types.Text, types.Int4}, {types.Numeric}, {types.Float8, types.Timestamp, types.Bool}} {
		for _, n := range []int{0, 1, 400} {
			tb := numbered(optest.Random(r, n, ts...))
			for _, limit := range []int64{-1, 0, 1, 7, 1000} {
				specs := []kernel.KeySpec{{Type: ts[0], Desc: n%2 == 0, NullsFirst: limit%2 == 0}}
				t.Run(fmt.Sprintf("%s/%d/limit=%d", ts[0].String(), n, limit), func(t *testing.T) { optest.Run(t, sortCase(tb, specs, limit)) })
			}
		}
	}
}

// TestSortSpills: many runs, more than are merged at once.
func TestSortSpills(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	tb := optest.Wide(r, 20000, 5000)
	for i, specs := range [][]kernel.KeySpec{{{Type: types.Int8}}, {{Type: types.Int8, Desc: true}, {Type: types.Int4}}} {
		for _, limit := range []int64{-1, 15000} {
			c := sortCase(tb, specs, limit)
			if i == 1 {
				// keys that are computed are written with the rows
				cfg := order.Config{Types: tb.Types, Specs: append(specs, kernel.KeySpec{Type: types.Text}), Limit: limit}
				c.Build = func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
					cfg.Keys = optest.Columns(rt.Threads, 0, 1, 2)
					for _, keys := range cfg.Keys {
						keys[0] = op.Item{Program: first{}}
					}
					return order.NewSort(rt, nil, cfg, in[0])
				}
			}
			for _, threads := range []int{1, 3} {
				if n := optest.Once(t, c, threads, optest.Form{Size: 700, Dict: true, Mix: true}, 1<<20); n == 0 {
					t.Error("nothing was spilled")
				}
			}
		}
	}
}

// first is column 0.
type first struct{}

func (first) Eval(_ context.Context, b *batch.Batch) (arrow.Array, error) {
	return kernel.Compact(b).Cols[0], nil
}

func (f first) EvalScratch(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	return f.Eval(ctx, b)
}

// TestTopN keeps the first few of many rows.
func TestTopN(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	tb := optest.Wide(r, 150000, 1<<30)
	for i := range tb.Rows {
		tb.Rows[i][2] = "x"
	}
	c := sortCase(tb, []kernel.KeySpec{{Type: types.Int8}, {Type: types.Int4}}, 10)
	for _, threads := range []int{1, 2} {
		if n := optest.Once(t, c, threads, optest.Form{Size: 8192}, 16<<20); n > 4096 {
			// A node that is short of memory may ask for the ten rows to be spilled.
			t.Errorf("%d bytes were spilled", n)
		}
	}
}

func TestLimit(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	tb := optest.Random(r, 300, types.Int4, types.Text)
	all := map[string]int{}
	for _, s := range optest.Texts(tb.Rows, tb.Types, false) {
		all[s]++
	}
	for _, lim := range []struct{ offset, count, want int64 }{{0, -1, 300}, {0, 0, 0}, {0, 10, 10}, {290, 20, 10}, {400, 5, 0}, {5, -1, 295}} {
		optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types,
			Check: func(t *testing.T, got []types.Row) {
				if int64(len(got)) != lim.want {
					t.Errorf("%d rows, want %d", len(got), lim.want)
				}
				seen := map[string]int{}
				for _, s := range optest.Texts(got, tb.Types, false) {
					if seen[s]++; seen[s] > all[s] {
						t.Errorf("row %s comes too often", s)
					}
				}
			},
			Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				return op.NewLimit(in[0], lim.offset, lim.count)
			}})
	}
}

func TestTiesAndDistinctOn(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	tb := optest.Random(r, 200, types.Int4, types.Text)
	specs := []kernel.KeySpec{{Type: types.Int4}, {Type: types.Text}}
	sorted := slices.Clone(tb.Rows)
	slices.SortStableFunc(sorted, func(a, b types.Row) int { return compareRows(specs, []int{0, 1}, a, b) })
	sort := func(rt *op.Runtime, in []op.Operator) []op.Operator {
		return order.NewSort(rt, nil, order.Config{Types: tb.Types, Keys: optest.Columns(rt.Threads, 0, 1), Specs: specs, Limit: -1}, in)
	}
	for _, lim := range []struct{ offset, count int }{{0, 1}, {0, 10}, {3, 10}, {10, 30}, {0, 300}, {5, 0}} {
		end := min(lim.offset+lim.count, len(sorted))
		for lim.count > 0 && end < len(sorted) && compareRows(specs[:1], []int{0}, sorted[end-1], sorted[end]) == 0 {
			end++
		}
		optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types, Ordered: true, Want: sorted[lim.offset:end],
			Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				return order.NewLimitTies(sort(rt, in[0]), int64(lim.offset), int64(lim.count), optest.Columns(rt.Threads, 0), specs[:1])
			}})
	}
	var first []types.Row
	for i, row := range sorted {
		if i == 0 || compareRows(specs[:1], []int{0}, sorted[i-1], row) != 0 {
			first = append(first, row)
		}
	}
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types, Ordered: true, Want: first,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			return order.NewDistinctOn(sort(rt, in[0]), optest.Columns(rt.Threads, 0), specs[:1])
		}})
}

func TestSortKeysAreStable(t *testing.T) {
	// With one thread rows with equal keys keep their order, spilled or not.
	tb := optest.Table{Types: []types.Type{types.Int4, types.Int8, types.Bytea}}
	for i := range 6000 {
		tb.Rows = append(tb.Rows, types.Row{int64(i % 7), int64(i), bytes.Repeat([]byte{byte(i)}, 150)})
	}
	want := slices.Clone(tb.Rows)
	specs := []kernel.KeySpec{{Type: types.Int4}}
	slices.SortStableFunc(want, func(a, b types.Row) int { return compareRows(specs, []int{0}, a, b) })
	c := optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types, Ordered: true, Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		return order.NewSort(rt, nil, order.Config{Types: tb.Types, Keys: optest.Columns(rt.Threads, 0), Specs: specs, Limit: -1}, in[0])
	}}
	for _, budget := range []int64{0, 600 << 10} {
		optest.Once(t, c, 1, optest.Form{Size: 500}, budget)
	}
}

// TestBound: a sort with a limit tells the scans below which values of its first key are not needed any more.
func TestBound(t *testing.T) {
	at := func(v int64) types.Row { return types.Row{v, v % 7} }
	tb := optest.Table{Types: []types.Type{types.Timestamp, types.Int4}}
	for i := range int64(5000) {
		tb.Rows = append(tb.Rows, at(i*7919%5000))
	}
	tb.Rows = append(tb.Rows, types.Row{nil, nil})
	for _, c := range []struct {
		specs   []kernel.KeySpec
		needed  int64 // the last value that is
		beyond  int64
		nullToo bool
	}{
		{specs: []kernel.KeySpec{{Type: types.Timestamp}}, needed: 8, beyond: 300},
		{specs: []kernel.KeySpec{{Type: types.Timestamp, Desc: true}}, needed: 4991, beyond: 4700},
		{specs: []kernel.KeySpec{{Type: types.Timestamp}, {Type: types.Int4}}, needed: 9, beyond: 300},
		{specs: []kernel.KeySpec{{Type: types.Timestamp, Desc: true, NullsFirst: true}, {Type: types.Int4}}, needed: 4991, beyond: 4700, nullToo: true},
	} {
		f := new(op.KeyFilter)
		rt := &op.Runtime{Threads: 1, Pool: mem.NewPool("n", 0)}
		cfg := order.Config{Types: tb.Types, Keys: optest.Columns(1, []int{0, 1}[:len(c.specs)]...), Specs: c.specs, Limit: 10, Bound: f}
		got, err := optest.Drive(t.Context(), order.NewSort(rt, nil, cfg, optest.Source(1, tb.Batches(t, optest.Form{Size: 300}))), tb.Types)
		if err != nil || len(got) != 10 {
			t.Fatalf("%v: %d rows, %v", c.specs, len(got), err)
		}
		if !f.Any(c.needed, c.needed) || f.Any(c.beyond, c.beyond) || f.Nulls() != c.nullToo {
			t.Errorf("%v: needed %v, beyond %v, nulls %v", c.specs, f.Any(c.needed, c.needed), f.Any(c.beyond, c.beyond), f.Nulls())
		}
	}
	f := new(op.KeyFilter)
	rt := &op.Runtime{Threads: 1, Pool: mem.NewPool("n", 0)}
	cfg := order.Config{Types: tb.Types, Keys: optest.Columns(1, 0), Specs: []kernel.KeySpec{{Type: types.Timestamp}}, Limit: 5001, Bound: f}
	if _, err := optest.Drive(t.Context(), order.NewSort(rt, nil, cfg, optest.Source(1, tb.Batches(t, optest.Form{Size: 300}))), tb.Types); err != nil || !f.Any(1<<40, 1<<41) || !f.Nulls() {
		t.Errorf("all rows are needed: %v", err)
	}
}
