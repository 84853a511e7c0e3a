package eval_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestGuards: an expression is not evaluated for rows that a condition excludes. 10 / x guarded by
// x <> 0, in every form that SQL has for it, must not raise division by zero, over columns with
// zeros and NULLs.
func TestGuards(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	x := &expr.Col{ID: 1, Typ: types.Int4}
	k := func(v int64) expr.Expr { return &expr.Const{Val: v, Typ: types.Int4} }
	div := call("int4div(int4,int4)", k(10), x)
	nonzero := call("int4ne(int4,int4)", x, k(0))
	big := call("int4gt(int4,int4)", div, k(2))
	schema := []plan.Column{{ID: 1, Type: types.Int4}}
	null := &expr.Const{Typ: types.Int4}
	for name, c := range map[string]struct {
		e    expr.Expr
		want func(v int64) types.Datum // for a row that is not NULL
		nul  types.Datum
	}{
		"case": {&expr.Case{Typ: types.Int4, Whens: []expr.When{{Cond: nonzero, Then: div}}, Else: k(-1)},
			func(v int64) types.Datum {
				if v == 0 {
					return int64(-1)
				}
				return 10 / v
			}, int64(-1)},
		"and": {&expr.And{Args: []expr.Expr{nonzero, big}}, func(v int64) types.Datum { return v != 0 && 10/v > 2 }, nil},
		"or":  {&expr.Or{Args: []expr.Expr{&expr.Not{Arg: nonzero}, big}}, func(v int64) types.Datum { return v == 0 || 10/v > 2 }, nil},
		"coalesce": {&expr.Coalesce{Typ: types.Int4, Args: []expr.Expr{
			&expr.Case{Typ: types.Int4, Whens: []expr.When{{Cond: nonzero, Then: null}}, Else: k(7)}, div}},
			func(v int64) types.Datum {
				if v == 0 {
					return int64(7)
				}
				return 10 / v
			}, int64(7)},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := eval.Compile(c.e, schema, newEnv(newHost()))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 3, 500} {
				ds := make([]types.Datum, n)
				for i := range ds {
					if rng.IntN(6) > 0 {
						ds[i] = int64(rng.IntN(7)) - 3
					}
				}
				arr, err := column(types.Int4, ds)
				if err != nil {
					t.Fatal(err)
				}
				out, err := p.Eval(context.Background(), batch.New([]arrow.Array{arr}, n))
				if err != nil {
					t.Fatal(err)
				}
				for i, d := range ds {
					want := c.nul
					if d != nil {
						want = c.want(d.(int64))
					}
					if got := types.DatumAt(c.e.Type(), out, i); got != want {
						t.Fatalf("x = %v: %v, want %v", d, got, want)
					}
				}
			}
		})
	}
	t.Run("filter", func(t *testing.T) {
		arr, _ := column(types.Int4, []types.Datum{int64(0), int64(1), nil, int64(5), int64(3)})
		f, err := eval.CompileFilter([]expr.Expr{nonzero, big}, schema, newEnv(newHost()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.Select(context.Background(), batch.New([]arrow.Array{arr}, 5))
		if err != nil || len(b.Sel) != 2 || b.Sel[0] != 1 || b.Sel[1] != 4 {
			t.Fatal(b, err)
		}
	})
	t.Run("unguarded", func(t *testing.T) {
		arr, _ := column(types.Int4, []types.Datum{int64(2), int64(0)})
		p, err := eval.Compile(div, schema, newEnv(newHost()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Eval(context.Background(), batch.New([]arrow.Array{arr}, 2)); !pgerr.Is(err, pgerr.DivisionByZero) {
			t.Fatal(err)
		}
	})
}

// TestResultsAreKept: the result of Eval stays valid after the next call; the result of EvalScratch
// need not, as its memory is reused.
func TestResultsAreKept(t *testing.T) {
	x := &expr.Col{ID: 1, Typ: types.Text}
	p, err := eval.Compile(&expr.Call{Fn: fn.ByID("upper(text)"), Args: []expr.Expr{x}, Typ: types.Text},
		[]plan.Column{{ID: 1, Type: types.Text}}, newEnv(newHost()))
	if err != nil {
		t.Fatal(err)
	}
	var kept []arrow.Array
	words := []string{"one", "two", "three"}
	for _, w := range words {
		arr, _ := column(types.Text, []types.Datum{w, nil, w + w})
		out, err := p.Eval(context.Background(), batch.New([]arrow.Array{arr}, 3))
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, out)
	}
	for i, want := range []string{"ONE", "TWO", "THREE"} {
		if got := types.DatumAt(types.Text, kept[i], 0); got != want {
			t.Fatalf("%v, want %s", got, want)
		}
		if got := types.DatumAt(types.Text, kept[i], 2); got != want+want {
			t.Fatalf("%v, want %s%s", got, want, want)
		}
	}
}
