package eval_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestProgramsTogether: expressions compiled together share common subexpressions and return what
// each returns when compiled alone, for all rows, for some, for none, and for another batch.
func TestProgramsTogether(t *testing.T) {
	b, schema := lineitem()
	col := func(i int) expr.Expr { return &expr.Col{ID: schema[i].ID, Typ: schema[i].Type} }
	one := func() expr.Expr {
		return &expr.Const{Typ: types.FixedNumeric(1, 0, false), Val: number.DecimalFromInt64(1, 0)}
	}
	disc := func() expr.Expr {
		return call("numeric_mul(numeric,numeric)", col(0), call("numeric_sub(numeric,numeric)", one(), col(1)))
	}
	large := call("numeric_gt(numeric,numeric)", col(0), &expr.Const{Typ: schema[0].Type, Val: number.DecimalFromInt64(5000000, 2)})
	es := []expr.Expr{
		disc(), col(0), call("numeric_mul(numeric,numeric)", disc(), call("numeric_add(numeric,numeric)", one(), col(2))), disc(),
		call("upper(text)", col(6)), call("upper(text)", col(6)), col(6),
		&expr.Case{Whens: []expr.When{{Cond: large, Then: disc()}}, Else: col(0), Typ: disc().Type()}, large,
	}
	together, at, err := eval.CompileAll(es, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	if at[0] != at[3] || at[4] != at[5] || at[0] == at[1] || at[0] == at[2] {
		t.Errorf("places %v", at)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	some := func(n int) []int32 {
		var sel []int32
		for i := range b.N {
			if rng.IntN(b.N) < n {
				sel = append(sel, int32(i))
			}
		}
		return sel
	}
	for _, sel := range [][]int32{nil, some(b.N / 2), some(3), {}, some(b.N - 10), nil} {
		in := &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}
		got, err := together.EvalScratch(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range es {
			p, err := eval.Compile(e, schema, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := p.Eval(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			have := got[at[i]]
			if have.Len() != want.Len() {
				t.Fatalf("expression %d of %d rows: %d rows", i, want.Len(), have.Len())
			}
			for r := range want.Len() {
				if a, b := types.DatumAt(e.Type(), have, r), types.DatumAt(e.Type(), want, r); types.Compare(e.Type(), a, b) != 0 {
					t.Fatalf("expression %d, row %d: got %v, want %v", i, r, a, b)
				}
			}
		}
	}
}

// TestProgramsTotal: Total is true for expressions that cannot fail, so that they may be evaluated
// for rows that a filter excludes.
func TestProgramsTotal(t *testing.T) {
	_, schema := lineitem()
	schema = append(schema, plan.Column{ID: 9, Type: types.Int8})
	col := func(i int) expr.Expr { return &expr.Col{ID: schema[i].ID, Typ: schema[i].Type} }
	for _, c := range []struct {
		e     expr.Expr
		total bool
	}{
		{col(5), true},
		{call("numeric_mul(numeric,numeric)", col(0), call("numeric_sub(numeric,numeric)", col(1), col(2))), true},
		{call("numeric_div(numeric,numeric)", col(0), col(1)), false},
		{call("int8pl(int8,int8)", col(8), col(8)), false},
		{call("random()"), false},
		{call("upper(text)", col(5)), false},
	} {
		p, _, err := eval.CompileAll([]expr.Expr{col(0), c.e}, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Total() != c.total {
			t.Errorf("%s: total %v", c.e.(interface{ Type() types.Type }).Type(), p.Total())
		}
	}
}

// TestProgramsShare: only subexpressions that have the same value each time are computed once
// (random() is not), and errors are returned.
func TestProgramsShare(t *testing.T) {
	random := func() expr.Expr { return &expr.Call{Fn: fn.ByID("random()"), Typ: types.Float8} }
	p, at, err := eval.CompileAll([]expr.Expr{random(), random()}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.EvalScratch(context.Background(), batch.New(nil, 4))
	if err != nil {
		t.Fatal(err)
	}
	if at[0] == at[1] || got[0].(*array.Float64).Value(0) == got[1].(*array.Float64).Value(0) {
		t.Error("random() was computed once for two calls")
	}
	same := func(a, b expr.Expr) bool {
		x, ok1 := eval.Fingerprint(a)
		y, ok2 := eval.Fingerprint(b)
		return ok1 && ok2 && x == y
	}
	if a, b := random(), random(); same(a, b) {
		t.Error("two calls of random() are the same")
	}
	text := func(s string) expr.Expr { return &expr.Const{Typ: types.Text, Val: s} }
	if same(text("1"), &expr.Const{Typ: types.Int8, Val: int64(1)}) || same(text("a"), text("b")) || !same(text("a"), text("a")) {
		t.Error("constants are taken for each other")
	}
	zero := &expr.Const{Typ: types.Int8, Val: int64(0)}
	schema := []plan.Column{{ID: 1, Type: types.Int8}}
	div := call("int8div(int8,int8)", &expr.Col{ID: 1, Typ: types.Int8}, zero)
	if p, _, err = eval.CompileAll([]expr.Expr{div, div}, schema, nil); err != nil {
		t.Fatal(err)
	}
	if _, err = p.EvalScratch(context.Background(), batch.New([]arrow.Array{batch.FromSlice(types.Int8.Arrow(), []int64{1, 2}, nil)}, 2)); pgerr.CodeOf(err) != pgerr.DivisionByZero {
		t.Errorf("got %v", err)
	}
}
