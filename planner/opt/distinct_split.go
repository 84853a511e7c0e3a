package opt

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// distinctSplit groups by the argument of DISTINCT aggregates first; the other aggregates are
// computed by that grouping and merged over it:
//
//	γ g: count(DISTINCT x), count(y), avg(z)
//
//	π g, d, c::bigint, s / n
//	└─ γ g: d = count(x), c = sum(c), s = sum(s), n = sum(n)
//	   └─ γ g, x: c = count(y), s = sum(z), n = count(z)
//
// With several arguments each has a grouping set of its own, the first of which computes the other
// aggregates:
//
//	γ g: count(DISTINCT x), count(DISTINCT y), count(z)
//
//	π g, d, e, c::bigint
//	└─ γ g: d = count(x) FILTER (of x), e = count(y) FILTER (of y), c = sum(c) FILTER (of x)
//	   └─ γ GROUPING SETS ((g, x), (g, y)): c = count(z)
type distinctSplit struct {
	r            *rule.Run
	inner, outer *plan.Aggregate
	top          []plan.Item
	computes     bool            // top does more than pass columns on
	args         []expr.Expr     // of DISTINCT
	cols         [][]plan.Column // of each argument: one, or those of the fields of a row
	mask         plan.Column     // the inner groups' sets, where there are several
}

// mostDistinct is the greatest number of different arguments: for each of them all rows are grouped once
// more.
const mostDistinct = 8

// splitDistinct returns nil where n cannot be split.
func splitDistinct(r *rule.Run, n *plan.Aggregate) plan.Node {
	if len(n.Aggs) == 0 || len(n.Sets) > 0 || n.GroupingID != 0 {
		return nil
	}
	s := &distinctSplit{r: r, inner: &plan.Aggregate{Input: n.Input}, outer: &plan.Aggregate{Rows: n.Rows}}
	for _, a := range n.Aggs {
		c := a.Call
		if regroups(c) {
			continue
		}
		if !c.Distinct || len(c.Args) != 1 || c.Filter != nil || len(c.OrderBy) > 0 || c.Direct > 0 || rewrite.IsVolatile(c.Args[0]) || props.OrderedAgg(c) {
			return nil
		}
		if len(fieldsOf(c.Args[0])) > 1 && c.Fn.Name != "count" {
			return nil // which would need the row again
		}
		if s.of(c.Args[0]) < 0 {
			s.args = append(s.args, c.Args[0])
		}
	}
	fields := 0
	for _, arg := range s.args {
		fields += len(fieldsOf(arg))
	}
	if len(s.args) == 0 || len(s.args) > mostDistinct || len(n.Groups)+fields > 31 || r.Estimates().KeptDistinct(n) {
		return nil // a mask is an integer
	}
	for _, g := range n.Groups {
		s.inner.Groups, s.outer.Groups = append(s.inner.Groups, g), append(s.outer.Groups, rewrite.PassThrough(g.Col))
		s.top = append(s.top, rewrite.PassThrough(g.Col))
	}
	var sets [][]int
	for _, arg := range s.args {
		var set []int
		for k := range n.Groups {
			set = append(set, k)
		}
		var cols []plan.Column
		for _, f := range fieldsOf(arg) {
			col := r.NewCol("distinct", f.Type())
			set = append(set, len(s.inner.Groups))
			cols, s.inner.Groups = append(cols, col), append(s.inner.Groups, plan.Item{Col: col, Expr: f})
		}
		s.cols, sets = append(s.cols, cols), append(sets, set)
	}
	if len(s.args) > 1 {
		s.mask = r.NewCol("grouping", types.Int4)
		s.inner.GroupingID, s.inner.Sets = s.mask.ID, sets
	}
	for _, a := range n.Aggs {
		if a.Call.Distinct {
			i := s.of(a.Call.Args[0])
			a.Call.Distinct, a.Call.Filter = false, s.within(i)
			if len(s.cols[i]) == 1 {
				a.Call.Args = []expr.Expr{rewrite.ColOf(s.cols[i][0])}
			} else {
				a.Call.Args = []expr.Expr{rewrite.BoolConst(true)} // a row is not NULL, even of NULLs
			}
			s.outer.Aggs = append(s.outer.Aggs, a)
			s.top = append(s.top, rewrite.PassThrough(a.Col))
			continue
		}
		s.regroup(a)
	}
	s.outer.Input = s.inner
	if fields == 1 && props.Regroups(r.Estimates(), n, s.inner) {
		s.inner.Regrouped = s.cols[0][0].ID
	}
	if s.computes {
		return &plan.Project{Input: s.outer, Items: s.top}
	}
	return s.outer
}

// of returns which argument of DISTINCT e is; -1 if none.
func (s *distinctSplit) of(e expr.Expr) int {
	return slices.IndexFunc(s.args, func(x expr.Expr) bool { return rewrite.Same(x, e) })
}

// within returns a condition that is true for the inner groups of argument i; nil if all inner groups are.
func (s *distinctSplit) within(i int) expr.Expr {
	if len(s.args) == 1 {
		return nil
	}
	mask := int64(0) // what the set leaves out
	for k, cols := range s.cols {
		for range cols {
			if mask <<= 1; k != i {
				mask |= 1
			}
		}
	}
	return rewrite.Compare("=", rewrite.ColOf(s.mask), &expr.Const{Val: mask, Typ: types.Int4})
}

// fieldsOf returns what an argument of DISTINCT is grouped by: the fields of a row that is made of them, which are
// hashed and compared as they are.
func fieldsOf(arg expr.Expr) []expr.Expr {
	if row, ok := arg.(*expr.RowCtor); ok && len(row.Elems) > 1 {
		return row.Elems
	}
	return []expr.Expr{arg}
}

// regroups reports whether an aggregate over a group can be computed from aggregates over its parts. Sums of
// floats cannot: they would be rounded twice.
func regroups(c expr.AggCall) bool {
	if c.Filter != nil || len(c.OrderBy) > 0 || c.Direct > 0 || c.Fn == nil || c.Distinct {
		return false
	}
	switch c.Fn.Name {
	case "count":
		return true
	case "min", "max", "bool_and", "bool_or", "every":
		return len(c.Args) == 1 && c.Args[0].Type().SamePhysical(c.Typ)
	case "sum", "avg":
		return len(c.Args) == 1 && exactSum(c.Args[0].Type()) && !rewrite.IsVolatile(c.Args[0])
	}
	return false
}

func exactSum(t types.Type) bool { return t.IsNumber() && !t.IsFloat() }

// regroup adds an aggregate that is computed over parts.
func (s *distinctSplit) regroup(a plan.AggItem) {
	item := rewrite.PassThrough(a.Col)
	switch a.Call.Fn.Name {
	case "count":
		item.Expr = s.count(a.Call)
	case "sum":
		item.Expr = s.cast(s.sum(a.Call), a.Call.Typ)
	case "avg":
		sum := s.cast(s.sum(rule.Aggregate("sum", a.Call.Args[0])), types.Numeric)
		n := s.cast(s.count(rule.Aggregate("count", a.Call.Args[0])), types.Numeric)
		over := rewrite.Operator("/", types.Numeric, types.Numeric)
		item.Expr = s.cast(rewrite.CallOf(over.Func, "/", sum, n), a.Call.Typ) // NULL / 0 is NULL
	default:
		a.Call.Args, a.Call.Filter = []expr.Expr{s.part(a.Call)}, s.within(0)
		s.outer.Aggs = append(s.outer.Aggs, a)
	}
	if c, ok := item.Expr.(*expr.Col); !ok || c.ID != a.Col.ID {
		s.computes = true
	}
	s.top = append(s.top, item)
}

// part returns the column of an aggregate over a part.
func (s *distinctSplit) part(c expr.AggCall) expr.Expr {
	col := s.r.NewCol(c.Fn.Name, c.Typ)
	s.inner.Aggs = append(s.inner.Aggs, plan.AggItem{Col: col, Call: c})
	return rewrite.ColOf(col)
}

// sum adds an aggregate's results over the parts.
func (s *distinctSplit) sum(c expr.AggCall) expr.Expr {
	call := rule.Aggregate("sum", s.part(c))
	call.Filter = s.within(0)
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
