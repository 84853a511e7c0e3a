package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestQuotientCompare: a / b > c is evaluated without the division; it and a CASE of it must agree
// with the numeric quotient, also where rounding that quotient makes it equal c.
func TestQuotientCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	v := types.Numeric
	schema := []plan.Column{{ID: 1, Type: v}, {ID: 2, Type: v}}
	must := func(d number.Decimal, err error) number.Decimal {
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	parse := func(s string) number.Decimal {
		d, err := number.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	ops := map[string]func(c int) bool{"gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 }, "lt": func(c int) bool { return c < 0 },
		"le": func(c int) bool { return c <= 0 }, "eq": func(c int) bool { return c == 0 }, "ne": func(c int) bool { return c != 0 }}
	digits := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte('0' + byte(rng.IntN(10)))
		}
		return b.String()
	}
	equal := 0
	for range 400 {
		c := parse([]string{"1", "-1", "0.5", "3", "1234567890123456789012345678901234567890.5", "0.00001"}[rng.IntN(6)])
		var as, bs []types.Datum
		for range 50 {
			b := parse([]string{"", "-"}[rng.IntN(2)] + "1" + digits(rng.IntN(25)) + "." + digits(rng.IntN(20)))
			if rng.IntN(10) == 0 {
				b = parse([]string{"NaN", "Infinity", "1e-300", "1e300"}[rng.IntN(4)])
			}
			a := must(b.Mul(c)) // the quotient is exactly c
			switch rng.IntN(4) {
			case 0:
				a = parse(digits(1+rng.IntN(30)) + "." + digits(rng.IntN(30)))
			case 1: // the quotient is a little more than c
				a = must(a.Add(parse("0." + strings.Repeat("0", rng.IntN(20)) + "1")))
			case 2:
				a = must(a.Sub(parse("0." + strings.Repeat("0", rng.IntN(20)) + "1")))
			}
			as, bs = append(as, a), append(bs, b)
			if rng.IntN(10) == 0 {
				as[len(as)-1] = nil
			}
		}
		cols := make([]arrow.Array, 2)
		for i, ds := range [][]types.Datum{as, bs} {
			arr, err := column(v, ds)
			if err != nil {
				t.Fatal(err)
			}
			cols[i] = arr
		}
		for name, holds := range ops {
			div := call("numeric_div(numeric,numeric)", &expr.Col{ID: 1, Typ: v}, &expr.Col{ID: 2, Typ: v})
			k := &expr.Const{Val: c, Typ: v}
			zero := &expr.Const{Val: parse("0"), Typ: v}
			guarded := &expr.Case{Typ: v, Whens: []expr.When{{Cond: call("numeric_eq(numeric,numeric)", &expr.Col{ID: 2, Typ: v}, zero), Then: zero}}, Else: div}
			f := fmt.Sprintf("numeric_%s(numeric,numeric)", name)
			for _, e := range []expr.Expr{call(f, div, k), call(f, guarded, k)} {
				p, err := eval.Compile(e, schema, newEnv(newHost()))
				if err != nil {
					t.Fatal(err)
				}
				out, err := p.Eval(context.Background(), batch.New(cols, len(as)))
				if err != nil {
					t.Fatal(err)
				}
				for i := range as {
					var want types.Datum
					if as[i] != nil {
						q, err := as[i].(number.Decimal).Div(bs[i].(number.Decimal))
						if err != nil {
							t.Fatal(err)
						}
						want = holds(q.Cmp(c))
						if q.Cmp(c) == 0 {
							equal++
						}
					}
					if got := types.DatumAt(types.Bool, out, i); got != want {
						t.Fatalf("%v / %v %s %v: %v, want %v", as[i], bs[i], name, c, got, want)
					}
				}
			}
		}
	}
	if equal == 0 {
		t.Error("no quotient was the constant")
	}
	cols := make([]arrow.Array, 2)
	cols[0], _ = column(v, []types.Datum{parse("1"), parse("0")})
	cols[1], _ = column(v, []types.Datum{parse("1"), parse("0")})
	p, err := eval.Compile(call("numeric_gt(numeric,numeric)", call("numeric_div(numeric,numeric)", &expr.Col{ID: 1, Typ: v}, &expr.Col{ID: 2, Typ: v}),
		&expr.Const{Val: parse("1"), Typ: v}), schema, newEnv(newHost()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(context.Background(), batch.New(cols, 2)); !pgerr.Is(err, pgerr.DivisionByZero) {
		t.Errorf("0 / 0 > 1: %v", err)
	}
}
