package scope

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// MapExpr rewrites e top down: f returns a replacement, or nil to descend into the children. Plans
// of subqueries are entered too.
func MapExpr(e expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	if r := f(e); r != nil {
		return r
	}
	if s, ok := e.(*expr.Subquery); ok {
		if p := MapPlan(s.Plan.(plan.Node), f); p != s.Plan {
			n := *s
			n.Plan = p
			e = &n
		}
	}
	kids := e.Children()
	var out []expr.Expr
	for i, c := range kids {
		n := MapExpr(c, f)
		if n != c && out == nil {
			out = append(make([]expr.Expr, 0, len(kids)), kids[:i]...)
		}
		if out != nil {
			out = append(out, n)
		}
	}
	if out != nil {
		return e.With(out)
	}
	return e
}

func MapList(es []expr.Expr, f func(expr.Expr) expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = MapExpr(e, f)
	}
	return out
}

// MapPlan rewrites the expressions of a plan, each as MapExpr does.
func MapPlan(n plan.Node, f func(expr.Expr) expr.Expr) plan.Node {
	if kids := n.Children(); len(kids) > 0 {
		out := make([]plan.Node, len(kids))
		same := true
		for i, k := range kids {
			out[i] = MapPlan(k, f)
			same = same && out[i] == k
		}
		if !same {
			n = n.WithChildren(out)
		}
	}
	return plan.MapExprs(n, func(e expr.Expr) expr.Expr { return MapExpr(e, f) })
}

// Close remembers that a plan is stable and reads neither columns of outer queries nor the working table of
// an open recursion. In a chain of WITH queries each query would check all those before it again.
func (st *Statement) Close(n plan.Node) {
	if st.closed == nil {
		st.closed = map[plan.Node]bool{}
	}
	st.closed[n] = true
}

// Closed reports whether Close was called for a plan.
func (st *Statement) Closed(n plan.Node) bool { return st != nil && st.closed[n] }

// eachExpr calls f for the expressions of a plan that is not closed, whole ones only.
func (st *Statement) eachExpr(n plan.Node, f func(expr.Expr)) {
	if st.Closed(n) {
		return
	}
	for _, k := range n.Children() {
		st.eachExpr(k, f)
	}
	for _, e := range plan.Exprs(n) {
		f(e)
	}
}

// OuterCols returns the columns that a plan reads and does not emit: those of outer queries. Each
// is listed once, in the order found.
func OuterCols(n plan.Node) []expr.ColID { return (*Statement)(nil).OuterCols(n) }

// OuterCols is like the function OuterCols, but does not look into closed plans.
func (st *Statement) OuterCols(n plan.Node) []expr.ColID {
	made := map[expr.ColID]bool{}
	var makes func(plan.Node)
	var reads []expr.ColID
	makes = func(n plan.Node) {
		if !st.Closed(n) {
			for _, c := range n.Children() {
				makes(c)
			}
		}
		for _, c := range n.Schema() {
			made[c.ID] = true
		}
	}
	makes(n)
	st.eachExpr(n, func(e expr.Expr) {
		expr.Walk(e, func(x expr.Expr) bool {
			switch x := x.(type) {
			case *expr.Col:
				reads = append(reads, x.ID)
			case *expr.Subquery:
				sub := x.Plan.(plan.Node)
				reads = append(reads, st.OuterCols(sub)...)
			}
			return true
		})
	})
	var out []expr.ColID
	for _, id := range reads {
		if !made[id] {
			made[id] = true
			out = append(out, id)
		}
	}
	return out
}

// VolatilePlan reports whether a plan's rows may differ from run to run.
func VolatilePlan(n plan.Node) bool { return (*Statement)(nil).VolatilePlan(n) }

// VolatilePlan is like the function VolatilePlan, but does not look into closed plans.
func (st *Statement) VolatilePlan(n plan.Node) bool {
	found := false
	st.eachExpr(n, func(e expr.Expr) { found = found || Volatile(e) })
	return found
}
