package eval_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function/mathfn"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestRoundedQuotient: a rounded quotient of fixed numerics, by a column and by a constant, is that of the numeric
// quotient, also where rounding the quotient first makes it another number than the exact one rounds to.
func TestRoundedQuotient(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	fixed := func(p, s uint8) types.Type { return types.FixedNumeric(p, s, false) }
	calls := []string{"floor(numeric)", "ceil(numeric)", "trunc(numeric)", "round(numeric)", "round(numeric,int4)"}
	for range 300 {
		at, bt := fixed(4+uint8(rng.IntN(8)), uint8(rng.IntN(4))), fixed(1+uint8(rng.IntN(7)), 0)
		if rng.IntN(3) == 0 { // quotients above 10⁸ of 8 places, which are rounded to whole ones, too
			at, bt = fixed(18, 0), fixed(9, 0)
		}
		if bt.Prec > 3 && rng.IntN(2) == 0 {
			bt = fixed(bt.Prec, uint8(rng.IntN(3)))
		}
		coef := func(digits uint8) int64 {
			m := mathfn.Pow10[digits]
			return rng.Int64N(2*m-1) - m + 1
		}
		const rows = 60
		as, bs := make([]types.Datum, rows), make([]types.Datum, rows)
		by := coef(bt.Prec)
		if by == 0 {
			by = 7
		}
		for i := range as {
			b := coef(bt.Prec)
			if b == 0 {
				b = by
			}
			a := coef(at.Prec)
			if q := coef(3); rng.IntN(2) == 0 && at.Scale >= bt.Scale { // near a whole quotient, or a half
				d := b
				if rng.IntN(2) == 0 {
					d = by
				}
				d *= mathfn.Pow10[at.Scale-bt.Scale]
				if v := q*d + d/2*rng.Int64N(2) + rng.Int64N(3) - 1; v > -1e9 && v < 1e9 && max(v, -v) < mathfn.Pow10[at.Prec] {
					a = v
				}
			}
			as[i], bs[i] = number.DecimalFromInt64(a, int32(at.Scale)), number.DecimalFromInt64(b, int32(bt.Scale))
			if rng.IntN(12) == 0 {
				as[i] = nil
			}
		}
		schema := []plan.Column{{ID: 1, Type: at}, {ID: 2, Type: bt}}
		cols := make([]arrow.Array, 2)
		for i, ds := range [][]types.Datum{as, bs} {
			arr, err := column(schema[i].Type, ds)
			if err != nil {
				t.Fatal(err)
			}
			cols[i] = arr
		}
		if bt.Scale > 0 && rng.IntN(3) == 0 {
			by = 1 // below one, so that the quotient has more digits than a
		}
		k := number.DecimalFromInt64(by, int32(bt.Scale))
		for _, right := range []expr.Expr{&expr.Col{ID: 2, Typ: bt}, &expr.Const{Val: k, Typ: types.Numeric}} {
			for _, name := range calls {
				places := int64(0)
				args := []expr.Expr{call("numeric_div(numeric,numeric)", &expr.Col{ID: 1, Typ: at}, right)}
				if name == "round(numeric,int4)" {
					places = rng.Int64N(4)
					args = append(args, &expr.Const{Val: places, Typ: types.Int4})
				}
				e := call(name, args...)
				c := e.(*expr.Call)
				if c.Typ = types.Numeric; rng.IntN(2) == 0 {
					c.Typ = rewrite.RoundedType(c.Fn, c.Args, types.Numeric)
				}
				p, err := eval.Compile(c, schema, newEnv(newHost()))
				if err != nil {
					t.Fatal(err)
				}
				out, err := p.Eval(context.Background(), batch.New(cols, rows))
				if err != nil {
					t.Fatal(err)
				}
				for i := range as {
					var want types.Datum
					if as[i] != nil {
						b := bs[i]
						if _, isConst := right.(*expr.Const); isConst {
							b = k
						}
						q, err := as[i].(number.Decimal).Div(b.(number.Decimal))
						if err != nil {
							t.Fatal(err)
						}
						want = rounded(q, name, int32(places))
					}
					got := types.DatumAt(c.Typ, out, i)
					if want == nil || got == nil {
						if want != got {
							t.Fatalf("%s(%v / %v): %v, want %v", name, as[i], bs[i], got, want)
						}
						continue
					}
					if g := got.(number.Decimal); g.String() != want.(number.Decimal).String() {
						t.Fatalf("%s(%v / %v, %d): %v, want %v (by %v)", name, as[i], bs[i], places, got, want, k)
					}
				}
			}
		}
	}
	cols := make([]arrow.Array, 2)
	at, bt := fixed(6, 2), fixed(3, 0)
	cols[0], _ = column(at, []types.Datum{number.DecimalFromInt64(100, 2)})
	cols[1], _ = column(bt, []types.Datum{number.DecimalFromInt64(0, 0)})
	e := call("floor(numeric)", call("numeric_div(numeric,numeric)", &expr.Col{ID: 1, Typ: at}, &expr.Col{ID: 2, Typ: bt})).(*expr.Call)
	e.Typ = rewrite.RoundedType(e.Fn, e.Args, types.Numeric)
	p, err := eval.Compile(e, []plan.Column{{ID: 1, Type: at}, {ID: 2, Type: bt}}, newEnv(newHost()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(context.Background(), batch.New(cols, 1)); !pgerr.Is(err, pgerr.DivisionByZero) {
		t.Errorf("floor(1 / 0): %v", err)
	}
}

func rounded(q number.Decimal, name string, places int32) number.Decimal {
	switch name {
	case "floor(numeric)":
		return q.Floor()
	case "ceil(numeric)":
		return q.Ceil()
	case "trunc(numeric)":
		return q.Trunc(0)
	}
	return q.Round(places)
}

// TestRoundedPlaces: fixed numerics rounded or cut to a constant number of places, before the point too, are those that
// decimals of any length become, with the scale that these have.
func TestRoundedPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 400 {
		prec := uint8(1 + rng.IntN(18))
		at := types.FixedNumeric(prec, uint8(rng.IntN(int(prec)+1)), false)
		vals := []types.Datum{nil}
		for range 40 {
			most := mathfn.Pow10[rng.IntN(int(prec)+1)]
			vals = append(vals, number.DecimalFromInt64(rng.Int64N(2*most-1)-most+1, int32(at.Scale)))
			half := min(5*mathfn.Pow10[rng.IntN(18)], mathfn.Pow10[prec]-1)
			vals = append(vals, number.DecimalFromInt64(half, int32(at.Scale)), number.DecimalFromInt64(-half, int32(at.Scale)))
		}
		arr, err := column(at, vals)
		if err != nil {
			t.Fatal(err)
		}
		places := rng.Int64N(41) - 20
		for _, name := range []string{"round(numeric,int4)", "trunc(numeric,int4)"} {
			c := call(name, &expr.Col{ID: 1, Typ: at}, &expr.Const{Val: places, Typ: types.Int4}).(*expr.Call)
			c.Typ = rewrite.RoundedType(c.Fn, c.Args, types.Numeric)
			p, err := eval.Compile(c, []plan.Column{{ID: 1, Type: at}}, newEnv(newHost()))
			if err != nil {
				t.Fatal(err)
			}
			out, err := p.Eval(context.Background(), batch.New([]arrow.Array{arr}, len(vals)))
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vals {
				got := types.DatumAt(c.Typ, out, i)
				if v == nil || got == nil {
					if got != v {
						t.Fatalf("%s(%v, %d): %v", name, v, places, got)
					}
					continue
				}
				want := v.(number.Decimal).Round(int32(places))
				if name == "trunc(numeric,int4)" {
					want = v.(number.Decimal).Trunc(int32(places))
				}
				fits := true
				if c.Typ.IsFixed() {
					coef, ok := want.Coefficient(int32(c.Typ.Scale))
					fits = ok && max(coef, -coef) < mathfn.Pow10[c.Typ.Prec]
				}
				if got.(number.Decimal).String() != want.String() || !fits {
					t.Fatalf("%s(%v, %d) as %s of %d digits: %v, want %v", name, v, places, c.Typ, c.Typ.Prec, got, want)
				}
			}
		}
	}
}
