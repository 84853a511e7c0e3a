package window_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/window"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// longTypes are windowTypes and a long text, which no function reads.
var longTypes = append(slices.Clone(windowTypes), types.Text)

// windowRows makes rows of longTypes in the order of a window: small partitions, a large one with
// many peers, small ones. Some rows have NULL as the order key.
func windowRows(r *rand.Rand, n int, desc, nullsFirst bool) optest.Table {
	tb := optest.Table{Types: longTypes}
	for i := range n {
		part := int64(50)
		if i%10 == 0 {
			part = int64(r.Intn(100))
		}
		row := types.Row{part, int64(1 + r.Intn(n/8)), int64(i)}
		if r.Intn(12) == 0 {
			row[wOrder] = nil
		}
		if r.Intn(3) == 0 {
			row[wOrder] = int64(7)
		}
		for _, ty := range windowTypes[wFloat:] {
			row = append(row, optest.Value(r, ty, 40))
		}
		row = append(row, fmt.Sprintf("%0*d", r.Intn(2000), 1))
		if f, ok := row[wFloat].(float64); ok && f-f != 0 {
			row[wFloat] = float64(r.Intn(1000)) / 7
		}
		tb.Rows = append(tb.Rows, row)
	}
	slices.SortStableFunc(tb.Rows, func(a, b types.Row) int {
		if d := int(a[wPart].(int64) - b[wPart].(int64)); d != 0 {
			return d
		}
		x, y := a[wOrder], b[wOrder]
		if x == nil || y == nil {
			if c := compareNulls(x, y); nullsFirst {
				return -c
			} else {
				return c
			}
		}
		if desc {
			return int(y.(int64) - x.(int64))
		}
		return int(x.(int64) - y.(int64))
	})
	return tb
}

// windowOver is a test case of a window over rows that are in its order.
func windowOver(t *testing.T, tb optest.Table, w *plan.Window, under, over func(rt *op.Runtime, in op.Operator) op.Operator) optest.Case {
	out := slices.Clone(longTypes)
	for _, it := range w.Items {
		out = append(out, it.Call.Typ)
	}
	return optest.Case{Inputs: []optest.Table{tb}, Out: out, Ordered: true, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		cols := make([]plan.Column, len(longTypes))
		for i, ty := range longTypes {
			cols[i] = plan.Column{ID: expr.ColID(i + 1), Type: ty}
		}
		input := in[0]
		if under != nil {
			input = []op.Operator{under(rt, input[0])}
		}
		ops, err := window.New(rt, nil, w, cols, nil, input, window.SortingOf(w), true)
		if err != nil {
			t.Fatal(err)
		}
		if over != nil {
			ops = []op.Operator{over(rt, ops[0])}
		}
		return ops
	}}
}

// windowFunctions are the functions that are not aggregates.
func windowFunctions(t *testing.T) []expr.AggCall {
	var out []expr.AggCall
	add := func(name string, typ types.Type, args ...expr.Expr) {
		for _, f := range fn.Lookup(name) {
			if f.Kind == fn.Window && len(f.Args) == len(args) {
				out = append(out, expr.AggCall{Fn: f, Args: args, Typ: typ})
				return
			}
		}
		t.Fatalf("no %s of %d arguments", name, len(args))
	}
	text, by := windowCol(wText), windowCol(wOrder)
	num := func(n int64) expr.Expr { return &expr.Const{Typ: types.Int4, Val: n} }
	add("row_number", types.Int8)
	add("rank", types.Int8)
	add("dense_rank", types.Int8)
	add("percent_rank", types.Float8)
	add("cume_dist", types.Float8)
	add("ntile", types.Int4, num(17))
	add("lag", types.Text, text)
	add("lead", types.Text, text, num(90))
	add("lag", types.Text, text, by)
	add("lead", types.Text, text, by, text)
	add("first_value", types.Text, text)
	add("last_value", types.Numeric, windowCol(wNumeric))
	add("nth_value", types.Text, text, num(2))
	add("nth_value", types.Text, text, by)
	return out
}

// TestInFile: a partition that does not fit in memory has the same results, to the bit, as one that
// does, whatever the functions, frames and batches.
func TestInFile(t *testing.T) {
	r := rand.New(rand.NewSource(21))
	offset := func(k int) expr.Expr { return &expr.Const{Typ: types.Int8, Val: int64(k)} }
	bound := func(kind plan.BoundKind) plan.FrameBound {
		b := plan.FrameBound{Kind: kind}
		if kind == plan.Preceding || kind == plan.Following {
			b.Offset = offset(r.Intn([]int{3, 40, 400}[r.Intn(3)]))
		}
		return b
	}
	starts := []plan.BoundKind{plan.UnboundedPreceding, plan.Preceding, plan.CurrentRow, plan.Following}
	ends := []plan.BoundKind{plan.UnboundedFollowing, plan.Preceding, plan.CurrentRow, plan.Following}
	calls := slices.Concat(windowCalls(), windowFunctions(t))
	for trial := range 60 {
		desc, nullsFirst := r.Intn(2) == 0, r.Intn(2) == 0
		tb := windowRows(r, 1500, desc, nullsFirst)
		w := &plan.Window{PartitionBy: []expr.Expr{windowCol(wPart)}}
		if trial%10 != 0 {
			w.OrderBy = []expr.Order{{Expr: windowCol(wOrder), Desc: desc, NullsFirst: nullsFirst}}
		}
		for k := range 1 + r.Intn(5) {
			call := calls[(trial*3+k*7+r.Intn(3))%len(calls)]
			if call.Fn.Kind == fn.Aggregate && r.Intn(3) == 0 {
				call.Filter = windowCol(wBool)
			}
			fr := plan.Frame{Mode: "rgv"[r.Intn(3)], Start: bound(starts[r.Intn(4)]), End: bound(ends[r.Intn(4)]), Exclude: []byte{0, 0, 'c', 'g', 't'}[r.Intn(5)]}
			if len(w.OrderBy) == 0 && (fr.Start.Offset != nil || fr.End.Offset != nil) {
				fr.Mode = 'r'
			}
			if call.Fn.Name == "last_value" && trial%2 == 0 {
				call.Filter = windowCol(wBool)
				fr = plan.Frame{Mode: 'r', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}}
			}
			switch { // an aggregate that keeps its rows needs memory for them
			case call.Distinct:
				call.Args = []expr.Expr{windowCol(wNumeric)}
			case call.Fn.Name == "concordance_index": // with EXCLUDE each frame is computed anew (TestWindowFrames has those)
				fr.Exclude = 0
			case strings.HasSuffix(call.Fn.Name, "_agg") && r.Intn(2) == 0:
				fr.Start, fr.End, fr.Exclude = plan.FrameBound{Kind: plan.UnboundedPreceding}, plan.FrameBound{Kind: plan.UnboundedFollowing}, 0
			case strings.HasSuffix(call.Fn.Name, "_agg"):
				fr.Mode, fr.Start, fr.End = 'r', plan.FrameBound{Kind: plan.Preceding, Offset: offset(r.Intn(20))}, plan.FrameBound{Kind: plan.Following, Offset: offset(r.Intn(20))}
			}
			w.Items = append(w.Items, plan.WindowItem{Col: plan.Column{ID: expr.ColID(50 + k), Type: call.Typ}, Call: call, Frame: fr})
		}
		if testing.Short() && trial%6 != 0 {
			continue
		}
		t.Run(fmt.Sprint(trial), func(t *testing.T) {
			for _, it := range w.Items {
				t.Logf("%s %v filter=%v mode=%c %+v %+v exclude=%d", it.Call.Fn.Name, it.Call.Args, it.Call.Filter != nil, it.Frame.Mode, it.Frame.Start, it.Frame.End, it.Frame.Exclude)
			}
			c := windowOver(t, tb, w, nil, nil)
			c.Check = func(_ *testing.T, got []types.Row) { c.Want = got }
			if n := optest.Once(t, c, 1, optest.Form{Size: 8192}, 0); n != 0 {
				t.Fatalf("%d bytes are spilled where memory is ample", n)
			}
			c.Check = nil
			for _, size := range []int{[]int{3, 5, 7}[trial%3], 60, 8192} {
				if n := optest.Once(t, c, 1, optest.Form{Size: size, Dict: size == 60, Mix: size == 60}, 5<<19); n == 0 {
					t.Errorf("nothing is spilled with batches of %d rows", size)
				}
			}
		})
	}
}

// TestLongValues: results of an aggregate that keeps its rows are made as rows are returned, so not
// all of them need to fit in memory; for partitions in memory and on disk.
func TestLongValues(t *testing.T) {
	tb := windowRows(rand.New(rand.NewSource(25)), 1500, false, false)
	var w plan.Window
	w.PartitionBy = []expr.Expr{windowCol(wPart)}
	w.OrderBy = []expr.Order{{Expr: windowCol(wOrder)}}
	frame := plan.Frame{Mode: 'r', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}}
	comma := &expr.Const{Typ: types.Text, Val: ","}
	for k, call := range []expr.AggCall{
		{Fn: fn.ByID("string_agg(text,text)"), Args: []expr.Expr{windowCol(wText), comma}, Typ: types.Text},
		{Fn: fn.ByID("sum(int8)"), Args: []expr.Expr{windowCol(wRow)}, Typ: types.Numeric},
		{Fn: fn.ByID("string_agg(text,text)"), Args: []expr.Expr{windowCol(wText), comma}, Filter: windowCol(wBool), Typ: types.Text},
	} {
		w.Items = append(w.Items, plan.WindowItem{Col: plan.Column{ID: expr.ColID(50 + k), Type: call.Typ}, Call: call, Frame: frame})
	}
	c := windowOver(t, tb, &w, nil, nil)
	var long int64
	c.Check = func(_ *testing.T, got []types.Row) {
		for _, row := range got {
			if s, ok := row[len(longTypes)].(string); ok {
				long += int64(len(s))
			}
		}
		c.Want = got
	}
	optest.Once(t, c, 1, optest.Form{Size: 8192}, 0)
	c.Check = nil
	const budget = 5 << 19
	if long < 2*budget {
		t.Fatalf("the values have %d bytes", long)
	}
	for _, size := range []int{7, 8192} {
		for _, of := range []int64{budget, 4 * budget} {
			optest.Once(t, c, 1, optest.Form{Size: size}, of)
		}
	}
}

// failing returns an error after some batches.
type failing struct {
	op.Operator
	left int
}

var errTest = errors.New("test")

func (o *failing) Next(ctx context.Context) (*batch.Batch, error) {
	if o.left--; o.left < 0 {
		return nil, errTest
	}
	return o.Operator.Next(ctx)
}

// sumWindow is sum(numeric) over all frames from 5 rows before to 5 rows after.
func sumWindow() *plan.Window {
	b := plan.FrameBound{Kind: plan.Preceding, Offset: &expr.Const{Typ: types.Int8, Val: int64(5)}}
	e := plan.FrameBound{Kind: plan.Following, Offset: b.Offset}
	return &plan.Window{PartitionBy: []expr.Expr{windowCol(wPart)}, OrderBy: []expr.Order{{Expr: windowCol(wOrder)}},
		Items: []plan.WindowItem{{Call: expr.AggCall{Fn: fn.ByID("sum(float8)"), Args: []expr.Expr{windowCol(wFloat)}, Typ: types.Float8}, Frame: plan.Frame{Mode: 'r', Start: b, End: e}}}}
}

// TestInFileFails: an error while a partition is written to a file or read from it leaves neither a
// file nor charged bytes behind.
func TestInFileFails(t *testing.T) {
	tb := windowRows(rand.New(rand.NewSource(22)), 1500, false, false)
	is := func(err error) bool { return errors.Is(err, errTest) }
	for _, left := range []int{40, 110, 140} {
		fail := func(_ *op.Runtime, in op.Operator) op.Operator { return &failing{in, left} }
		c := windowOver(t, tb, sumWindow(), fail, nil)
		c.Err = is
		if n := optest.Once(t, c, 1, optest.Form{Size: 10}, 2<<20); (n > 0) != (left > 40) {
			t.Errorf("%d bytes are spilled before the input fails after %d batches", n, left)
		}
		c = windowOver(t, tb, sumWindow(), nil, fail)
		c.Err = is
		optest.Once(t, c, 1, optest.Form{Size: 10}, 2<<20)
	}
}

// asking requests memory before it returns a batch.
type asking struct {
	op.Operator
	t    *testing.T
	acct *mem.Account
	left int
}

func (o *asking) Next(ctx context.Context) (*batch.Batch, error) {
	if o.left--; o.left == 0 {
		if err := o.acct.Insist(ctx, 2<<20); err != nil {
			o.t.Error(err)
		}
	}
	return o.Operator.Next(ctx)
}

func (o *asking) Close() error {
	o.acct.Close()
	return o.Operator.Close()
}

// TestGivesWay: a partition that is not complete yet is written to a file when another operator
// needs the memory.
func TestGivesWay(t *testing.T) {
	tb := windowRows(rand.New(rand.NewSource(23)), 1500, false, false)
	c := windowOver(t, tb, sumWindow(), nil, nil)
	c.Check = func(_ *testing.T, got []types.Row) { c.Want = got }
	optest.Once(t, c, 1, optest.Form{Size: 10}, 0)
	want := c.Want
	c = windowOver(t, tb, sumWindow(), func(rt *op.Runtime, in op.Operator) op.Operator {
		return &asking{in, t, rt.Pool.Account("other", false), 110}
	}, nil)
	c.Want = want
	if n := optest.Once(t, c, 1, optest.Form{Size: 10}, 4<<20); n == 0 {
		t.Error("the window keeps its rows")
	}
}

// TestAnyBudget: whether the rows exceed memory, or the results computed over them, the rows
// returned are the same.
func TestAnyBudget(t *testing.T) {
	tb := windowRows(rand.New(rand.NewSource(24)), 1500, false, false)
	w := sumWindow()
	b := plan.FrameBound{Kind: plan.Preceding, Offset: &expr.Const{Typ: types.Int8, Val: int64(300)}}
	for k := range 4 { // each keeps the long texts of the rows that pass its filter
		call := expr.AggCall{Fn: fn.ByID("min(text)"), Args: []expr.Expr{&expr.Col{ID: expr.ColID(len(longTypes)), Typ: types.Text}}, Filter: windowCol(wBool), Typ: types.Text}
		w.Items = append(w.Items, plan.WindowItem{Col: plan.Column{ID: expr.ColID(70 + k)}, Call: call, Frame: plan.Frame{Mode: 'r', Start: b, End: w.Items[0].Frame.End}})
	}
	c := windowOver(t, tb, w, nil, nil)
	c.Check = func(_ *testing.T, got []types.Row) { c.Want = got }
	optest.Once(t, c, 1, optest.Form{Size: 500}, 0)
	c.Check = nil
	spilled, not := 0, 0
	step := int64(8)
	if testing.Short() {
		step = 3
	}
	for budget := int64(4 << 20); budget < 100<<20; budget += budget / step {
		if optest.Once(t, c, 1, optest.Form{Size: 500}, budget) > 0 {
			spilled++
		} else {
			not++
		}
	}
	if spilled < 3 || not < 3 {
		t.Errorf("%d budgets have the rows go to a file, %d not", spilled, not)
	}
}
