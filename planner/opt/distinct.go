package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// ruleDistinct drops duplicate elimination where there are no duplicates, and brings the rest into
// forms that run in two phases:
//
//	UNION                       group by all columns over UNION ALL
//	DISTINCT over a key         nothing
//	DISTINCT ON over a key      nothing
//	count(DISTINCT x) … by g    count(x) by g over (group by g, x), where all
//	                            aggregates are DISTINCT or regroup
//	                            (distinct_split.go); for several x of many
//	                            rows a join of such (distinct_branches.go)
func ruleDistinct(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		switch n := n.(type) {
		case *plan.SetOp:
			return distinctUnion(r, flattenUnion(n))
		case *plan.DistinctOn:
			cols := plainColumns(n.Keys)
			if len(n.Order) == 0 && props.CoversKey(r.Estimates().Facts.UniqueKeys(n.Input), cols) {
				return n.Input
			}
		case *plan.Aggregate:
			if m := dropDistinct(r, n); m != nil {
				return m
			}
			if m := oneRowGroups(r, n); m != nil {
				return m
			}
			if m := branchDistinct(r, n); m != nil {
				return m
			}
			if m := splitDistinct(r, n); m != nil {
				return m
			}
			return volatileOnce(r, n)
		}
		return n
	}), nil
}

// flattenUnion makes one UNION ALL of nested ones, and lets a UNION see through the unions below
// it: their duplicates are removed at the end.
func flattenUnion(n *plan.SetOp) *plan.SetOp {
	if n.Kind != plan.Union {
		return n
	}
	var inputs []plan.Node
	changed := false
	for _, in := range n.Inputs {
		below := in
		if p, ok := in.(*plan.Project); ok && passesInOrder(p) {
			below = p.Input
		}
		u, ok := below.(*plan.SetOp)
		if ok && u.Kind == plan.Union && u.All && len(u.Cols) == len(n.Cols) && samePhysical(u.Cols, n.Cols) {
			inputs = append(inputs, u.Inputs...)
			changed = true
			continue
		}
		inputs = append(inputs, in)
	}
	if !changed {
		return n
	}
	c := *n
	c.Inputs = inputs
	return &c
}

func samePhysical(a, b []plan.Column) bool {
	for i := range a {
		if !a[i].Type.SamePhysical(b[i].Type) {
			return false
		}
	}
	return true
}

func passesInOrder(p *plan.Project) bool {
	in := p.Input.Schema()
	if len(in) != len(p.Items) {
		return false
	}
	for i, it := range p.Items {
		c, ok := rewrite.AsColumn(it.Expr)
		if !ok || c.ID != in[i].ID || !it.Col.Type.SamePhysical(in[i].Type) {
			return false
		}
	}
	return true
}

func distinctUnion(r *rule.Run, n *plan.SetOp) plan.Node {
	if n.Kind != plan.Union || n.All || len(n.Cols) == 0 {
		return n
	}
	all := &plan.SetOp{Kind: plan.Union, All: true, Inputs: n.Inputs}
	agg := &plan.Aggregate{Input: all}
	for _, c := range n.Cols {
		in := r.NewCol(c.Name, c.Type)
		all.Cols = append(all.Cols, in)
		agg.Groups = append(agg.Groups, plan.Item{Col: c, Expr: rewrite.ColOf(in)})
	}
	return agg
}

// dropDistinct turns a grouping without aggregates, whose groups have one row each, into a projection. It
// returns nil if groups may have more rows.
func dropDistinct(r *rule.Run, n *plan.Aggregate) plan.Node {
	if len(n.Aggs) > 0 || len(n.Groups) == 0 || len(n.Sets) > 0 || n.GroupingID != 0 {
		return nil
	}
	cols := plan.ColSet{}
	for _, g := range n.Groups {
		if c, ok := rewrite.AsColumn(g.Expr); ok {
			cols[c.ID] = true
		}
	}
	if !props.CoversKey(r.Estimates().Facts.UniqueKeys(n.Input), cols) {
		return nil
	}
	return &plan.Project{Input: n.Input, Items: n.Groups}
}

// volatileOnce computes volatile arguments before an aggregation with grouping
// sets, which reads them once for each set.
func volatileOnce(r *rule.Run, n *plan.Aggregate) plan.Node {
	if len(n.Sets) < 2 {
		return n
	}
	var items []plan.Item
	m := plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		if !rewrite.IsVolatile(e) {
			return e
		}
		c := r.NewCol("arg", e.Type())
		items = append(items, plan.Item{Col: c, Expr: e})
		return rewrite.ColOf(c)
	})
	if len(items) == 0 {
		return n
	}
	return m.WithChildren([]plan.Node{&plan.Project{Input: n.Input, Items: append(rewrite.PassItems(n.Input.Schema()), items...)}})
}
