package window_test

import (
	"fmt"
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

// ranked returns rank() OVER (PARTITION BY … ORDER BY …) of columns by number; a negative number
// means descending.
func ranked(id expr.ColID, part []int, order ...int) *plan.Window {
	col := func(i int) *expr.Col { return &expr.Col{ID: expr.ColID(i), Typ: types.Int8} }
	w := &plan.Window{Items: []plan.WindowItem{{Col: plan.Column{ID: id, Type: types.Int8}, Call: expr.AggCall{Fn: fn.ByID("rank()"), Typ: types.Int8}}}}
	for _, p := range part {
		w.PartitionBy = append(w.PartitionBy, col(p))
	}
	for _, o := range order {
		w.OrderBy = append(w.OrderBy, expr.Order{Expr: col(max(o, -o)), Desc: o < 0, NullsFirst: o < 0})
	}
	return w
}

// TestWith: which windows can share one sort, and that both are right with it, in one thread and in
// several, in memory and spilled.
func TestWith(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	ts := []types.Type{types.Int8, types.Int8, types.Int8, types.Int8}
	var cols []plan.Column
	for i, ty := range ts {
		cols = append(cols, plan.Column{ID: expr.ColID(i + 1), Type: ty})
	}
	tb := optest.Table{Types: ts}
	for range 16000 {
		row := types.Row{}
		for range ts {
			row = append(row, int64(r.Intn(4)))
			if r.Intn(9) == 0 {
				row[len(row)-1] = nil
			}
		}
		tb.Rows = append(tb.Rows, row)
	}
	spilled := 0
	for i, c := range []struct {
		below, above *plan.Window
		one          bool
	}{
		{ranked(5, []int{1, 2, 3}), ranked(6, []int{1, 2}, 3, 4), true},
		{ranked(5, []int{3, 1, 2}), ranked(6, []int{2, 1}, -3, 4), true},
		{ranked(5, []int{1, 2}, 3, -4), ranked(6, []int{2, 3, 1}), true},
		{ranked(5, []int{1, 2, 3}, -4), ranked(6, []int{1}, 2, 3), true},
		{ranked(5, []int{2}, 3), ranked(6, []int{2}, 3, 4), true},
		{ranked(5, []int{2, 1}), ranked(6, []int{1, 2}), true},
		{ranked(5, []int{1}, 3), ranked(6, []int{1}, -3), false},
		{ranked(5, []int{1, 2}, 4), ranked(6, []int{1}, 2, 3), false},
		{ranked(5, []int{1}), ranked(6, []int{2}, 1), false},
		{ranked(5, []int{1, 1}, 3), ranked(6, []int{1, 2}), false},
		{ranked(5, []int{1}, 2), ranked(6, []int{1}, 5), false}, // the second is ordered by the rank that the first computes
		{ranked(5, nil, 1), ranked(6, []int{1}), false},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			both, one := window.SortingOf(c.above).With(c.below)
			if one != c.one {
				t.Fatalf("one order for both: %v", one)
			}
			lower := window.SortingOf(c.below)
			if one {
				lower = both
			}
			want := ranksOf(ranksOf(tb.Rows, c.below), c.above)
			test := optest.Case{Inputs: []optest.Table{tb}, Out: append(slices.Clone(ts), types.Int8, types.Int8), Want: want,
				Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
					ops, err := window.New(rt, nil, c.below, cols, nil, in[0], lower, false)
					if err != nil {
						t.Fatal(err)
					}
					ops, err = window.New(rt, nil, c.above, append(slices.Clone(cols), c.below.Items[0].Col), nil, ops, both, one)
					if err != nil {
						t.Fatal(err)
					}
					return ops
				}}
			for _, threads := range []int{1, 3} {
				optest.Once(t, test, threads, optest.Form{Size: 300 * threads}, 0)
				if one && optest.Once(t, test, threads, optest.Form{Size: 400}, 3<<20) > 0 {
					spilled++
				}
			}
		})
	}
	if spilled < 6 {
		t.Errorf("%d of 12 runs in little memory spilled", spilled)
	}
}

// ranksOf adds to each row its rank, by comparing with all different other rows.
func ranksOf(rows []types.Row, w *plan.Window) []types.Row {
	at := func(r types.Row, e expr.Expr) types.Datum { return r[e.(*expr.Col).ID-1] }
	number, ranks := map[string]int{}, map[string]int64{}
	var different []types.Row
	var times []int64
	for _, r := range rows {
		k := fmt.Sprint(r)
		i, ok := number[k]
		if !ok {
			i = len(different)
			number[k], different, times = i, append(different, r), append(times, 0)
		}
		times[i]++
	}
	for _, r := range different {
		rank := int64(1)
		for i, o := range different {
			if slices.ContainsFunc(w.PartitionBy, func(e expr.Expr) bool { return at(o, e) != at(r, e) }) {
				continue
			}
			for _, k := range w.OrderBy {
				if c := compareNulls(at(o, k.Expr), at(r, k.Expr)); c != 0 {
					if c < 0 != k.Desc {
						rank += times[i]
					}
					break
				}
			}
		}
		ranks[fmt.Sprint(r)] = rank
	}
	var out []types.Row
	for _, r := range rows {
		out = append(out, append(slices.Clone(r), ranks[fmt.Sprint(r)]))
	}
	return out
}

// compareNulls sorts NULL after all other values.
func compareNulls(a, b types.Datum) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return int(a.(int64) - b.(int64))
}
