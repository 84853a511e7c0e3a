package agg_test

import (
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestNumericExtremes: min and max of numerics of one word and of several. Of equal ones the first
// is returned with its digits after the point; infinities and NaN are in PostgreSQL's order; at
// once and in parts, encoded or not.
func TestNumericExtremes(t *testing.T) {
	r := rand.New(rand.NewSource(12))
	funcs := map[string]*fn.Func{}
	for _, name := range []string{"min", "max"} {
		for _, f := range fn.Lookup(name) {
			if f.Kind == fn.Aggregate && f.Args[0] == types.NumericOID {
				funcs[name] = f
			}
		}
	}
	const groups = 3
	value := func() types.Datum {
		switch r.Intn(12) {
		case 0:
			return nil
		case 1:
			return []number.Decimal{number.DecimalNaN, number.DecimalInf, number.DecimalNegInf}[r.Intn(3)]
		}
		d := number.DecimalFromInt64(int64(r.Intn(7)-3), 0)
		if r.Intn(2) == 0 { // two words
			d, _ = d.Mul(number.DecimalFromInt64(1<<62+int64(r.Intn(2)), 0))
		}
		return d.Round(int32(r.Intn(4) * 7))
	}
	for round := range 300 {
		name := []string{"min", "max"}[round%2]
		fresh := func() agg.Agg {
			a, err := agg.New(expr.AggCall{Fn: funcs[name], Args: []expr.Expr{&expr.Col{Typ: types.Numeric}}, Typ: types.Numeric}, nil)
			if err != nil {
				t.Fatal(err)
			}
			a.Resize(groups)
			return a
		}
		var want [groups]types.Datum
		whole := fresh()
		all := []uint32{0, 1, 2}
		for range 1 + r.Intn(4) {
			vals := make([]types.Datum, r.Intn(12))
			ids := make([]uint32, len(vals))
			for i := range vals {
				d, g := value(), uint32(r.Intn(groups))
				vals[i], ids[i] = d, g
				if d == nil {
					continue
				}
				if have := want[g]; have != nil {
					if c := d.(number.Decimal).Cmp(have.(number.Decimal)); name == "min" && c >= 0 || name == "max" && c <= 0 {
						continue
					}
				}
				want[g] = d
			}
			part := fresh()
			if err := part.Update(ids, []arrow.Array{optest.Array(t, types.Numeric, vals)}); err != nil {
				t.Fatal(err)
			}
			if r.Intn(2) == 0 {
				if err := whole.(agg.Merger).MergeFrom(all, part, all); err != nil {
					t.Fatal(err)
				}
				continue
			}
			states, err := part.States(0, groups)
			if err != nil {
				t.Fatal(err)
			}
			if err := whole.MergeStates(all, states.(*array.Binary)); err != nil {
				t.Fatal(err)
			}
		}
		out, err := whole.Results(0, groups)
		if err != nil {
			t.Fatal(err)
		}
		for g := range groups {
			got := types.DatumAt(types.Numeric, out, g)
			if (got == nil) != (want[g] == nil) || got != nil && got.(number.Decimal).String() != want[g].(number.Decimal).String() {
				t.Fatalf("round %d: %s of group %d is %v, not %v", round, name, g, got, want[g])
			}
		}
	}
}
