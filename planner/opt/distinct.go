package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// ruleDistinct drops duplicate elimination where there are no duplicates, and
// brings what is left to forms that run in two phases:
//
//	UNION                       group by all columns over UNION ALL
//	DISTINCT over a key         nothing
//	DISTINCT ON over a key      nothing
//	count(DISTINCT x) … by g    count(x) by g over (group by g, x), where all
//	                            aggregates are DISTINCT over the same x, or
//	                            counts and the like: those are done by g, x,
//	                            and again by g
func ruleDistinct(r *run, n plan.Node, _ colSet) (plan.Node, error) {
	return r.bottomUp(n, func(n plan.Node) plan.Node {
		switch n := n.(type) {
		case *plan.SetOp:
			return distinctUnion(r, flattenUnion(n))
		case *plan.DistinctOn:
			cols := plainColumns(n.Keys)
			if len(n.Order) == 0 && coversKey(uniqueKeys(n.Input, r.env.Stats), cols) {
				return n.Input
			}
		case *plan.Aggregate:
			if m := dropDistinct(r, n); m != nil {
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

// flattenUnion makes one UNION ALL of nested ones, and lets a UNION see through
// the unions below it: their duplicates go in the end.
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
		if ok && u.Kind == plan.Union && u.All && len(u.Cols) == len(n.Cols) && sameCarriage(u.Cols, n.Cols) {
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

func sameCarriage(a, b []plan.Column) bool {
	for i := range a {
		if !carriedAlike(a[i].Type, b[i].Type) {
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
		c, ok := asColumn(it.Expr)
		if !ok || c.ID != in[i].ID || !carriedAlike(it.Col.Type, in[i].Type) {
			return false
		}
	}
	return true
}

func distinctUnion(r *run, n *plan.SetOp) plan.Node {
	if n.Kind != plan.Union || n.All || len(n.Cols) == 0 {
		return n
	}
	all := &plan.SetOp{Kind: plan.Union, All: true, Inputs: n.Inputs}
	agg := &plan.Aggregate{Input: all}
	for _, c := range n.Cols {
		in := r.newCol(c.Name, c.Type)
		all.Cols = append(all.Cols, in)
		agg.Groups = append(agg.Groups, plan.Item{Col: c, Expr: colOf(in)})
	}
	return agg
}

// dropDistinct turns a grouping without aggregates whose groups hold one row
// each to a projection; nil where they may hold more.
func dropDistinct(r *run, n *plan.Aggregate) plan.Node {
	if len(n.Aggs) > 0 || len(n.Groups) == 0 || len(n.Sets) > 0 || n.GroupingID != 0 {
		return nil
	}
	cols := colSet{}
	for _, g := range n.Groups {
		if c, ok := asColumn(g.Expr); ok {
			cols[c.ID] = true
		}
	}
	if !coversKey(uniqueKeys(n.Input, r.env.Stats), cols) {
		return nil
	}
	return &plan.Project{Input: n.Input, Items: n.Groups}
}

// volatileOnce computes volatile arguments before an aggregation with grouping
// sets, which reads them once for each set.
func volatileOnce(r *run, n *plan.Aggregate) plan.Node {
	if len(n.Sets) < 2 {
		return n
	}
	var items []plan.Item
	m := plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		if !isVolatile(e) {
			return e
		}
		c := r.newCol("arg", e.Type())
		items = append(items, plan.Item{Col: c, Expr: e})
		return colOf(c)
	})
	if len(items) == 0 {
		return n
	}
	return m.WithChildren([]plan.Node{&plan.Project{Input: n.Input, Items: append(passItems(n.Input.Schema()), items...)}})
}

// splitDistinct groups by the distinct argument first; nil where it cannot.
func splitDistinct(r *run, n *plan.Aggregate) plan.Node {
	if len(n.Aggs) == 0 || len(n.Sets) > 0 || n.GroupingID != 0 {
		return nil
	}
	var arg expr.Expr
	for _, a := range n.Aggs {
		c := a.Call
		if regroups(c) {
			continue
		}
		if !c.Distinct || len(c.Args) != 1 || c.Filter != nil || len(c.OrderBy) > 0 || c.Direct > 0 || isVolatile(c.Args[0]) || orderedAgg(c) {
			return nil
		}
		if arg != nil && !same(arg, c.Args[0]) {
			return nil
		}
		arg = c.Args[0]
	}
	if arg == nil {
		return nil
	}
	col := r.newCol("distinct", arg.Type())
	inner := &plan.Aggregate{Input: n.Input}
	outer := &plan.Aggregate{Rows: n.Rows}
	for _, g := range n.Groups {
		inner.Groups = append(inner.Groups, g)
		outer.Groups = append(outer.Groups, passThrough(g.Col))
	}
	inner.Groups = append(inner.Groups, plan.Item{Col: col, Expr: arg})
	top := &plan.Project{}
	for _, g := range n.Groups {
		top.Items = append(top.Items, passThrough(g.Col))
	}
	counted := false
	for _, a := range n.Aggs {
		item := passThrough(a.Col)
		if a.Call.Distinct {
			a.Call.Distinct = false
			a.Call.Args = []expr.Expr{colOf(col)}
		} else {
			part := r.newCol(a.Col.Name, a.Call.Typ)
			inner.Aggs = append(inner.Aggs, plan.AggItem{Col: part, Call: a.Call})
			if a.Call.Fn.Name == "count" {
				counted = true
				sum := r.newCol("sum", types.Numeric)
				a.Call, sum.Type = sumCall(part)
				item.Expr = &expr.Cast{Arg: colOf(sum), Typ: types.Int8}
				if len(n.Groups) == 0 {
					item.Expr = &expr.Coalesce{Args: []expr.Expr{item.Expr, &expr.Const{Val: int64(0), Typ: types.Int8}}, Typ: types.Int8}
				}
				a.Col = sum
			} else {
				a.Call.Args = []expr.Expr{colOf(part)}
			}
		}
		top.Items = append(top.Items, item)
		outer.Aggs = append(outer.Aggs, a)
	}
	outer.Input = inner
	if counted {
		top.Input = outer
		return top
	}
	return outer
}

// regroups tells whether an aggregate's results over parts of a group give,
// aggregated again, that over the group: counts are summed.
func regroups(c expr.AggCall) bool {
	if c.Filter != nil || len(c.OrderBy) > 0 || c.Direct > 0 || c.Fn == nil {
		return false
	}
	switch c.Fn.Name {
	case "count":
		return !c.Distinct
	case "min", "max", "bool_and", "bool_or", "every":
		return !c.Distinct && len(c.Args) == 1 && carriedAlike(c.Args[0].Type(), c.Typ)
	}
	return false
}

// sumCall sums a column of counts.
func sumCall(col plan.Column) (expr.AggCall, types.Type) {
	for _, f := range fn.Lookup("sum") {
		if len(f.Args) == 1 && f.Args[0] == types.Int8OID {
			_, ret := f.BindArgs([]types.Type{col.Type})
			return expr.AggCall{Fn: f, Args: []expr.Expr{colOf(col)}, Typ: ret}, ret
		}
	}
	panic("BUG: opt: there is no sum of bigints")
}
