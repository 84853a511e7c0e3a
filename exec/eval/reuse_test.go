package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestProgramsAgain: programs and filters that rest between runs give what newly compiled ones give, whatever the
// parameters and rows of a run; what a run before was about is not seen.
func TestProgramsAgain(t *testing.T) {
	b, schema := lineitem()
	param := func(n int, t types.Type) expr.Expr { return &expr.Param{N: n, Typ: t} }
	large := call("numeric_gt(numeric,numeric)", col(schema, 1), param(1, schema[0].Type))
	lists := map[string][]expr.Expr{
		"numbers": {call("numeric_mul(numeric,numeric)", col(schema, 1), param(1, schema[0].Type)), col(schema, 2), large, param(1, schema[0].Type)},
		"cases":   {&expr.Case{Whens: []expr.When{{Cond: large, Then: col(schema, 7)}}, Else: param(2, types.Text), Typ: types.Text}, large},
		"texts":   {call("upper(text)", col(schema, 7)), call("textlike(text,text)", col(schema, 7), param(3, types.Text)), call("upper(text)", param(2, types.Text))},
		"nulls":   {&expr.Coalesce{Args: []expr.Expr{param(2, types.Text), col(schema, 7)}, Typ: types.Text}, &expr.IsNull{Arg: param(2, types.Text)}},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for name, es := range lists {
		var kept []*eval.Program
		var filter *eval.Filter
		var conds []expr.Expr
		for _, e := range es {
			if e.Type().OID == types.BoolOID {
				conds = append(conds, e)
			}
		}
		for run := range 40 {
			env := &function.Env{Params: []types.Datum{number.DecimalFromInt64(rng.Int64N(10000000), 2), types.Datum(fmt.Sprint("text ", run)), "%" + string(rune('A'+run%26)) + "%"}}
			if run%5 == 4 {
				env.Params = make([]types.Datum, 3)
			}
			from := rng.IntN(b.N - 20)
			in := b.Slice(from, from+1+rng.IntN(20))
			if run%3 == 0 {
				in = &batch.Batch{Cols: in.Cols, N: in.N, Sel: []int32{int32(in.N - 1)}, Seq: -1}
			}
			var err error
			if kept == nil {
				if kept, err = eval.CompileColumnsAgain(es, schema, env); err == nil {
					filter, err = eval.CompileFilterAgain(conds, schema, env)
				}
				if err != nil {
					t.Fatal(err)
				}
			} else {
				eval.Rebind(kept, env)
				filter.Rebind(env)
			}
			got := make([]string, len(es))
			for i, p := range kept {
				a, err := p.Eval(context.Background(), in)
				got[i] = fmt.Sprint(a, err)
			}
			pass, err := filter.Select(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			if !eval.Rest(kept) || !filter.Rest() {
				t.Fatalf("%s: the programs are of one statement", name)
			}
			fresh, err := eval.CompileColumns(es, schema, env)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range fresh {
				a, err := p.Eval(context.Background(), in)
				if want := fmt.Sprint(a, err); got[i] != want {
					t.Fatalf("%s, run %d, expression %d: %s, not %s", name, run, i, got[i], want)
				}
			}
			f, err := eval.CompileFilter(conds, schema, env)
			if err != nil {
				t.Fatal(err)
			}
			want, err := f.Select(context.Background(), in)
			if err != nil || fmt.Sprint(pass.Sel) != fmt.Sprint(want.Sel) {
				t.Fatalf("%s, run %d: the filter keeps %v, not %v: %v", name, run, pass.Sel, want.Sel, err)
			}
		}
	}
	for _, e := range []expr.Expr{call("random()"), &expr.Cast{Arg: param(2, types.Text), Typ: types.Int8}} {
		ps, err := eval.CompileColumnsAgain([]expr.Expr{e}, nil, &function.Env{Params: make([]types.Datum, 3)})
		if err != nil || eval.Rest(ps) {
			t.Errorf("%v: again, %v", e, err)
		}
	}
}
