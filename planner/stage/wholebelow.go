package stage

import (
	"slices"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// wholeBelow does a grouping n whole where partial would begin it, at the end of path,
// if no two rows that the joins there give are of one group; what is left above them
// is a projection. So it is where the names that n groups by are a key of what the
// joins bring,
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
	given := whole.Schema()[len(whole.Groups):]
	out := &plan.Project{Input: rebuildPath(path, &whole, given), Items: slices.Clone(n.Groups)}
	for i, a := range n.Aggs {
		out.Items = append(out.Items, plan.Item{Col: a.Col, Expr: rewrite.ColOf(given[from[i]])})
	}
	return out
}

// wholeAt tells whether whole at the end of path may stand for n.
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

// mayFail tells of an aggregate that the end of a group may be an error, which must not
// be where a join drops the group: a sum of floats may be too large, and so may a
// variance, but not of integers.
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
