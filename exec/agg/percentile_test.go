package agg_test

import (
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// TestPercentilesOfAllFloats: NaN is the greatest, infinities are values, and the
// order may be turned round.
func TestPercentilesOfAllFloats(t *testing.T) {
	var f *fn.Func
	for _, x := range fn.Lookup("percentile_cont") {
		if x.Args[0] == types.Float8OID && x.Args[1] == types.Float8OID {
			f = x
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	vals := []types.Datum{3.0, nan, -inf, nil, 1.0, inf, 0.0}
	for _, c := range []struct {
		p    types.Datum
		desc bool
		want types.Datum
	}{
		{0.0, false, -inf}, {0.2, false, 0.0}, {0.3, false, 0.5}, {0.6, false, 3.0}, {0.8, false, inf}, {1.0, false, nan}, {0.9, false, nan},
		{0.0, true, nan}, {0.2, true, inf}, {0.5, true, 2.0}, {1.0, true, -inf}, {nil, false, nil},
	} {
		key := &expr.Col{ID: 2, Typ: types.Float8}
		call := expr.AggCall{Fn: f, Args: []expr.Expr{&expr.Col{ID: 1, Typ: types.Float8}}, Direct: 1, OrderBy: []expr.Order{{Expr: key, Desc: c.desc}}, Typ: types.Float8}
		a, err := agg.New(call, types.DefaultEnv)
		if err != nil {
			t.Fatal(err)
		}
		a.Resize(1)
		ps := make([]types.Datum, len(vals))
		for i := range ps {
			ps[i] = c.p
		}
		if err := a.Update(make([]uint32, len(vals)), []arrow.Array{optest.Array(t, types.Float8, ps), optest.Array(t, types.Float8, vals)}); err != nil {
			t.Fatal(err)
		}
		out, err := a.Results(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := types.DatumAt(types.Float8, out, 0)
		if g, ok := got.(float64); got != c.want && !(ok && g != g && c.want.(float64) != c.want.(float64)) {
			t.Errorf("percentile %v (desc %v): %v, not %v", c.p, c.desc, got, c.want)
		}
	}
}
