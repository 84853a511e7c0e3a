package prune_test

import (
	"testing"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

func TestPrune(t *testing.T) {
	col := &expr.Col{ID: 1, Typ: types.Int4}
	text := &expr.Col{ID: 2, Typ: types.Text}
	date := &expr.Col{ID: 3, Typ: types.Date}
	num := &expr.Col{ID: 4, Typ: types.FixedNumeric(10, 2, true)}
	k := func(d types.Datum, ty types.Type) expr.Expr { return &expr.Const{Val: d, Typ: ty} }
	cmp := func(op string, l, r expr.Expr) expr.Expr { return &expr.Call{Op: op, Args: []expr.Expr{l, r}} }
	zones := []catalog.Zone{{Column: 1, Min: int64(10), Max: int64(20), Nulls: 1}, {Column: 2, Min: "b", Max: nil}, {Column: 3, Min: int64(100), Max: int64(110)},
		{Column: 4, Min: number.DecimalFromInt64(100, 2), Max: number.DecimalFromInt64(250, 2)}}
	const day = 86_400_000_000
	for i, c := range []struct {
		e    expr.Expr
		want bool
	}{
		{cmp("=", col, k(int64(10), types.Int8)), true},
		{cmp("=", col, k(int64(21), types.Int4)), false},
		{cmp("<", col, k(int64(10), types.Int4)), false},
		{cmp("<=", col, k(int64(10), types.Int4)), true},
		{cmp("<", k(int64(20), types.Int4), col), false},
		{cmp(">=", k(int64(9), types.Int4), col), false},
		{cmp(">", col, k(nil, types.Int4)), false},
		{cmp("<>", col, k(int64(10), types.Int4)), true},
		{cmp("=", &expr.Cast{Arg: col, Typ: types.Numeric}, k(number.DecimalFromInt64(205, 1), types.Numeric)), false},
		{cmp("=", &expr.Cast{Arg: col, Typ: types.Float8}, k(19.5, types.Float8)), true},
		{cmp("=", col, &expr.Param{N: 1, Typ: types.Int4}), false},
		{cmp("<", text, k("b", types.Text)), false},
		{cmp(">", text, k("zzz", types.Text)), true},
		{cmp("<", date, k(int64(100*day), types.Timestamp)), false},
		{cmp("<=", date, k(int64(100*day), types.Timestamp)), true},
		{cmp(">", &expr.Cast{Arg: date, Typ: types.Timestamp}, k(int64(111*day), types.Timestamp)), false},
		{cmp(">", num, k(number.DecimalFromInt64(3, 0), types.Numeric)), false},
		{cmp(">", num, k(int64(2), types.Int4)), true},
		{&expr.And{Args: []expr.Expr{cmp(">", col, k(int64(0), types.Int4)), cmp(">", col, k(int64(30), types.Int4))}}, false},
		{&expr.Or{Args: []expr.Expr{cmp(">", col, k(int64(0), types.Int4)), cmp(">", col, k(int64(30), types.Int4))}}, true},
		{&expr.Or{Args: []expr.Expr{cmp("<", col, k(int64(0), types.Int4)), cmp(">", col, k(int64(30), types.Int4))}}, false},
		{&expr.Or{Args: []expr.Expr{cmp("<", col, k(int64(0), types.Int4)), &expr.Not{Arg: col}}}, true},
		{&expr.In{Arg: col, List: []expr.Expr{k(int64(1), types.Int4), k(int64(99), types.Int4)}}, false},
		{&expr.In{Arg: col, List: []expr.Expr{k(int64(1), types.Int4), k(int64(15), types.Int4)}}, true},
		{&expr.In{Not: true, Arg: col, List: []expr.Expr{k(int64(1), types.Int4)}}, true},
		{&expr.IsNull{Arg: col}, true},
		{&expr.IsNull{Arg: date}, false},
		{k(false, types.Bool), false},
	} {
		scan := &plan.Scan{Filter: []expr.Expr{c.e}, Cols: []plan.Column{{ID: 1, Num: 1, Type: col.Typ}, {ID: 2, Num: 2, Type: text.Typ}, {ID: 3, Num: 3, Type: date.Typ}, {ID: 4, Num: 4, Type: num.Typ}}}
		if got := prune.NewPruner(scan, &function.Env{Params: []types.Datum{int64(5)}}).MayMatch(zones, 100); got != c.want {
			t.Errorf("case %d: %v", i, got)
		}
	}
}
