package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// distinctSplit groups by the argument of DISTINCT aggregates first; the other
// aggregates are done by that grouping and again over it:
//
//	γ g: count(DISTINCT x), count(y), avg(z)
//
//	π g, d, c::bigint, s / n
//	└─ γ g: d = count(x), c = sum(c), s = sum(s), n = sum(n)
//	   └─ γ g, x: c = count(y), s = sum(z), n = count(z)
type distinctSplit struct {
	r            *rule.Run
	inner, outer *plan.Aggregate
	top          []plan.Item
	computes     bool // top does more than pass columns on
}

// splitDistinct is nil where n cannot be split.
func splitDistinct(r *rule.Run, n *plan.Aggregate) plan.Node {
	if len(n.Aggs) == 0 || len(n.Sets) > 0 || n.GroupingID != 0 {
		return nil
	}
	var arg expr.Expr
	for _, a := range n.Aggs {
		c := a.Call
		if regroups(c) {
			continue
		}
		if !c.Distinct || len(c.Args) != 1 || c.Filter != nil || len(c.OrderBy) > 0 || c.Direct > 0 || rewrite.IsVolatile(c.Args[0]) || props.OrderedAgg(c) {
			return nil
		}
		if arg != nil && !rewrite.Same(arg, c.Args[0]) {
			return nil
		}
		arg = c.Args[0]
	}
	if arg == nil {
		return nil
	}
	col := r.NewCol("distinct", arg.Type())
	s := &distinctSplit{r: r, inner: &plan.Aggregate{Input: n.Input}, outer: &plan.Aggregate{Rows: n.Rows}}
	for _, g := range n.Groups {
		s.inner.Groups = append(s.inner.Groups, g)
		s.outer.Groups = append(s.outer.Groups, rewrite.PassThrough(g.Col))
		s.top = append(s.top, rewrite.PassThrough(g.Col))
	}
	s.inner.Groups = append(s.inner.Groups, plan.Item{Col: col, Expr: arg})
	for _, a := range n.Aggs {
		if a.Call.Distinct {
			a.Call.Distinct = false
			a.Call.Args = []expr.Expr{rewrite.ColOf(col)}
			s.outer.Aggs = append(s.outer.Aggs, a)
			s.top = append(s.top, rewrite.PassThrough(a.Col))
			continue
		}
		s.regroup(a)
	}
	s.outer.Input = s.inner
	if s.computes {
		return &plan.Project{Input: s.outer, Items: s.top}
	}
	return s.outer
}

// regroups tells whether an aggregate over a group can be computed of aggregates
// over its parts. Sums of floats cannot: they would be rounded twice.
func regroups(c expr.AggCall) bool {
	if c.Filter != nil || len(c.OrderBy) > 0 || c.Direct > 0 || c.Fn == nil || c.Distinct {
		return false
	}
	switch c.Fn.Name {
	case "count":
		return true
	case "min", "max", "bool_and", "bool_or", "every":
		return len(c.Args) == 1 && rewrite.CarriedAlike(c.Args[0].Type(), c.Typ)
	case "sum", "avg":
		return len(c.Args) == 1 && exactSum(c.Args[0].Type()) && !rewrite.IsVolatile(c.Args[0])
	}
	return false
}

func exactSum(t types.Type) bool {
	switch t.OID {
	case types.Int2OID, types.Int4OID, types.Int8OID, types.NumericOID:
		return true
	}
	return false
}

// regroup adds an aggregate that is done by parts.
func (s *distinctSplit) regroup(a plan.AggItem) {
	item := rewrite.PassThrough(a.Col)
	switch a.Call.Fn.Name {
	case "count":
		item.Expr = s.count(a.Call)
	case "sum":
		item.Expr = s.cast(s.sum(a.Call), a.Call.Typ)
	case "avg":
		sum := s.cast(s.sum(aggCall("sum", a.Call.Args[0])), types.Numeric)
		n := s.cast(s.count(aggCall("count", a.Call.Args[0])), types.Numeric)
		over := rewrite.Operator("/", types.Numeric, types.Numeric)
		item.Expr = s.cast(rewrite.CallOf(over.Func, "/", sum, n), a.Call.Typ) // NULL / 0 is NULL
	default:
		a.Call.Args = []expr.Expr{s.part(a.Call)}
		s.outer.Aggs = append(s.outer.Aggs, a)
	}
	if c, ok := item.Expr.(*expr.Col); !ok || c.ID != a.Col.ID {
		s.computes = true
	}
	s.top = append(s.top, item)
}

// part is what an aggregate gives over a part.
func (s *distinctSplit) part(c expr.AggCall) expr.Expr {
	col := s.r.NewCol(c.Fn.Name, c.Typ)
	s.inner.Aggs = append(s.inner.Aggs, plan.AggItem{Col: col, Call: c})
	return rewrite.ColOf(col)
}

// sum adds what an aggregate gives over the parts.
func (s *distinctSplit) sum(c expr.AggCall) expr.Expr {
	call := aggCall("sum", s.part(c))
	col := s.r.NewCol("sum", call.Typ)
	s.outer.Aggs = append(s.outer.Aggs, plan.AggItem{Col: col, Call: call})
	return rewrite.ColOf(col)
}

func (s *distinctSplit) count(c expr.AggCall) expr.Expr {
	n := s.cast(s.sum(c), types.Int8)
	if len(s.outer.Groups) == 0 {
		return &expr.Coalesce{Args: []expr.Expr{n, &expr.Const{Val: int64(0), Typ: types.Int8}}, Typ: types.Int8}
	}
	return n
}

func (s *distinctSplit) cast(e expr.Expr, t types.Type) expr.Expr {
	if e.Type() == t {
		return e
	}
	return &expr.Cast{Arg: e, Typ: t}
}

// aggCall is an aggregate of one argument whose type has one.
func aggCall(name string, arg expr.Expr) expr.AggCall {
	for _, f := range fn.Lookup(name) {
		if len(f.Args) == 1 && (f.Args[0] == arg.Type().OID || f.Args[0] == types.AnyOID) {
			carried, ret := f.BindArgs([]types.Type{arg.Type()})
			return expr.AggCall{Fn: f, Args: []expr.Expr{rewrite.Carry(arg, carried[0])}, Typ: ret}
		}
	}
	panic("BUG: opt: there is no " + name + " of " + arg.Type().String())
}
