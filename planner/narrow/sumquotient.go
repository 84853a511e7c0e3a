package narrow

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
	inverse, ok := rewrite.InverseOf(d)
	if !ok || !rewrite.ExactQuotients(q.Args[0].Type(), d, inverse.Scale()) {
		return nil, nil, false
	}
	t := types.FixedNumeric(max(digitsOf(inverse, uint8(inverse.Scale())), uint8(inverse.Scale()), 1), uint8(inverse.Scale()), false)
	return q.Args[0], &expr.Const{Val: inverse, Typ: t}, true
}
