package stage

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// wholeBelow moves the whole grouping n to where partial would begin it, at the end of path, if no
// two rows that the joins there return are of one group; a projection is left above them. That
// holds where the names that n groups by are a key of the joined rows,
//
//	γ name, country: sum(price)          Π name, country, sum
//	└─ ⋈ customers                       └─ ⋈ customers
//	   └─ sales                             └─ γ customer: sum(price)
//	                                           └─ sales
//
// and not if two customers may have one name. It is nil where that is not known. Call
// i of n has the states from[i] of partial.
func (p *placer) wholeBelow(n *plan.Aggregate, calls []earlyCall, path []earlyStep, partial *plan.Aggregate, from []int) plan.Node {
	whole := *partial
	whole.Phase, whole.States = plan.AggSingle, nil
	if !p.wholeAt(n, calls, path, &whole) {
		return nil
	}
	padded := slices.ContainsFunc(path, earlyStep.nullExtended)
	if whole.Aggs = slices.Clone(whole.Aggs); padded {
		for i := range whole.Aggs {
			whole.Aggs[i].Col.ID = p.newCol()
		}
	}
	given := whole.Schema()[len(whole.Groups):]
	out := &plan.Project{Input: rebuildPath(path, &whole, given), Items: slices.Clone(n.Groups)}
	for i, a := range n.Aggs {
		var e expr.Expr = rewrite.ColOf(given[from[i]])
		if padded && a.Call.Fn.Name == "count" {
			e = &expr.Coalesce{Args: []expr.Expr{e, &expr.Const{Val: int64(0), Typ: e.Type()}}, Typ: e.Type()} // NULL where there was none
		}
		out.Items = append(out.Items, plan.Item{Col: a.Col, Expr: e})
	}
	return out
}

// nullExtended reports whether a step is to the side of a join that it may pad with NULLs.
func (s earlyStep) nullExtended() bool {
	j, ok := s.n.(*plan.Join)
	return ok && (j.Kind == plan.Left && s.side == 1 || j.Kind == plan.Right && s.side == 0)
}

// wholeAt reports whether whole at the end of path may stand for n.
func (p *placer) wholeAt(n *plan.Aggregate, calls []earlyCall, path []earlyStep, whole *plan.Aggregate) bool {
	if len(n.Sets) > 0 || n.GroupingID != 0 || slices.ContainsFunc(n.Aggs, mayFail) || slices.ContainsFunc(calls, func(c earlyCall) bool { return c.when != nil }) {
		return false
	}
	groups := colSet{}
	for _, g := range n.Groups {
		if c, ok := rewrite.AsColumn(g.Expr); ok {
			groups[c.ID] = true
		}
	}
	return props.CoversKey(props.UniqueKeys(rebuildPath(path, whole, nil), p.stats), groups)
}

// havingBelow moves conditions on groups below the joins, too, after a grouping that was moved
// there whole, so that the joins have fewer rows: f is what before became. Conditions that may fail
// for a group that a join drops stay.
func (p *placer) havingBelow(before, f *plan.Filter) plan.Node {
	_, was := before.Input.(*plan.Aggregate)
	if _, moved := f.Input.(*plan.Project); !was || !moved {
		return f
	}
	var down, up []expr.Expr
	for _, c := range rewrite.SplitAll(f.Conds) {
		if rewrite.Costly(c) || props.Fallible(c, f.Input, p.stats) {
			up = append(up, c)
		} else {
			down = append(down, c)
		}
	}
	if len(down) == 0 {
		return f
	}
	return rewrite.Filter(pushedDown(f.Input, down), up)
}

// pushedDown returns n with conditions as far below projections and joins as they can be.
func pushedDown(n plan.Node, conds []expr.Expr) plan.Node {
	switch x := n.(type) {
	case *plan.Project:
		items := map[expr.ColID]expr.Expr{}
		for _, it := range x.Items {
			items[it.Col.ID] = it.Expr
		}
		return x.WithChildren([]plan.Node{pushedDown(x.Input, rewrite.SubstAll(conds, items))})
	case *plan.Join:
		reads := rewrite.ColumnsOf(conds...)
		if x.Kind == plan.Inner && rewrite.Subset(reads, plan.Emits(x.R)) {
			return x.WithChildren([]plan.Node{x.L, pushedDown(x.R, conds)})
		}
		if (x.Kind == plan.Inner || x.Kind == plan.Left || x.Kind == plan.Semi || x.Kind == plan.Anti) && rewrite.Subset(reads, plan.Emits(x.L)) {
			return x.WithChildren([]plan.Node{pushedDown(x.L, conds), x.R})
		}
	}
	return rewrite.Filter(n, conds)
}

// mayFail reports whether the result of an aggregate may be an error, which must not be raised for
// a group that a join drops: a sum of floats may overflow, and so may a variance, but not one of
// integers.
func mayFail(a plan.AggItem) bool {
	switch a.Call.Fn.Name {
	case "count", "min", "max", "bool_and", "bool_or", "every":
		return false
	case "sum", "avg":
		return a.Call.Typ.OID == types.Float4OID || a.Call.Typ.OID == types.Float8OID
	case "var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp":
		return !a.Call.Args[0].Type().IsIntegral()
	}
	return true
}
