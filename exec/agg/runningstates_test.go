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

// TestRun: running aggregates, as of a window frame that begins with its partition. The state after
// each row equals adding the rows of its stretch one by one: sums that overflow 64 bits, numerics
// of many scales, and the first of equal values for min and max.
func TestRun(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	fixed := types.FixedNumeric(18, 2, false)
	values := map[types.OID]func() types.Datum{
		types.Int8OID:   func() types.Datum { return (r.Int63() - 1<<62) * 2 },
		types.Int4OID:   func() types.Datum { return int64(r.Intn(5)) },
		types.Float8OID: func() types.Datum { return []float64{0, 1, -2.5}[r.Intn(3)] },
		types.NumericOID: func() types.Datum {
			d := number.DecimalFromInt64(int64(r.Intn(7)-3), 0)
			if r.Intn(2) == 0 {
				d, _ = d.Mul(number.DecimalFromInt64(1<<62, 0))
			}
			return d.Round(int32(r.Intn(4) * 7))
		},
	}
	for round := range 400 {
		name := []string{"min", "max", "sum", "avg", "count"}[round%5]
		in := []types.Type{types.Int8, types.Int4, types.Numeric, types.Float8, fixed}[r.Intn(5)]
		var f *fn.Func
		for _, x := range fn.Lookup(name) {
			if x.Kind == fn.Aggregate && len(x.Args) == 1 && (x.Args[0] == in.OID || name == "count") {
				f = x
			}
		}
		out := types.Numeric
		switch {
		case name == "count" || name == "sum" && in.OID == types.Int4OID:
			out = types.Int8
		case name == "min" || name == "max" || in.OID == types.Float8OID:
			out = in
		}
		fresh := func(groups int) agg.Agg {
			a, err := agg.New(expr.AggCall{Fn: f, Args: []expr.Expr{&expr.Col{Typ: in}}, Typ: out}, nil)
			if err != nil {
				t.Fatal(err)
			}
			a.Resize(groups)
			return a
		}
		n := 1 + r.Intn(30)
		vals, ids := make([]types.Datum, n), make([]uint32, n)
		var goOn []uint32
		start := make([]int, n)
		for i := range vals {
			ids[i] = uint32(i)
			if r.Intn(6) > 0 {
				vals[i] = values[in.OID]()
				if in.IsFixed() {
					vals[i] = number.DecimalFromInt64(r.Int63n(2e17)-1e17, 2)
				}
			}
			if start[i] = i; i > 0 && r.Intn(5) > 0 {
				start[i] = start[i-1]
				goOn = append(goOn, uint32(i))
			}
		}
		all := fresh(n)
		run, ok := all.(agg.Runner)
		if !ok {
			continue
		}
		arr := optest.Array(t, in, vals)
		if err := all.Update(ids, []arrow.Array{arr}); err != nil {
			t.Fatal(err)
		}
		if err := run.Run(goOn); err != nil {
			t.Fatal(err)
		}
		got, err := all.Results(0, n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range vals {
			one := fresh(1)
			if err := one.Update(make([]uint32, i+1-start[i]), []arrow.Array{optest.Array(t, in, vals[start[i]:i+1])}); err != nil {
				t.Fatal(err)
			}
			want, err := one.Results(0, 1)
			if err != nil {
				t.Fatal(err)
			}
			g, w := types.DatumAt(out, got, i), types.DatumAt(out, want, 0)
			if (g == nil) != (w == nil) || g != nil && string(types.AppendText(nil, out, g, nil)) != string(types.AppendText(nil, out, w, nil)) {
				t.Fatalf("round %d: %s of %s up to row %d is %v, not %v", round, name, in, i, g, w)
			}
		}
	}
}

// TestFixedSum: a numeric sum kept as a fixed-point int64 equals the general one, and is NULL for
// no rows.
func TestFixedSum(t *testing.T) {
	in := types.FixedNumeric(9, 2, false)
	var sum *fn.Func
	for _, f := range fn.Lookup("sum") {
		if f.Args[0] == types.NumericOID {
			sum = f
		}
	}
	vals := []types.Datum{number.DecimalFromInt64(-123456789, 2), nil, number.DecimalFromInt64(50, 2), number.DecimalFromInt64(999999999, 2), nil}
	var got [2]string
	for i, out := range []types.Type{types.Numeric, types.FixedNumeric(18, 2, false)} {
		a, err := agg.New(expr.AggCall{Fn: sum, Args: []expr.Expr{&expr.Col{Typ: in}}, Typ: out}, nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Resize(3)
		if err := a.Update([]uint32{0, 1, 0, 2, 1}, []arrow.Array{optest.Array(t, in, vals)}); err != nil {
			t.Fatal(err)
		}
		arr, err := a.Results(0, 3)
		if err != nil {
			t.Fatal(err)
		}
		if want := out.Arrow(); !arrow.TypeEqual(arr.DataType(), want) {
			t.Errorf("a sum as %s is a column of %s", want, arr.DataType())
		}
		for g := range 3 {
			if d := types.DatumAt(out, arr, g); d != nil {
				got[i] += string(types.AppendText(nil, out, d, nil))
			}
			got[i] += ";"
		}
	}
	if got[0] != got[1] || got[0] != "-1234567.39;;9999999.99;" {
		t.Errorf("sums are %s, and represented as fixed %s", got[0], got[1])
	}
}
