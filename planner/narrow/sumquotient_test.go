package narrow

import (
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestSumQuotients: sum(x / c) may be computed as sum(x) / c only where every digit, and the scale,
// of the result stay the same. It compares both over random numbers.
func TestSumQuotients(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	parse := func(s string) number.Decimal {
		d, err := number.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	div := fn.ByID("numeric_div(numeric,numeric)")
	taken := map[string]int{}
	for range 20000 {
		by := parse([]string{"2", "-2", "10", "100", "3", "0", "0.5", "2.50", "-0.0625", "40000", "8000", "0.0002", "1", "125"}[r.Intn(14)])
		prec, scale := uint8(1+r.Intn(18)), uint8(r.Intn(7))
		scale = min(scale, prec)
		x := types.FixedNumeric(prec, scale, false)
		call := expr.AggCall{Fn: fn.ByID("sum(numeric)"), Typ: types.Numeric, Args: []expr.Expr{
			&expr.Call{Fn: div, Typ: types.Numeric, Args: []expr.Expr{&expr.Col{ID: 1, Typ: x}, &expr.Const{Val: by, Typ: types.Numeric}}}}}
		_, inverse, ok := fixedQuotient(call)
		if !ok {
			continue
		}
		taken[by.String()]++
		limit := int64(1)
		for range prec {
			limit *= 10
		}
		var want, sum, least number.Decimal
		for i := range 1 + r.Intn(4) {
			v := r.Int63n(limit) >> r.Intn(63) // numbers of all sizes, small ones too
			if r.Intn(2) == 0 {
				v = -v
			}
			d := number.DecimalFromInt64(v, int32(scale))
			q, err := d.Div(by)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				want, sum, least = q, d, d.Abs()
				continue
			}
			want, sum = plus(t, want, q), plus(t, sum, d)
			if d.Abs().Cmp(least) < 0 {
				least = d.Abs()
			}
		}
		product, err1 := sum.Mul(inverse.Val.(number.Decimal))
		quotient, err2 := least.Div(by)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if got := product.Round(quotient.Scale()); got.String() != want.String() {
			t.Fatalf("numeric(%d,%d) by %s: %s, want %s", prec, scale, by, got, want)
		}
	}
	if len(taken) < 8 || taken["3"] > 0 || taken["0"] > 0 || taken["2"] == 0 {
		t.Errorf("divisors taken: %v", taken)
	}
}

func plus(t *testing.T, a, b number.Decimal) number.Decimal {
	s, err := a.Add(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSumQuotientsPlan: the rule is applied where groups have many rows, so that it saves
// divisions, and leaves the other columns as they are.
func TestSumQuotientsPlan(t *testing.T) {
	x := expr.Col{ID: 1, Typ: types.FixedNumeric(7, 2, false)}
	by := &expr.Const{Val: number.DecimalFromInt64(2, 0), Typ: types.FixedNumeric(1, 0, false)}
	for rows, divided := range map[int]bool{1: false, 8: true} {
		next := expr.ColID(10)
		w := &narrower{r: rule.NewRun(&rule.Env{Stats: props.FromState(nil), NextCol: &next}, 0)}
		agg := &plan.Aggregate{Input: &plan.Values{Cols: []plan.Column{{ID: 1, Type: x.Typ}}, Rows: make([][]expr.Expr, rows)}, Aggs: []plan.AggItem{
			{Col: plan.Column{ID: 2, Type: types.Int8}, Call: expr.AggCall{Fn: fn.ByID("count()"), Star: true, Typ: types.Int8}},
			{Col: plan.Column{ID: 3, Type: types.Numeric}, Call: expr.AggCall{Fn: fn.ByID("sum(numeric)"), Typ: types.Numeric, Args: []expr.Expr{
				&expr.Call{Fn: fn.ByID("numeric_div(numeric,numeric)"), Typ: types.Numeric, Args: []expr.Expr{&x, by}}}}},
		}}
		got := w.sumQuotients(agg)
		if _, is := got.(*plan.Project); is != divided {
			t.Errorf("%d rows: the sum is divided: %v", rows, is)
		}
		s := got.Schema()
		if len(s) != 2 || s[0].ID != 2 || s[1].ID != 3 || s[1].Type != types.Numeric {
			t.Errorf("%d rows: columns %v", rows, s)
		}
	}
}
