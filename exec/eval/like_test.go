package eval_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// TestLikeOfColumns: LIKE with a pattern that is searched for in the bytes of a whole column at
// once finds the same rows as string by string.
func TestLikeOfColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	env := newEnv(newHost())
	schema := []plan.Column{{ID: 1, Name: "s", Type: types.Text}}
	const letters, wild = "abé", "abé%%_"
	text := func(from string, n int) string {
		r := []rune(from)
		out := make([]rune, n)
		for i := range out {
			out[i] = r[rng.IntN(len(r))]
		}
		return string(out)
	}
	for range 300 {
		n := rng.IntN(200)
		b := array.NewStringBuilder(memory.DefaultAllocator)
		vals := make([]types.Datum, n)
		nulls := rng.IntN(2) == 0
		for i := range n {
			if nulls && rng.IntN(5) == 0 {
				b.AppendNull()
				continue
			}
			s := text(letters, rng.IntN(9))
			vals[i] = s
			b.Append(s)
		}
		pattern := text(wild, rng.IntN(7))
		if rng.IntN(2) == 0 {
			pattern = "%" + text(letters, 2) + text(wild, rng.IntN(5))
		}
		in := batch.New([]arrow.Array{b.NewArray()}, n)
		if rng.IntN(3) == 0 {
			in.Sel = []int32{}
			for i := range n {
				if rng.IntN(2) == 0 {
					in.Sel = append(in.Sel, int32(i))
				}
			}
		}
		for _, id := range []string{"textlike(text,text)", "textnlike(text,text)"} {
			of := func(e expr.Expr) expr.Expr { return call(id, e, &expr.Const{Val: pattern, Typ: types.Text}) }
			p, err := eval.Compile(of(col(schema, 1)), schema, env)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Eval(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			for k := range in.Rows() {
				row := k
				if in.Sel != nil {
					row = int(in.Sel[k])
				}
				want, err := eval.Constant(of(&expr.Const{Val: vals[row], Typ: types.Text}), env)
				if err != nil {
					t.Fatal(err)
				}
				if d := types.DatumAt(types.Bool, got, k); d != want {
					t.Fatalf("%s of %q and %q: %v, not %v", id, vals[row], pattern, d, want)
				}
			}
		}
	}
}
