package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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

// TestFilterRanges: filters that are evaluated as bit masks — comparisons of integers with
// constants and with each other, and of dictionary-encoded strings — keep the rows for which the
// general evaluation of the same conjunction is true.
func TestFilterRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ops := []string{"eq", "ne", "lt", "le", "gt", "ge"}
	cols := []struct {
		typ        types.Type
		name, args string
		ends       []int64
	}{
		{types.Int2, "int2", "(int2,int2)", []int64{-1 << 15, 1<<15 - 1}},
		{types.Int4, "int4", "(int4,int4)", []int64{-1 << 31, 1<<31 - 1}},
		{types.Int8, "int8", "(int8,int8)", []int64{-1 << 63, 1<<63 - 1}},
		{types.Date, "date_", "(date,date)", []int64{-1 << 30, 1 << 30}},
	}
	var schema []plan.Column
	for i, c := range append(cols, cols...) {
		schema = append(schema, plan.Column{ID: expr.ColID(i + 1), Type: c.typ})
	}
	schema = append(schema, plan.Column{ID: expr.ColID(len(schema) + 1), Type: types.Text})
	kept := 0
	for range 2000 {
		n := rng.IntN(200) + 1
		value := func(ends []int64) int64 {
			if rng.IntN(6) == 0 {
				return ends[rng.IntN(2)]
			}
			return int64(rng.IntN(9)) - 4
		}
		arrs := make([]arrow.Array, len(schema)-1)
		for i, c := range append(cols, cols...) {
			ds := make([]types.Datum, n+3)
			nulls := rng.IntN(2) == 0
			for j := range ds {
				if !nulls || rng.IntN(5) > 0 {
					ds[j] = value(c.ends)
				}
			}
			arr, err := column(c.typ, ds)
			if err != nil {
				t.Fatal(err)
			}
			arrs[i] = arr
		}
		words := []int{2, 7, 31, 32, 33, 60}[rng.IntN(6)]
		arrs = append(arrs, dictionary(rng, n+3, words))
		b := batch.New(arrs, n+3)
		if rng.IntN(2) == 0 {
			b = b.Slice(3, n+3)
		}
		if rng.IntN(3) == 0 {
			for i := range int32(b.N) {
				if rng.IntN(2) == 0 {
					b.Sel = append(b.Sel, i)
				}
			}
			if b.Sel == nil {
				b.Sel = []int32{}
			}
		}
		var conds []expr.Expr
		for range 1 + rng.IntN(5) {
			if rng.IntN(4) == 0 { // a comparison of strings
				conds = append(conds, call([]string{"texteq", "textne"}[rng.IntN(2)]+"(text,text)", col(schema, len(schema)),
					&expr.Const{Val: word(rng.IntN(words)), Typ: types.Text}))
				continue
			}
			i := rng.IntN(len(cols))
			if rng.IntN(2) == 0 { // several comparisons of the same column, which are merged into one range
				i = 1
			}
			c := cols[i]
			if rng.IntN(3) == 0 { // with another column of the same type
				conds = append(conds, call(c.name+ops[rng.IntN(len(ops))]+c.args, col(schema, i+1), col(schema, i+1+len(cols))))
				continue
			}
			conds = append(conds, call(c.name+ops[rng.IntN(len(ops))]+c.args, col(schema, i+1), &expr.Const{Val: value(c.ends), Typ: c.typ}))
		}
		f, err := eval.CompileFilter(conds, schema, newEnv(newHost()))
		if err != nil {
			t.Fatal(err)
		}
		p, err := eval.Compile(&expr.And{Args: conds}, schema, newEnv(newHost()))
		if err != nil {
			t.Fatal(err)
		}
		truth, err := p.Eval(context.Background(), b)
		if err != nil {
			t.Fatal(err)
		}
		want := []int32{}
		for i := range b.Rows() {
			if types.DatumAt(types.Bool, truth, i) == true {
				at := int32(i)
				if b.Sel != nil {
					at = b.Sel[i]
				}
				want = append(want, at)
			}
		}
		got, err := f.Select(context.Background(), b)
		if err != nil {
			t.Fatal(err)
		}
		rows := got.Sel
		if rows == nil {
			for i := range int32(got.N) {
				rows = append(rows, i)
			}
		}
		if !slices.Equal(rows, want) {
			t.Fatalf("%d rows of %d: %v, want %v", len(b.Sel), b.N, rows, want)
		}
		kept += len(rows)
	}
	if kept == 0 {
		t.Fatal("no row was kept")
	}
}

func word(i int) string { return fmt.Sprintf("word %d", i) }

// dictionary returns a dictionary-encoded column of n rows with so many different strings, some
// NULL.
func dictionary(rng *rand.Rand, n, words int) arrow.Array {
	ib, vb := array.NewInt32Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range words {
		vb.Append(word(i))
	}
	nulls := rng.IntN(2) == 0
	for range n {
		if nulls && rng.IntN(4) == 0 {
			ib.AppendNull()
		} else {
			ib.Append(rng.Int32N(int32(words)))
		}
	}
	return types.Shareable(array.NewDictionaryArray(types.DictArrow, ib.NewArray(), vb.NewArray()))
}
