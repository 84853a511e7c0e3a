package window_test

import (
	"context"
	"fmt"
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// wholeWindow is calls over whole partitions.
func wholeWindow(calls ...expr.AggCall) *plan.Window {
	w := &plan.Window{PartitionBy: []expr.Expr{windowCol(wPart)}}
	for k, c := range calls {
		w.Items = append(w.Items, plan.WindowItem{Col: plan.Column{ID: expr.ColID(50 + k), Type: c.Typ}, Call: c,
			Frame: plan.Frame{Mode: 'v', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}}})
	}
	return w
}

// onePartition is n rows, of which few differ in their labels and scores.
func onePartition(n, text int) optest.Table {
	r := rand.New(rand.NewSource(31))
	tb := optest.Table{Types: longTypes}
	for i := range n {
		row := types.Row{int64(3), int64(0), int64(i), float64(r.Intn(5000)) / 8, fmt.Sprintf("%0*d", text, i), nil, r.Intn(3) > 0, ""}
		for _, at := range []int{wFloat, wText, wBool} {
			if r.Intn(40) == 0 {
				row[at] = nil
			}
		}
		tb.Rows = append(tb.Rows, row)
	}
	return tb
}

// TestWholePartitionSorted: an aggregate that keeps its rows has the value over a partition that it has in
// memory where neither the rows nor its state fit.
func TestWholePartitionSorted(t *testing.T) {
	auc := expr.AggCall{Fn: fn.ByID("roc_auc(bool,float8)"), Args: []expr.Expr{windowCol(wBool), windowCol(wFloat)}, Typ: types.Float8}
	index := expr.AggCall{Fn: fn.ByID("concordance_index(float8,bool,float8)"), Args: []expr.Expr{windowCol(wFloat), windowCol(wBool), windowCol(wFloat)}, Typ: types.Float8}
	filtered := auc
	filtered.Filter = windowCol(wBool) // of one label: NULL
	w := wholeWindow(auc, index, filtered, index)
	w.Items[3].Call.Filter = windowCol(wBool)
	tb := onePartition(100000, 1)
	c := windowOver(t, tb, w, nil, nil)
	c.Check = func(t *testing.T, got []types.Row) {
		if last := got[len(got)-1][len(longTypes):]; last[0] == nil || last[1] == nil || last[2] != nil || last[3] == nil {
			t.Errorf("the values are %v", last)
		}
		c.Want = got
	}
	optest.Once(t, c, 1, optest.Form{Size: 8192}, 0)
	c.Check = nil
	for _, budget := range []int64{5 << 19, 6 << 20} {
		if n := optest.Once(t, c, 1, optest.Form{Size: 8192}, budget); n == 0 {
			t.Errorf("nothing is spilled with %d bytes", budget)
		}
	}
}

// TestWholePartitionOnce: a value that is as long as the partition is held once, for all rows, beside no list of
// them; where not even that fits it is an error.
func TestWholePartitionOnce(t *testing.T) {
	const rows, text = 3000, 400
	comma := &expr.Const{Typ: types.Text, Val: ","}
	texts, _ := types.ArrayOf(types.Text)
	for _, call := range []expr.AggCall{
		{Fn: fn.ByID("string_agg(text,text)"), Args: []expr.Expr{windowCol(wText), comma}, Typ: types.Text},
		{Fn: fn.ByID("json_agg(anyelement)"), Args: []expr.Expr{windowCol(wText)}, Typ: types.JSON},
		{Fn: fn.ByID("array_agg(anynonarray)"), Args: []expr.Expr{windowCol(wText)}, Typ: texts},
	} {
		t.Run(call.Fn.Name, func(t *testing.T) {
			tb := onePartition(rows, text)
			count := expr.AggCall{Fn: fn.ByID("count()"), Star: true, Typ: types.Int8}
			auc := expr.AggCall{Fn: fn.ByID("roc_auc(bool,float8)"), Args: []expr.Expr{windowCol(wBool), windowCol(wFloat)}, Typ: types.Float8}
			w := wholeWindow(auc, call, count)
			last := func(_ *op.Runtime, in op.Operator) op.Operator { return &every{Operator: in, n: 500} }
			c := windowOver(t, tb, w, nil, last)
			c.Check = func(_ *testing.T, got []types.Row) { c.Want = got }
			optest.Once(t, c, 1, optest.Form{Size: 8192}, 0)
			if len(c.Want) != rows/500 {
				t.Fatalf("%d rows", len(c.Want))
			}
			c.Check = nil
			if n := optest.Once(t, c, 1, optest.Form{Size: 100}, 9<<18); n == 0 {
				t.Error("nothing is spilled")
			}
			c.Err = func(err error) bool { return pgerr.Is(err, pgerr.OutOfMemory) }
			optest.Once(t, c, 1, optest.Form{Size: 100}, 1<<20)
		})
	}
}

// every gives every n-th row.
type every struct {
	op.Operator
	n, seen int
}

func (o *every) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		b, err := o.Operator.Next(ctx)
		if err != nil {
			return nil, err
		}
		b = kernel.Compact(b)
		var rows []int32
		for i := range b.N {
			if o.seen++; o.seen%o.n == 0 {
				rows = append(rows, int32(i))
			}
		}
		if rows != nil {
			out := batch.New(b.Cols, b.N)
			out.Sel = rows
			return out, nil
		}
	}
}
