package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestColumnsBesideConstants compares kernels with loops for constant arguments, or for values that
// are repeated, with the same expression evaluated row by row.
func TestColumnsBesideConstants(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	env := newEnv(newHost())
	text := func(s string) expr.Expr { return &expr.Const{Val: s, Typ: types.Text} }
	int4 := func(i int64) expr.Expr { return &expr.Const{Val: i, Typ: types.Int4} }
	bpchar, money := types.Type{OID: types.BpcharOID, Mod: -1}, types.FixedNumeric(12, 2, false)
	call := func(id string, ret types.Type, args ...expr.Expr) expr.Expr {
		return &expr.Call{Fn: fn.ByID(id), Args: args, Typ: ret}
	}
	strings := func() types.Datum {
		return []string{"", "a", "ab", "héllo", "1234567", "12345678", "ééé", "13-345", "zz  ", " "}[rng.IntN(10)]
	}
	// Runs of one value, as the output of a join has for each row of the build side.
	run, left := types.Datum(nil), 0
	repeated := func() types.Datum {
		if left--; left < 0 {
			d, err := number.ParseDecimal([]string{"1.005", "-1.005", "2.50", "0", "NaN", "-Infinity", "92233720368547758.07", "123456789012345678901234567890.5"}[rng.IntN(8)])
			if err != nil {
				t.Fatal(err)
			}
			run, left = d, rng.IntN(20)
		}
		return run
	}
	cents := func() types.Datum {
		return number.DecimalFromInt64([]int64{0, 1, rng.Int64N(600) - 300}[rng.IntN(3)], 2)
	}
	type column struct {
		t    types.Type
		draw func() types.Datum
	}
	var cases []func(c []expr.Expr) expr.Expr
	for _, from := range []int64{-3, 0, 1, 2, 5, 2147483647} {
		cases = append(cases, func(c []expr.Expr) expr.Expr { return call("substring(text,int4)", types.Text, c[0], int4(from)) })
		for _, n := range []int64{0, 1, 2, 6, 2147483647} {
			cases = append(cases, func(c []expr.Expr) expr.Expr {
				return call("substring(text,int4,int4)", types.Text, c[0], int4(from), int4(n))
			})
		}
	}
	for _, list := range [][]expr.Expr{{text("13"), text("")}, {text("a"), text("ab"), text("1234567")}, {text("12345678"), text("a")}, {text("a"), &expr.Const{Typ: types.Text}}} {
		for _, not := range []bool{false, true} {
			cases = append(cases, func(c []expr.Expr) expr.Expr {
				return &expr.In{Arg: c[0], List: list, Not: not, Eq: fn.ByID("texteq(text,text)")}
			})
		}
	}
	cases = append(cases, func(c []expr.Expr) expr.Expr { return &expr.Cast{Arg: c[1], Typ: types.Text} })
	for _, op := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
		for _, at := range [][2]int{{2, 3}, {3, 2}} {
			cases = append(cases, func(c []expr.Expr) expr.Expr {
				return call("numeric_"+op+"(numeric,numeric)", types.Bool, c[at[0]], c[at[1]])
			})
		}
	}
	for _, digits := range []int64{-2, -1, 0, 1, 2, 3, 16} {
		cases = append(cases, func(c []expr.Expr) expr.Expr {
			return call("round(numeric,int4)", types.Numeric, c[2], int4(digits))
		})
	}
	cases = append(cases, func(c []expr.Expr) expr.Expr { return call("scale(numeric)", types.Int4, c[3]) })
	columns := []column{{types.Text, strings}, {bpchar, strings}, {money, cents}, {types.Numeric, repeated}}
	for i, build := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			for range 6 {
				n := 1 + rng.IntN(300)
				cols, vals, in := make([]arrow.Array, len(columns)), make([][]types.Datum, len(columns)), make([]plan.Column, len(columns))
				leaves := make([]expr.Expr, len(columns))
				nulls := rng.IntN(2) == 0
				for k, c := range columns {
					vals[k] = make([]types.Datum, n)
					for r := range vals[k] {
						if !nulls || rng.IntN(4) > 0 {
							vals[k][r] = c.draw()
						}
					}
					rows := array.NewBuilder(memory.DefaultAllocator, c.t.Arrow())
					for _, d := range vals[k] {
						if err := types.AppendDatum(rows, c.t, d); err != nil {
							t.Fatal(err)
						}
					}
					cols[k], in[k] = rows.NewArray(), plan.Column{ID: expr.ColID(k + 1), Type: c.t}
					leaves[k] = &expr.Col{ID: expr.ColID(k + 1), Typ: c.t}
				}
				over := build(leaves)
				p, err := eval.Compile(over, in, env)
				if err != nil {
					t.Fatal(err)
				}
				b := batch.New(cols, n)
				if rng.IntN(2) == 0 {
					b.Sel = []int32{}
					for r := range n {
						if rng.IntN(2) == 0 {
							b.Sel = append(b.Sel, int32(r))
						}
					}
				}
				got, err := p.Eval(context.Background(), b)
				if err != nil {
					t.Fatal(err)
				}
				for k := range b.Rows() {
					r := k
					if b.Sel != nil {
						r = int(b.Sel[k])
					}
					row := make([]expr.Expr, len(columns))
					for c := range columns {
						typ := columns[c].t
						if typ.IsFixed() {
							typ = types.Numeric // for which no such loop exists
						}
						row[c] = &expr.Const{Val: vals[c][r], Typ: typ}
					}
					want, err := eval.Constant(build(row), env)
					if err != nil {
						t.Fatal(err)
					}
					if have := types.DatumAt(over.Type(), got, k); have != want {
						t.Fatalf("row %d of %v: %v, want %v", r, over, have, want)
					}
				}
			}
		})
	}
}
