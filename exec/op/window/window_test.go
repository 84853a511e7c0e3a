package window_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/window"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

var windowTypes = []types.Type{types.Int4, types.Int4, types.Int8, types.Float8, types.Text, types.Numeric, types.Bool}

// The columns: partition, order with ties, the row's number, and arguments.
const (
	wPart = iota
	wOrder
	wRow
	wFloat
	wText
	wNumeric
	wBool
)

func windowCol(i int) *expr.Col { return &expr.Col{ID: expr.ColID(i + 1), Typ: windowTypes[i]} }

// windowCalls are functions whose states are kept in different ways.
func windowCalls() []expr.AggCall {
	call := func(id string, t types.Type, args ...int) expr.AggCall {
		c := expr.AggCall{Fn: fn.ByID(id), Typ: t, Star: len(args) == 0}
		if c.Fn == nil {
			panic(id)
		}
		for _, a := range args {
			c.Args = append(c.Args, windowCol(a))
		}
		return c
	}
	out := []expr.AggCall{
		call("count()", types.Int8),
		call("count(any)", types.Int8, wText),
		call("sum(int8)", types.Numeric, wRow),
		call("sum(float8)", types.Float8, wFloat),
		call("avg(numeric)", types.Numeric, wNumeric),
		call("min(text)", types.Text, wText),
		call("max(numeric)", types.Numeric, wNumeric),
		call("max(float8)", types.Float8, wFloat),
		call("stddev(float8)", types.Float8, wFloat),
		call("variance(numeric)", types.Numeric, wNumeric),
		call("corr(float8,float8)", types.Float8, wFloat, wFloat),
		call("bool_or(bool)", types.Bool, wBool),
		call("bit_xor(int8)", types.Int8, wRow),
		call("string_agg(text,text)", types.Text, wText, wText),
	}
	distinct := out[1]
	distinct.Distinct = true
	texts, _ := types.ArrayOf(types.Text)
	return append(out, distinct,
		call("roc_auc(bool,float8)", types.Float8, wBool, wFloat),
		call("roc_auc(text,float8)", types.Float8, wText, wFloat),
		call("concordance_index(float8,bool,float8)", types.Float8, wFloat, wBool, wFloat),
		call("array_agg(anynonarray)", texts, wText),
		call("json_agg(anyelement)", types.JSON, wNumeric))
}

// windowReference evaluates a call by the definition of its frame: for each row, whether each row
// of its partition is in the frame. Rows are in the order of the window.
func windowReference(t *testing.T, rows []types.Row, call expr.AggCall, fr plan.Frame, byRow bool) []types.Datum {
	peers := func(a, b types.Row) bool {
		return types.Compare(types.Int4, a[wOrder], b[wOrder]) == 0 && (!byRow || a[wRow] == b[wRow])
	}
	cols := optest.Table{Types: windowTypes, Rows: rows}.Batches(t, optest.Form{Size: len(rows)})[0].Cols
	out := make([]types.Datum, len(rows))
	from := 0
	for from < len(rows) {
		to := from
		for to < len(rows) && rows[to][wPart] == rows[from][wPart] {
			to++
		}
		part := rows[from:to]
		group := make([]int, len(part))
		for i := 1; i < len(part); i++ {
			if group[i] = group[i-1]; !peers(part[i-1], part[i]) {
				group[i]++
			}
		}
		at := func(i int) int {
			if fr.Mode == 'r' {
				return i
			}
			return group[i]
		}
		within := func(i, j int, b plan.FrameBound, sign int) bool {
			off := 0
			switch b.Kind {
			case plan.UnboundedPreceding, plan.UnboundedFollowing:
				return true
			case plan.Preceding:
				off = -int(b.Offset.(*expr.Const).Val.(int64))
			case plan.Following:
				off = int(b.Offset.(*expr.Const).Val.(int64))
			}
			return sign*(at(j)-at(i)-off) >= 0
		}
		for i := range part {
			var frame []int32
			for j, r := range part {
				in := within(i, j, fr.Start, 1) && within(i, j, fr.End, -1)
				switch peer := group[i] == group[j]; fr.Exclude {
				case 'c':
					in = in && i != j
				case 'g':
					in = in && !peer
				case 't':
					in = in && (!peer || i == j)
				}
				if call.Filter != nil {
					in = in && r[wBool] == true
				}
				if in {
					frame = append(frame, int32(from+j))
				}
			}
			a, err := agg.New(call, nil)
			if err != nil {
				t.Fatal(err)
			}
			a.Resize(1)
			var args []arrow.Array
			for _, x := range call.Args {
				args = append(args, kernel.Take(cols[x.(*expr.Col).ID-1], frame))
			}
			if err := a.Update(make([]uint32, len(frame)), args); err != nil {
				t.Fatal(err)
			}
			arr, err := a.Results(0, 1)
			if err != nil {
				t.Fatal(err)
			}
			out[from+i] = types.DatumAt(call.Typ, arr, 0)
		}
		from = to
	}
	return out
}

// TestWindowFrames: aggregates over frames of all forms, with EXCLUDE and FILTER, equal to the bit
// adding the rows of every frame one by one.
func TestWindowFrames(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	offset := func(k int64) expr.Expr { return &expr.Const{Typ: types.Int8, Val: k} }
	tb := optest.Table{Types: windowTypes}
	for i := range 300 {
		row := types.Row{int64(0), int64(r.Intn(60)), int64(i)}
		if i >= 200 {
			row[wPart], row[wOrder] = int64(1+i%30), int64(r.Intn(4))
		}
		for _, ty := range windowTypes[wFloat:] {
			row = append(row, optest.Value(r, ty, 40))
		}
		if f, ok := row[wFloat].(float64); ok && f-f != 0 {
			row[wFloat] = float64(r.Intn(1000)) / 7
		}
		tb.Rows = append(tb.Rows, row)
	}
	rows := slices.Clone(tb.Rows)
	slices.SortFunc(rows, func(a, b types.Row) int {
		for _, c := range []int{wPart, wOrder, wRow} {
			if d := a[c].(int64) - b[c].(int64); d != 0 {
				return int(d)
			}
		}
		return 0
	})
	bounds := [][2]plan.FrameBound{
		{{Kind: plan.UnboundedPreceding}, {Kind: plan.CurrentRow}},
		{{Kind: plan.UnboundedPreceding}, {Kind: plan.UnboundedFollowing}},
		{{Kind: plan.CurrentRow}, {Kind: plan.UnboundedFollowing}},
		{{Kind: plan.UnboundedPreceding}, {Kind: plan.Preceding, Offset: offset(2)}},
		{{Kind: plan.Preceding, Offset: offset(70)}, {Kind: plan.Following, Offset: offset(35)}},
		{{Kind: plan.Preceding, Offset: offset(2)}, {Kind: plan.Preceding, Offset: offset(1)}},
		{{Kind: plan.Following, Offset: offset(3)}, {Kind: plan.Following, Offset: offset(1)}},
	}
	for k, call := range windowCalls() {
		t.Run(fmt.Sprint(call.Fn.Name, k), func(t *testing.T) {
			for n, b := range bounds {
				for e, exclude := range []byte{0, 'c', 'g', 't'} {
					if (n+k+e)%3 == 0 {
						continue
					}
					fr := plan.Frame{Mode: "rgr"[(n+k)%3], Start: b[0], End: b[1], Exclude: exclude}
					if (n+k)%2 == 0 {
						call.Filter = windowCol(wBool)
					} else {
						call.Filter = nil
					}
					// Peers may be in any order, so results that depend on it need a total order:
					// the row number is the last sort key.
					byRow := fr.Mode == 'r' || n%2 == 0 || k >= 5
					w := &plan.Window{PartitionBy: []expr.Expr{windowCol(wPart)}, OrderBy: []expr.Order{{Expr: windowCol(wOrder)}},
						Items: []plan.WindowItem{{Call: call, Frame: fr}}}
					if byRow {
						w.OrderBy = append(w.OrderBy, expr.Order{Expr: windowCol(wRow)})
					}
					c := optest.Case{Inputs: []optest.Table{tb}, Out: append(slices.Clone(windowTypes), call.Typ),
						Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
							cols := make([]plan.Column, len(windowTypes))
							for i, ty := range windowTypes {
								cols[i] = plan.Column{ID: expr.ColID(i + 1), Type: ty}
							}
							ops, err := window.New(rt, nil, w, cols, nil, in[0], window.SortingOf(w), false)
							if err != nil {
								t.Fatal(err)
							}
							return ops
						}}
					for i, d := range windowReference(t, rows, call, fr, byRow) {
						c.Want = append(c.Want, append(slices.Clone(rows[i]), d))
					}
					optest.Once(t, c, 1+n%2, optest.Form{Size: 50 + 50*n, Dict: true}, 0)
					if t.Failed() {
						t.Fatalf("%+v byRow=%v", fr, byRow)
					}
				}
			}
		})
	}
}

// TestWindowFunctions: functions that are not aggregates, over partitions many of which share a
// block, and one that is longer than a block.
func TestWindowFunctions(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	ts := []types.Type{types.Int8, types.Int8, types.Int8, types.Text}
	tb := optest.Table{Types: ts}
	for i := range 700 {
		row := types.Row{int64(r.Intn(60)), int64(r.Intn(5)), int64(i), optest.Value(r, types.Text, 9)}
		if i%5 == 0 {
			row[0] = int64(7)
		}
		tb.Rows = append(tb.Rows, row)
	}
	rows := slices.Clone(tb.Rows)
	slices.SortFunc(rows, func(a, b types.Row) int {
		for k := range 3 {
			if d := a[k].(int64) - b[k].(int64); d != 0 {
				return int(d)
			}
		}
		return 0
	})
	var cols []plan.Column
	for i, ty := range ts {
		cols = append(cols, plan.Column{ID: expr.ColID(i + 1), Type: ty})
	}
	text, byOrder := &expr.Col{ID: 4, Typ: types.Text}, expr.Order{Expr: &expr.Col{ID: 2, Typ: types.Int8}}
	num := func(n int64, ty types.Type) expr.Expr { return &expr.Const{Typ: ty, Val: n} }
	w := &plan.Window{PartitionBy: []expr.Expr{&expr.Col{ID: 1, Typ: types.Int8}}, OrderBy: []expr.Order{byOrder, {Expr: &expr.Col{ID: 3, Typ: types.Int8}}}}
	ranks := &plan.Window{PartitionBy: w.PartitionBy, OrderBy: w.OrderBy[:1]}
	frame := plan.Frame{Mode: 'v', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}}
	add := func(w *plan.Window, name string, typ types.Type, args ...expr.Expr) {
		for _, f := range fn.Lookup(name) {
			if f.Kind == fn.Window && len(f.Args) == len(args) {
				w.Items = append(w.Items, plan.WindowItem{Col: plan.Column{ID: expr.ColID(50 + len(w.Items)), Type: typ},
					Call: expr.AggCall{Fn: f, Args: args, Typ: typ}, Frame: frame})
				return
			}
		}
		t.Fatalf("no %s of %d arguments", name, len(args))
	}
	add(w, "row_number", types.Int8)
	add(w, "ntile", types.Int4, num(3, types.Int4))
	add(w, "lag", types.Text, text)
	add(w, "lead", types.Text, text, num(2, types.Int4))
	add(w, "lead", types.Text, text, num(1, types.Int4), text)
	add(w, "first_value", types.Text, text)
	add(w, "last_value", types.Text, text)
	add(w, "nth_value", types.Text, text, num(2, types.Int4))
	add(w, "last_value", types.Text, text)
	known := &w.Items[len(w.Items)-1]
	known.Call.Filter, known.Frame.Mode = &expr.IsNull{Arg: text, Not: true}, 'r'
	add(ranks, "rank", types.Int8)
	add(ranks, "dense_rank", types.Int8)
	add(ranks, "percent_rank", types.Float8)
	add(ranks, "cume_dist", types.Float8)
	var want, wantRanks []types.Row
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to][0] == rows[from][0] {
			to++
		}
		part := rows[from:to]
		n := len(part)
		value := func(i int) types.Datum {
			if i < 0 || i >= n {
				return nil
			}
			return part[i][3]
		}
		for i, row := range part {
			tile := int64(0)
			for k, at := int64(1), 0; k <= 3; k++ {
				if size := (n + 3 - int(k)) / 3; i >= at && i < at+size {
					tile = k
				}
				at += (n + 3 - int(k)) / 3
			}
			next, second := value(i+1), types.Datum(nil)
			if i+1 == n {
				next = value(i)
			}
			if i > 0 {
				second = value(1)
			}
			last := i
			for last >= 0 && part[last][3] == nil {
				last--
			}
			want = append(want, append(slices.Clone(row), int64(i+1), tile, value(i-1), value(i+2), next, value(0), value(i), second, value(last)))
			less, upTo, distinct := 0, 0, map[types.Datum]bool{}
			for _, o := range part {
				if o[1].(int64) < row[1].(int64) {
					less++
					distinct[o[1]] = true
				}
				if o[1].(int64) <= row[1].(int64) {
					upTo++
				}
			}
			percent := 0.0
			if n > 1 {
				percent = float64(less) / float64(n-1)
			}
			wantRanks = append(wantRanks, append(slices.Clone(row), int64(less+1), int64(len(distinct)+1), percent, float64(upTo)/float64(n)))
		}
		from = to
	}
	for _, c := range []struct {
		w    *plan.Window
		want []types.Row
	}{{w, want}, {ranks, wantRanks}} {
		out := slices.Clone(ts)
		for _, it := range c.w.Items {
			out = append(out, it.Col.Type)
		}
		for _, threads := range []int{1, 3} {
			for _, size := range []int{3, 40, 8192} {
				optest.Once(t, optest.Case{Inputs: []optest.Table{tb}, Out: out, Want: c.want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
					ops, err := window.New(rt, nil, c.w, cols, nil, in[0], window.SortingOf(c.w), false)
					if err != nil {
						t.Fatal(err)
					}
					return ops
				}}, threads, optest.Form{Size: size, Dict: size == 40}, 0)
			}
		}
	}
}
