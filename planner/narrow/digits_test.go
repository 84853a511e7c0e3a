package narrow

import (
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

func TestDigits(t *testing.T) {
	dec := func(s string) types.Datum {
		d, err := number.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		min, max string
		scale    uint8
		want     uint8
	}{{"0.00", "0.10", 2, 2}, {"-999.99", "10.00", 2, 5}, {"901.00", "104949.50", 2, 8}, {"0", "9", 0, 1}, {"0.00", "0.00", 2, 2}} {
		got, ok := digits(props.ColStats{Min: dec(c.min), Max: dec(c.max)}, c.scale)
		if !ok || got != c.want {
			t.Errorf("%s..%s: %d %v, want %d", c.min, c.max, got, ok, c.want)
		}
	}
}

// TestNarrowSum: a sum is a fixed-point int64 where the sum of all rows cannot have more than
// eighteen digits.
func TestNarrowSum(t *testing.T) {
	w := &narrower{r: rule.NewRun(&rule.Env{Stats: props.FromState(nil)}, 0)}
	for _, c := range []struct {
		rows       int
		prec, want uint8 // 0: numeric of any size
	}{{999, 7, 10}, {1000, 7, 11}, {9, 17, 18}, {10, 17, 0}, {1, 18, 0}} {
		in := &plan.Values{Rows: make([][]expr.Expr, c.rows)}
		call := expr.AggCall{Fn: &fn.Func{Name: "sum"}, Args: []expr.Expr{&expr.Col{Typ: types.FixedNumeric(c.prec, 2, false)}}, Typ: types.Numeric}
		if got := w.sum(call, in).Typ; got.Prec != c.want || got.IsFixed() && got.Scale != 2 {
			t.Errorf("the sum of %d rows of %d digits is represented in %d of scale %d, not %d", c.rows, c.prec, got.Prec, got.Scale, c.want)
		}
	}
	if got := w.sum(expr.AggCall{Fn: &fn.Func{Name: "sum"}, Args: []expr.Expr{&expr.Col{Typ: types.FixedNumeric(3, 2, false)}}, Typ: types.Numeric}, &plan.Scan{}); got.Typ.IsFixed() {
		t.Error("the sum of rows of which nothing is known is fixed")
	}
}
