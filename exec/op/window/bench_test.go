package window_test

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/window"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// BenchmarkWindow computes windows over 1M sorted rows: partitions of 60 rows, and one partition of
// all.
func BenchmarkWindow(b *testing.B) {
	const n = 1_000_000
	unbounded, current := plan.FrameBound{Kind: plan.UnboundedPreceding}, plan.FrameBound{Kind: plan.CurrentRow}
	near := plan.FrameBound{Kind: plan.Preceding, Offset: &expr.Const{Typ: types.Int8, Val: int64(100)}}
	col := func(i int) expr.Expr { return &expr.Col{ID: expr.ColID(i + 1), Typ: types.Int8} }
	sum := expr.AggCall{Fn: fn.ByID("sum(int8)"), Args: []expr.Expr{col(2)}, Typ: types.Numeric}
	for _, c := range []struct {
		name string
		part int64
		call expr.AggCall
		fr   plan.Frame
	}{
		{"small/rank", 60, expr.AggCall{Fn: fn.ByID("rank()"), Typ: types.Int8}, plan.Frame{Mode: 'v', Start: unbounded, End: current}},
		{"small/running", 60, sum, plan.Frame{Mode: 'r', Start: unbounded, End: current}},
		{"small/whole", 60, sum, plan.Frame{Mode: 'r', Start: unbounded, End: plan.FrameBound{Kind: plan.UnboundedFollowing}}},
		{"small/near", 60, sum, plan.Frame{Mode: 'r', Start: near, End: current}},
		{"one/rank", n, expr.AggCall{Fn: fn.ByID("rank()"), Typ: types.Int8}, plan.Frame{Mode: 'v', Start: unbounded, End: current}},
		{"one/running", n, sum, plan.Frame{Mode: 'r', Start: unbounded, End: current}},
		{"one/near", n, sum, plan.Frame{Mode: 'r', Start: near, End: current}},
	} {
		in := optest.Cut(n, func(from, n int) []arrow.Array {
			return []arrow.Array{optest.Int8s(n, func(i int) int64 { return int64(from+i) / c.part }),
				optest.Int8s(n, func(i int) int64 { return int64(from+i) / 2 }), optest.Int8s(n, func(i int) int64 { return int64(i * 7919) })}
		})
		w := &plan.Window{PartitionBy: []expr.Expr{col(0)}, OrderBy: []expr.Order{{Expr: col(1)}}, Items: []plan.WindowItem{{Col: plan.Column{ID: 9, Type: c.call.Typ}, Call: c.call, Frame: c.fr}}}
		cols := []plan.Column{{ID: 1, Type: types.Int8}, {ID: 2, Type: types.Int8}, {ID: 3, Type: types.Int8}}
		b.Run(c.name, func(b *testing.B) {
			optest.Bench(b, 1, 0, n, func(rt *op.Runtime) []op.Operator {
				ops, err := window.New(rt, nil, w, cols, nil, optest.Source(1, in), window.SortingOf(w), true)
				if err != nil {
					b.Fatal(err)
				}
				return ops
			})
		})
	}
}
