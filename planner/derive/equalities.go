package derive

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// Transitive derives conditions by equalities: with a.x = b.x, a filter's condition on a.x
// alone holds for the b.x that can match, so b's scan may check it too. Comparisons pass bounds on
// (bounds.go).
//
// Conditions go from the left side to the right side of Inner, Left, Semi, Anti and Single joins, since a
// right row that fails cannot match. They go from right to left in Inner and Semi joins only, since a Left
// join keeps left rows without a match. No function may distinguish equal values of the columns' type:
// otherwise length(x) = 3, true for 'a  ' as character(3), would be tested on 'a'.
func Transitive(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		j, ok := n.(*plan.Join)
		if !ok {
			return n
		}
		toR, toL := false, false
		switch j.Kind {
		case plan.Inner, plan.Semi:
			toR, toL = true, true
		case plan.Left, plan.Anti, plan.Single:
			toR = true
		}
		if !toR {
			return n
		}
		l, rr := plan.Emits(j.L), plan.Emits(j.R)
		lknown, rknown := impliedConds(j.L), impliedConds(j.R)
		var forL, forR []expr.Expr
		for _, c := range rewrite.SplitAll(j.On) {
			a, b, ok := rewrite.Equality(c)
			if !ok {
				forR = append(forR, bounded(r, c, rr, lknown, rknown)...)
				if toL {
					forL = append(forL, bounded(r, c, l, rknown, lknown)...)
				}
				continue
			}
			ca, ok1 := rewrite.AsColumn(a)
			cb, ok2 := rewrite.AsColumn(b)
			if !ok1 || !ok2 || ca.Typ.OID != cb.Typ.OID || !ca.Typ.SamePhysical(cb.Typ) || !ca.Typ.EqualIsSame() {
				continue
			}
			if l[cb.ID] && rr[ca.ID] {
				ca, cb = cb, ca
			}
			if !l[ca.ID] || !rr[cb.ID] {
				continue
			}
			forR = append(forR, deriveConds(lknown, ca, cb, rknown)...)
			if toL {
				forL = append(forL, deriveConds(rknown, cb, ca, lknown)...)
			}
		}
		if len(forL) == 0 && len(forR) == 0 {
			return n
		}
		m := *j
		m.L, m.R = rewrite.Filter(j.L, forL), rewrite.Filter(j.R, forR)
		return &m
	}), nil
}

// deriveConds returns the conditions of from over column a alone as conditions on b, without those
// that are in have.
func deriveConds(from []expr.Expr, a, b *expr.Col, have []expr.Expr) []expr.Expr {
	var out rewrite.ExprSet
	all := rewrite.SetOf(have)
	by := map[expr.ColID]expr.Expr{a.ID: b}
	for _, c := range from {
		cols := rewrite.ColumnsOf(c)
		if len(cols) != 1 || !cols[a.ID] || rewrite.Costly(c) || rewrite.IsVolatile(c) {
			continue
		}
		if x, ok := c.(*expr.IsNull); ok && x.Not {
			continue // the equality implies it
		}
		d := rewrite.Subst(c, by)
		if !all.Has(d) {
			out.Add(d)
		}
	}
	return out.List
}

// impliedConds lists conditions that every row of n meets, over n's columns.
func impliedConds(n plan.Node) []expr.Expr {
	switch n := n.(type) {
	case *plan.Scan:
		return n.Filter
	case *plan.Virtual:
		return n.Filter
	case *plan.Source:
		return n.Filter
	case *plan.Filter:
		return append(rewrite.SplitAll(n.Conds), impliedConds(n.Input)...)
	case *plan.Project:
		to := map[expr.ColID]expr.Expr{}
		for _, it := range n.Items {
			if c, ok := rewrite.AsColumn(it.Expr); ok {
				to[c.ID] = rewrite.ColOf(it.Col)
			}
		}
		return renamed(impliedConds(n.Input), to)
	case *plan.Aggregate:
		if len(n.Sets) > 0 {
			return nil
		}
		to := map[expr.ColID]expr.Expr{}
		for _, g := range n.Groups {
			if c, ok := rewrite.AsColumn(g.Expr); ok {
				to[c.ID] = rewrite.ColOf(g.Col)
			}
		}
		return renamed(impliedConds(n.Input), to)
	case *plan.Join:
		switch n.Kind {
		case plan.Inner:
			return append(append(impliedConds(n.L), impliedConds(n.R)...), n.On...)
		case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single, plan.Left:
			return impliedConds(n.L)
		}
	}
	if n.Traits().Rows.KeepsColumns() {
		return impliedConds(n.Children()[0])
	}
	return nil
}

func renamed(conds []expr.Expr, to map[expr.ColID]expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, c := range conds {
		ok := true
		for id := range rewrite.ColumnsOf(c) {
			if _, has := to[id]; !has {
				ok = false
			}
		}
		if ok {
			out = append(out, rewrite.Subst(c, to))
		}
	}
	return out
}
