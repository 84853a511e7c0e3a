package op_test

import (
	"context"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// repeating makes strings of len times the row's number, as eval does: what
// would be too much for one batch is an error.
type repeating struct{ len, limit int }

func (p repeating) Eval(_ context.Context, b *batch.Batch) (arrow.Array, error) {
	offs, n := []int32{0}, 0
	for k := range b.Rows() {
		row := k
		if b.Sel != nil {
			row = int(b.Sel[k])
		}
		n += p.len * int(types.DatumAt(types.Int4, b.Cols[0], row).(int64))
		offs = append(offs, int32(n))
	}
	if n > p.limit && b.Rows() > 1 {
		return nil, pgerr.Wrap(pgerr.ProgramLimitExceeded, vector.ErrBatchTooLarge, "too large")
	}
	return batch.FromOffsets(types.Text.Arrow(), offs, []byte(strings.Repeat("x", n)), nil), nil
}

func (p repeating) EvalScratch(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	return p.Eval(ctx, b)
}

// TestLongResults: a projection whose results are long gives them in more
// batches, all of them and in order.
func TestLongResults(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int4}}
	var want []types.Row
	r := rand.New(rand.NewSource(3))
	for range 900 {
		n := int64(r.Intn(40))
		tb.Rows = append(tb.Rows, types.Row{n})
		want = append(want, types.Row{n, strings.Repeat("x", 300*int(n))})
	}
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Int4, types.Text}, Want: want, Lanes: []int{1}, Ordered: true,
		Build: func(_ *op.Runtime, in [][]op.Operator) []op.Operator {
			return op.NewProject(in[0], [][]op.Item{{{Col: 0}, {Program: repeating{300, 100_000}}}})
		}})
}

// TestLongRows: a leaf's batches of long rows are cut.
func TestLongRows(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Text}}
	for i := range 40 {
		tb.Rows = append(tb.Rows, types.Row{strings.Repeat(string(rune('a'+i%26)), 1<<20)})
	}
	whole := tb.Batches(t, optest.Form{Size: 40})
	lanes := op.NewScan(&op.Runtime{Lanes: 1}, nil, 3, &distributing{n: 1}, func(context.Context, *op.Split) (op.BatchReader, error) {
		return &reading{batches: whole}, nil
	})
	n, batches := 0, 0
	for {
		b, err := lanes[0].Next(context.Background())
		if err != nil {
			break
		}
		if b.Bytes() > 9<<20 {
			t.Errorf("a batch of %d bytes", b.Bytes())
		}
		for i := range b.Rows() {
			if got := types.DatumAt(types.Text, b.Cols[0], i); got != tb.Rows[n][0] {
				t.Fatalf("row %d is another", n)
			}
			n++
		}
		batches++
	}
	if n != 40 || batches < 5 {
		t.Errorf("%d rows in %d batches", n, batches)
	}
	if err := lanes[0].Close(); err != nil {
		t.Error(err)
	}
}

// TestLongKeys: sorts and joins by computed keys that are too much for one batch
// take fewer rows at a time.
func TestLongKeys(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int4}}
	r := rand.New(rand.NewSource(4))
	for range 500 {
		tb.Rows = append(tb.Rows, types.Row{int64(r.Intn(40))})
	}
	key := repeating{300, 40_000}
	sorted := append([]types.Row(nil), tb.Rows...)
	slices.SortStableFunc(sorted, func(a, b types.Row) int { return int(a[0].(int64) - b[0].(int64)) })
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types, Want: sorted, Lanes: []int{1}, Ordered: true,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			return op.NewSort(rt, nil, op.SortConfig{Types: tb.Types, Keys: [][]op.Item{{{Program: key}}}, Specs: []kernel.KeySpec{{Type: types.Text}}, Limit: -1}, in[0])
		}})
	var pairs []types.Row
	few := optest.Table{Types: tb.Types, Rows: tb.Rows[:60]}
	for _, a := range few.Rows {
		for _, b := range few.Rows {
			if a[0] == b[0] {
				pairs = append(pairs, types.Row{a[0], b[0]})
			}
		}
	}
	optest.Run(t, optest.Case{Inputs: []optest.Table{few, few}, Out: []types.Type{types.Int4, types.Int4}, Want: pairs, Lanes: []int{1},
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			keys := [][]op.Item{{{Program: key}}}
			return op.NewJoin(rt, nil, op.JoinConfig{Kind: plan.Inner, LTypes: tb.Types, RTypes: tb.Types, LKeys: keys, RKeys: keys,
				KeyTypes: []types.Type{types.Text}, NullSafe: []bool{false}, LOut: []int{0}, ROut: []int{0}}, in[0], in[1])
		}})
}

// TestLongArguments: aggregates whose arguments are too much for one batch take
// fewer rows at a time, with and without a FILTER.
func TestLongArguments(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int4, types.Text}}
	for i := range 90 {
		tb.Rows = append(tb.Rows, types.Row{int64(1_000_000 + i), string(rune('a' + i%3))})
	}
	c := aggCase{tb: tb, drop: -1, keys: []int{1}}
	long := func() expr.Expr { return fixedCall("repeat(text,int4)", c.col(1), c.col(0)) }
	filtered := c.call("count(any)", long())
	filtered.Filter = fixedCall("int4lt(int4,int4)", c.col(0), &expr.Const{Typ: types.Int4, Val: int64(1_000_080)})
	c.aggs = []expr.AggCall{c.call("max(text)", long()), filtered}
	var want []types.Row
	for i := range 3 {
		s := string(rune('a' + i))
		n := int64(27)
		if i == 2 {
			n = 26
		}
		want = append(want, types.Row{s, strings.Repeat(s, 1_000_087+i), n})
	}
	tc := optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Text, types.Text, types.Int8}, Want: want,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			out, err := op.NewHashAgg(rt, nil, c.node(), c.columns(), &function.Env{Types: types.DefaultEnv}, in[0])
			if err != nil {
				t.Fatal(err)
			}
			return out
		}}
	optest.Once(t, tc, 1, optest.Form{Size: 90}, 0)
}
