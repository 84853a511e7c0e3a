package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// quotientRows is the least number of rows for each group for which dividing the sum pays: finding the scale
// and rounding the result take as long as computing and adding one quotient.
const quotientRows = 2

// sumQuotients divides sums of fixed numerics by a constant instead of adding quotients, which are
// variable numerics of as many digits as each needs:
//
//	sum(x / 2)  is  round(sum(x) * 0.5, scale(min(abs(x)) / 2))
//
// That is exact if no quotient is rounded, as with 2, 5 and 10. The sum has the greatest scale of its
// summands, and the smaller a number is, the more digits its quotient has after the point.
func (w *narrower) sumQuotients(n *plan.Aggregate) plan.Node {
	var items []plan.Item
	c := *n
	c.Aggs = nil
	made := map[expr.ColID]expr.Expr{}
	for _, a := range n.Aggs {
		x, by, ok := fixedQuotient(a.Call)
		if !ok {
			c.Aggs = append(c.Aggs, a)
			continue
		}
		add := func(name string, call expr.AggCall, arg expr.Expr) expr.Expr {
			call.Args, call.Typ = []expr.Expr{arg}, types.Numeric
			if call.Fn.Bind != nil {
				_, call.Typ = call.Fn.Bind([]types.Type{arg.Type()})
			}
			call = w.sum(call, n.Input)
			col := w.r.NewCol(name, call.Typ)
			c.Aggs = append(c.Aggs, plan.AggItem{Col: col, Call: call})
			return rewrite.ColOf(col)
		}
		num := func(name string, args ...types.OID) func(...expr.Expr) expr.Expr {
			f := rewrite.Function(name, args...)
			return func(xs ...expr.Expr) expr.Expr { return rewrite.CallOf(f, "", xs...) }
		}
		least := a.Call
		least.Fn = rewrite.Function("min", types.NumericOID)
		sum := add(a.Col.Name, a.Call, x)
		quotient := num("numeric_div", types.NumericOID, types.NumericOID)(add("min", least, num("abs", types.NumericOID)(x)), a.Call.Args[0].(*expr.Call).Args[1])
		made[a.Col.ID] = num("round", types.NumericOID, types.Int4OID)(
			num("numeric_mul", types.NumericOID, types.NumericOID)(sum, by), num("scale", types.NumericOID)(quotient))
	}
	if len(made) == 0 || !w.fewGroups(n, quotientRows) {
		return n
	}
	for _, col := range n.Schema() {
		it := rewrite.PassThrough(col)
		if e, ok := made[col.ID]; ok {
			it.Expr = e
		}
		items = append(items, it)
	}
	return &plan.Project{Input: &c, Items: items}
}

// fewGroups reports whether there may be so many rows for each group. The number of groups of several keys is
// not known; it is assumed to be no greater than that of one key.
func (w *narrower) fewGroups(n *plan.Aggregate, rows float64) bool {
	est := w.r.Estimates()
	groups := 1.0
	for i := range n.Groups {
		groups = max(groups, est.Of(&plan.Aggregate{Input: n.Input, Groups: n.Groups[i : i+1]}).Rows)
	}
	return est.Of(n.Input).Rows >= rows*groups
}

// fixedQuotient splits sum(x / c) into x and 1 / c where sumQuotients applies.
func fixedQuotient(c expr.AggCall) (x expr.Expr, by *expr.Const, ok bool) {
	if c.Fn.Name != "sum" || len(c.Args) != 1 || c.Distinct || len(c.OrderBy) > 0 {
		return nil, nil, false
	}
	q, isCall := c.Args[0].(*expr.Call)
	if !isCall || q.Fn.Name != "numeric_div" || !q.Args[0].Type().IsFixed() {
		return nil, nil, false
	}
	k, isConst := q.Args[1].(*expr.Const)
	if !isConst {
		return nil, nil, false
	}
	d, isNumber := k.Val.(number.Decimal)
	if !isNumber {
		return nil, nil, false
	}
	inverse, ok := inverseOf(d)
	if !ok || !exactQuotients(q.Args[0].Type(), d, inverse.Scale()) {
		return nil, nil, false
	}
	t := types.FixedNumeric(max(digitsOf(inverse, uint8(inverse.Scale())), uint8(inverse.Scale()), 1), uint8(inverse.Scale()), false)
	return q.Args[0], &expr.Const{Val: inverse, Typ: t}, true
}

// inverseOf returns 1/d, if that is a number of few digits.
func inverseOf(d number.Decimal) (number.Decimal, bool) {
	c, ok := d.Coefficient(d.Scale())
	if !ok || c == 0 || d.Scale() > 6 {
		return number.Decimal{}, false
	}
	p := int64(1)
	for range d.Scale() {
		p *= 10
	}
	for scale := range int32(7) {
		if p%c == 0 {
			return number.DecimalFromInt64(p/c, scale), true
		}
		p *= 10
	}
	return number.Decimal{}, false
}

// exactQuotients reports whether no quotient of a number of type t by d is rounded. An exact quotient needs
// places more digits after the point than t has, and division must compute at least as many. How many it
// computes depends on the first digits of both numbers in base 10000, and on which of these is greater
// (number.Decimal.Div). So it is enough to look at the extremes: a number with four digits more before the
// point than t has gets no more digits than any number of t, and the least number that is not 0 must get as
// many as 0.
func exactQuotients(t types.Type, d number.Decimal, places int32) bool {
	scale := int32(t.Scale)
	digits := func(coef int64, scale int32) int32 {
		q, err := number.DecimalFromInt64(coef, scale).Div(d)
		if err != nil {
			return 0
		}
		return q.Scale()
	}
	greater := int64(10000)
	for range int(t.Prec) - int(t.Scale) {
		if greater > 1e17 {
			return false
		}
		greater *= 10
	}
	return digits(greater, 0) >= scale+places && (scale == 0 || digits(1, scale) == digits(0, scale))
}
