package aggregate

import (
	"slices"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// masked computes aggregates with a FILTER that skip NULLs by an argument that is NULL where a row does not pass:
//
//	sum(x) FILTER (WHERE c), count(*) FILTER (WHERE c)  are  sum(CASE WHEN c THEN x END), count(CASE WHEN c THEN true END)
//
// So conditions and arguments of several are computed once, rows are not picked for each, and states are shared.
func masked(n *plan.Aggregate) *plan.Aggregate {
	filtered := func(a plan.AggItem) bool { return a.Call.Filter != nil }
	if n.Phase == plan.AggFinal || !slices.ContainsFunc(n.Aggs, filtered) { // in the last phase a FILTER tells whose states count
		return n
	}
	c := *n
	c.Aggs = slices.Clone(n.Aggs)
	for i := range c.Aggs {
		c.Aggs[i].Call = maskedCall(c.Aggs[i].Call)
	}
	return &c
}

func maskedCall(c expr.AggCall) expr.AggCall {
	if c.Filter == nil || c.Machine != nil || c.Distinct || len(c.OrderBy) > 0 || c.Direct > 0 || len(c.Args) > 1 || len(c.Args) == 1 && !eval.Total(c.Args[0]) {
		return c
	}
	cond := c.Filter
	var arg expr.Expr
	switch c.Fn.Name {
	case "count":
		arg = &expr.Const{Typ: types.Bool, Val: true}
		if len(c.Args) == 1 {
			cond = &expr.And{Args: []expr.Expr{cond, &expr.IsNull{Arg: c.Args[0], Not: true}}}
		}
	case "sum", "avg", "min", "max", "bool_and", "bool_or", "every", "var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp":
		if arg = c.Args[0]; arg.Type().Form() < vector.Bool || arg.Type().Form() > vector.F64 {
			return c
		}
	default:
		return c
	}
	c.Args = []expr.Expr{&expr.Case{Typ: arg.Type(), Whens: []expr.When{{Cond: cond, Then: arg}}}}
	c.Filter = nil
	return c
}
