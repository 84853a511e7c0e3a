package props

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

type tables map[types.OID]*TableStats

func (t tables) Table(oid types.OID) *TableStats { return t[oid] }

// TestMostRows: a join on a key of one side returns at most the rows of the other side, any other
// join at most the product of both. A cached plan has no such bound, since rows may be added.
func TestMostRows(t *testing.T) {
	key := func(is bool) func(int16) bool { return func(int16) bool { return is } }
	st := tables{
		1: {Rows: 1000, known: map[int16]bool{}, proven: key(false)},
		2: {Rows: 10, known: map[int16]bool{}, proven: key(true)},
	}
	sales := &plan.Scan{Table: 1, Cols: []plan.Column{{ID: 1, Num: 1, Type: types.Int4}}}
	items := &plan.Scan{Table: 2, Cols: []plan.Column{{ID: 2, Num: 1, Type: types.Int4}}}
	join := func(kind plan.JoinKind, keys bool) plan.Node {
		j := &plan.Join{Kind: kind, L: sales, R: items}
		if keys {
			j.LKeys, j.RKeys = []expr.Expr{rewrite.ColOf(sales.Cols[0])}, []expr.Expr{rewrite.ColOf(items.Cols[0])}
		}
		return j
	}
	both := &plan.SetOp{All: true, Inputs: []plan.Node{sales, items}}
	for i, c := range []struct {
		n    plan.Node
		most float64
	}{
		{sales, 1000},
		{join(plan.Inner, true), 1000},
		{join(plan.Inner, false), 10000},
		{join(plan.Left, true), 2000},
		{join(plan.Semi, false), 1000},
		{join(plan.RightAnti, true), 10},
		{join(plan.Full, true), 2010},
		{both, 1010},
		{&plan.Aggregate{Input: both, Groups: make([]plan.Item, 1), Sets: [][]int{{0}, {}}}, 2022},
		{&plan.Aggregate{Input: sales}, 1},
		{&plan.Filter{Input: join(plan.Inner, true)}, 1000},
	} {
		if got := MostRows(c.n, st); got != c.most {
			t.Errorf("case %d: at most %v rows, not %v", i, got, c.most)
		}
	}
	if got := MostRows(sales, Estimates(st)); !math.IsInf(got, 1) {
		t.Errorf("a plan that is kept knows of at most %v rows", got)
	}
}
