package agg_test

import (
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestNumericSumsOfAnySize adds numerics whose sums exceed 64 bits, 128 bits and change their
// scale: the result equals adding them one by one, digits after the point included, however they
// are divided into parts.
func TestNumericSumsOfAnySize(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	var sum *fn.Func
	for _, f := range fn.Lookup("sum") {
		if f.Kind == fn.Aggregate && f.Args[0] == types.NumericOID {
			sum = f
		}
	}
	fresh := func() agg.Agg {
		a, err := agg.New(expr.AggCall{Fn: sum, Args: []expr.Expr{&expr.Col{Typ: types.Numeric}}, Typ: types.Numeric}, nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Resize(1)
		return a
	}
	value := func(wild bool) number.Decimal {
		d := number.DecimalFromInt64(r.Int63n(1<<uint(1+r.Intn(62)))-1<<20, int32(r.Intn(4)))
		if !wild {
			return d
		}
		switch r.Intn(9) {
		case 0:
			d = number.DecimalFromInt64(r.Int63(), int32(r.Intn(60)))
		case 1, 2:
			d, _ = d.Mul(number.DecimalFromInt64(r.Int63(), 0))
			d, _ = d.Mul(number.DecimalFromInt64(r.Int63(), int32(r.Intn(25))))
		case 3:
			d = number.DecimalFromInt64(-1<<63, int32(r.Intn(19)))
		case 4:
			d = number.DecimalFromInt64(0, int32(r.Intn(30)))
		}
		return d
	}
	for round := range 400 {
		n := 1 + r.Intn(60)
		vals := make([]types.Datum, n)
		var want number.Decimal
		for i := range vals {
			d := value(round%3 > 0)
			if round%9 == 8 && i == n/2 {
				d = number.DecimalNaN
			}
			vals[i] = d
			var err error
			if want, err = want.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		parts := make([]agg.Agg, 3)
		for i := range parts {
			parts[i] = fresh()
		}
		for from := 0; from < n; {
			to := min(n, from+1+r.Intn(20))
			if err := parts[r.Intn(3)].Update(make([]uint32, to-from), []arrow.Array{optest.Array(t, types.Numeric, vals[from:to])}); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		whole := fresh()
		for _, p := range parts {
			if err := whole.(agg.Merger).MergeFrom([]uint32{0}, p, []uint32{0}); err != nil {
				t.Fatal(err)
			}
		}
		out, err := whole.Results(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := types.DatumAt(types.Numeric, out, 0).(number.Decimal); got.String() != want.String() {
			t.Fatalf("round %d: the sum of %v is %s, not %s", round, vals, got, want)
		}
	}
}
