package window_test

import (
	"cmp"
	"math/rand"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/window"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// TestRanked: ranks and numbers of all rows are those of one partition, in however many threads, whatever the batches are and
// where rows are spilled; with ties, NULLs, more tiles than rows and fewer.
func TestRanked(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	ts := []types.Type{types.Text, types.Int8}
	cols := []plan.Column{{ID: 1, Type: types.Text}, {ID: 2, Type: types.Int8}}
	call := func(id string, t types.Type, args ...expr.Expr) expr.AggCall {
		return expr.AggCall{Fn: fn.ByID(id), Typ: t, Args: args}
	}
	tiles := func(n int64) expr.AggCall {
		return call("ntile(int4)", types.Int4, &expr.Const{Typ: types.Int4, Val: n})
	}
	for _, rows := range []int{1, 2500, 70000} {
		tb := optest.Table{Types: ts}
		for i := range rows {
			tb.Rows = append(tb.Rows, types.Row{optest.Value(r, types.Text, 30), int64(i)})
		}
		for _, unique := range []bool{false, true} {
			w := &plan.Window{OrderBy: []expr.Order{{Expr: &expr.Col{ID: 1, Typ: types.Text}, Desc: unique, NullsFirst: true}}}
			calls := []expr.AggCall{call("rank()", types.Int8), call("percent_rank()", types.Float8)}
			if unique {
				w.OrderBy = append(w.OrderBy, expr.Order{Expr: &expr.Col{ID: 2, Typ: types.Int8}})
				calls = append(calls, call("row_number()", types.Int8), tiles(7), tiles(1000), tiles(1<<30))
			}
			out := slices.Clone(ts)
			for k, c := range calls {
				w.Items = append(w.Items, plan.WindowItem{Col: plan.Column{ID: expr.ColID(10 + k), Type: c.Typ}, Call: c})
				out = append(out, c.Typ)
			}
			sorted := slices.Clone(tb.Rows)
			slices.SortFunc(sorted, func(a, b types.Row) int {
				switch {
				case stands(types.Text, a[0], b[0], unique, true):
					return -1
				case stands(types.Text, b[0], a[0], unique, true):
					return 1
				}
				return cmp.Compare(a[1].(int64), b[1].(int64))
			})
			var want []types.Row
			before := int64(0)
			for i, row := range sorted {
				if unique || i == 0 || stands(types.Text, sorted[i-1][0], row[0], unique, true) {
					before = int64(i)
				}
				all := int64(rows)
				got := append(slices.Clone(row), before+1, float64(before)/float64(max(all-1, 1)))
				if unique {
					got = append(got, before+1)
					for _, n := range []int64{7, 1000, 1 << 30} {
						size, more := all/n, all%n
						tile := before/(size+1) + 1
						if before >= more*(size+1) {
							tile = more + (before-more*(size+1))/max(size, 1) + 1
						}
						got = append(got, tile)
					}
				}
				want = append(want, got)
			}
			c := optest.Case{Inputs: []optest.Table{tb}, Out: out, Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				ops, err := window.New(rt, nil, w, cols, nil, in[0], window.SortingOf(w), false)
				if err != nil {
					t.Fatal(err)
				}
				return ops
			}}
			if rows < 10000 {
				optest.Run(t, c)
			} else { // the threads have ranges
				optest.Once(t, c, 3, optest.Form{Size: 8192}, 0)
				optest.Once(t, c, 2, optest.Form{Size: 1000, Sel: true, Dict: true}, 0)
			}
			if spilled := optest.Once(t, c, 4, optest.Form{Size: 100}, 40<<10); spilled == 0 && rows > 1 {
				t.Error("nothing was spilled")
			}
			if t.Failed() {
				t.Fatalf("%d rows, unique %t", rows, unique)
			}
		}
	}
}
