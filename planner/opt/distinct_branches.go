package opt

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// manyRows is from how many input rows on each argument of DISTINCT has an aggregation of its own.
const manyRows = 1 << 15

// branchDistinct computes the aggregates of different arguments of DISTINCT by aggregations of their own, which read the
// rows again, and joins their groups, which are the same:
//
//	γ g: count(DISTINCT x), count(DISTINCT y), avg(z)
//
//	⋈ g
//	├─ ⋈ g
//	│  ├─ γ g: avg(z)
//	│  └─ γ g: count(DISTINCT x)
//	└─ γ g: count(DISTINCT y)
//
// A table's rows are read and filtered in a fraction of the time that a group takes which has the columns of all arguments,
// of which all but one are NULL. Counts of few values, which groups keep, stay together with the other aggregates
// (decision 144). It returns nil where that cannot be done, or is not worth it.
func branchDistinct(r *rule.Run, n *plan.Aggregate) plan.Node {
	if len(n.Sets) > 0 || n.GroupingID != 0 || r.InStep || !readAgain(n.Input) || r.Estimates().Of(n.Input).Rows < manyRows {
		return nil
	}
	if slices.ContainsFunc(plan.Exprs(n), rewrite.IsVolatile) {
		return nil
	}
	for _, g := range n.Groups {
		if !rewrite.JoinsGroups(g.Col.Type) {
			return nil
		}
	}
	branches := distinctBranches(r, n)
	if len(branches) < 2 || len(branches) > mostDistinct {
		return nil
	}
	var all plan.Node
	for i, aggs := range branches {
		b := &plan.Aggregate{Input: n.Input, Groups: n.Groups, Aggs: aggs, Rows: n.Rows}
		var on []expr.Expr
		if i > 0 {
			b, on = again(r, b)
		}
		var node plan.Node = b
		if m := splitDistinct(r, b); m != nil {
			node = m
		}
		if all == nil {
			all = node
			continue
		}
		all = &plan.Join{Kind: plan.Inner, L: all, R: node, On: on}
	}
	return &plan.Project{Input: all, Items: rewrite.PassItems(n.Schema())}
}

// readAgain reports whether reading n's rows again costs little: they are a table's or a buffer's.
func readAgain(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Scan:
		return x.RowID == 0 && x.Sample == 0
	case *plan.Buffer:
		return true
	case *plan.Filter, *plan.Project:
		for _, e := range plan.Exprs(n) {
			if rewrite.IsVolatile(e) || rewrite.Costly(e) {
				return false
			}
		}
		return readAgain(n.Children()[0])
	}
	return false
}

// distinctBranches returns the aggregates that are computed together.
func distinctBranches(r *rule.Run, n *plan.Aggregate) (branches [][]plan.AggItem) {
	var rest []plan.AggItem // without DISTINCT, or kept
	kept, regrouped := false, true
	var all [][]plan.AggItem // by argument
	for _, a := range n.Aggs {
		c := a.Call
		if !c.Distinct {
			rest, regrouped = append(rest, a), regrouped && regroups(c)
			continue
		}
		if len(c.Args) != 1 || c.Filter != nil || len(c.OrderBy) > 0 {
			return nil
		}
		at := slices.IndexFunc(all, func(same []plan.AggItem) bool { return rewrite.Same(same[0].Call.Args[0], c.Args[0]) })
		if at < 0 {
			at, all = len(all), append(all, nil)
		}
		all[at] = append(all[at], a)
	}
	for _, same := range all {
		if r.Estimates().KeptDistinct(&plan.Aggregate{Input: n.Input, Groups: n.Groups, Aggs: same}) {
			rest, kept = append(rest, same...), true
		} else {
			branches = append(branches, same)
		}
	}
	switch {
	case len(rest) == 0 || len(branches) == 0:
		return branches
	case !kept && regrouped:
		branches[0] = append(rest, branches[0]...)
		return branches
	}
	return append([][]plan.AggItem{rest}, branches...)
}

// again returns a with columns of its own for its input and its groups, and the condition that a group is the same one.
func again(r *rule.Run, a *plan.Aggregate) (*plan.Aggregate, []expr.Expr) {
	in, names := r.Rename(a.Input)
	by := map[expr.ColID]expr.Expr{}
	for _, c := range a.Input.Schema() {
		d := c
		d.ID = names[c.ID]
		by[c.ID] = rewrite.ColOf(d)
	}
	b := plan.MapExprs(a, func(e expr.Expr) expr.Expr { return rewrite.Subst(e, by) }).(*plan.Aggregate)
	b.Input = in
	groups := make([]plan.Item, len(b.Groups))
	var on []expr.Expr
	for i, g := range b.Groups {
		col := g.Col
		col.ID, col.Table, col.Num = r.NewCol(col.Name, col.Type).ID, 0, 0
		groups[i] = plan.Item{Col: col, Expr: g.Expr}
		on = append(on, rewrite.SameGroup(rewrite.ColOf(a.Groups[i].Col), rewrite.ColOf(col)))
	}
	b.Groups = groups
	return b, on
}
