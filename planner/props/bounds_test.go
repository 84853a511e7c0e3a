package props

import (
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// TestBounds: what is known of a table's timestamps is known of what nodes above make of them.
func TestBounds(t *testing.T) {
	const day = datetime.MicrosPerDay
	interval := types.Type{OID: types.IntervalOID, Mod: -1}
	scan := &plan.Scan{Table: 1, Cols: []plan.Column{{ID: 1, Num: 1, Type: types.Timestamp}}}
	st := fixedStats{&TableStats{Cols: map[int16]ColStats{1: {Min: int64(5*day + 7), Max: int64(9*day + 7), Bounds: true}}}}
	col := func(id expr.ColID, typ types.Type) expr.Expr { return &expr.Col{ID: id, Typ: typ} }
	call := func(id string, typ types.Type, args ...expr.Expr) expr.Expr {
		return &expr.Call{Fn: fn.ByID(id), Typ: typ, Args: args}
	}
	constant := func(v types.Datum, typ types.Type) expr.Expr { return &expr.Const{Val: v, Typ: typ} }
	item := func(id expr.ColID, typ types.Type, e expr.Expr) plan.Item {
		return plan.Item{Col: plan.Column{ID: id, Type: typ}, Expr: e}
	}
	days := &plan.Project{Input: scan, Items: []plan.Item{item(2, types.Date, &expr.Cast{Arg: col(1, types.Timestamp), Typ: types.Date})}}
	groups := &plan.Aggregate{Input: days, Groups: []plan.Item{item(3, types.Date, col(2, types.Date))}}
	series := &plan.FuncScan{Calls: []plan.SetCall{{Fn: fn.ByID("generate_series(timestamp,timestamp,interval)"), Cols: []plan.Column{{ID: 4, Type: types.Timestamp}},
		Args: []expr.Expr{constant(20*day, types.Timestamp), constant(3*day, types.Timestamp), constant(datetime.Interval{Days: -1}, interval)}}}}
	union := &plan.SetOp{Inputs: []plan.Node{scan, series}, Cols: []plan.Column{{ID: 5, Type: types.Timestamp}}}
	buffer := &plan.Buffer{ID: 8, Cols: []plan.Column{{ID: 6, Type: types.Date}}}
	known := Filled(st, map[int]*Buffer{8: {Root: groups}})
	month := datetime.Interval{Months: 1}
	for _, c := range []struct {
		name   string
		e      expr.Expr
		n      plan.Node
		lo, hi int64 // both 0: not known
	}{
		{"table", col(1, types.Timestamp), scan, 5*day + 7, 9*day + 7},
		{"day", col(2, types.Date), days, 5, 9},
		{"groups", col(3, types.Date), groups, 5, 9},
		{"buffer", col(6, types.Date), buffer, 5, 9},
		{"series", col(4, types.Timestamp), series, 3 * day, 20 * day},
		{"union", col(5, types.Timestamp), union, 3 * day, 20 * day},
		{"days later", call("date_pli(date,int4)", types.Date, col(6, types.Date), constant(int64(3), types.Int4)), buffer, 8, 12},
		{"a month before", call("date_mi_interval(date,interval)", types.Timestamp, col(6, types.Date), constant(month, interval)), buffer, -26 * day, -22 * day},
		{"a month after", call("interval_pl_timestamp(interval,timestamp)", types.Timestamp, constant(month, interval), col(4, types.Timestamp)), series, 34 * day, 51 * day},
		{"difference", call("date_mi(date,date)", types.Int4, col(6, types.Date), col(6, types.Date)), buffer, -4, 4},
		{"truncated", call("date_trunc(text,timestamp)", types.Timestamp, constant("day", types.Text), col(1, types.Timestamp)), scan, 5 * day, 9 * day},
		{"no unit", call("date_trunc(text,timestamp)", types.Timestamp, constant("dozen", types.Text), col(1, types.Timestamp)), scan, 0, 0},
		{"midnight", &expr.Cast{Arg: col(6, types.Date), Typ: types.Timestamp}, buffer, 5 * day, 9 * day},
		{"in a zone", &expr.Cast{Arg: col(6, types.Date), Typ: types.Timestamptz}, buffer, 0, 0},
		{"unknown", col(7, types.Date), buffer, 0, 0},
	} {
		lo, hi, ok := valueBounds(c.e, c.n, known)
		if want := c.lo != 0 || c.hi != 0; ok != want || ok && (lo != c.lo || hi != c.hi) {
			t.Errorf("%s: %d to %d, %v", c.name, lo, hi, ok)
		}
		if _, _, ok := valueBounds(c.e, c.n, st); ok && c.n == plan.Node(buffer) {
			t.Errorf("%s: known of a buffer that is not filled", c.name)
		}
	}
}
