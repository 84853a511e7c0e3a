package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// ruleOuterJoins turns outer joins into inner ones where a condition above drops the
// null-extended rows anyway: it cannot be true with NULLs for that side's columns.
//
//	(a LEFT JOIN b) WHERE b.x > 0          inner
//	(a FULL JOIN b) WHERE a.x = 1          left join
//	(a LEFT JOIN b ON a.x = b.x)
//	               WHERE b.x IS NULL       anti-join: no partner has a NULL there
//
// Joins above count as conditions: in (a LEFT JOIN b) JOIN c ON b.x = c.x no
// null-extended row finds a match.
func ruleOuterJoins(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	o := &outerReducer{r: r}
	out := o.reduce(n, nil)
	// From here on right joins are left joins with their sides swapped.
	return r.BottomUp(out, func(n plan.Node) plan.Node {
		if j, ok := n.(*plan.Join); ok && j.Kind == plan.Right {
			c := *j
			c.Kind, c.L, c.R = plan.Left, j.R, j.L
			return &c
		}
		return n
	}), nil
}

type outerReducer struct{ r *rule.Run }

// reduce rewrites n; every row of its result that does not meet conds is
// dropped above.
func (o *outerReducer) reduce(n plan.Node, conds []expr.Expr) plan.Node {
	o.r.Poll()
	with := func(more []expr.Expr) []expr.Expr {
		return append(conds[:len(conds):len(conds)], more...)
	}
	one := func(n plan.Node, conds []expr.Expr) plan.Node {
		in := n.Children()[0]
		if m := o.reduce(in, conds); m != in {
			return n.WithChildren([]plan.Node{m})
		}
		return n
	}
	switch n := n.(type) {
	case *plan.Filter:
		return one(n, with(n.Conds))
	case *plan.Project:
		by := map[expr.ColID]expr.Expr{}
		for _, it := range n.Items {
			by[it.Col.ID] = it.Expr
		}
		return one(n, rewrite.SubstAll(conds, by))
	case *plan.Sort:
		if n.Limit < 0 {
			return one(n, conds)
		}
	case *plan.Aggregate:
		by := map[expr.ColID]expr.Expr{}
		groups := plan.ColSet{}
		for _, g := range n.Groups {
			by[g.Col.ID] = g.Expr
			groups[g.Col.ID] = true
		}
		var down []expr.Expr
		if len(n.Sets) == 0 && len(n.Groups) > 0 {
			down, _ = split(conds, func(c expr.Expr) bool { return rewrite.Subset(rewrite.ColumnsOf(c), groups) })
		}
		return one(n, rewrite.SubstAll(down, by))
	case *plan.Join:
		return o.join(n, conds)
	}
	return o.r.MapChildren(n, func(k plan.Node) plan.Node { return o.reduce(k, nil) })
}

func (o *outerReducer) join(n *plan.Join, conds []expr.Expr) plan.Node {
	l, r := plan.Emits(n.L), plan.Emits(n.R)
	rejectsAny := func(cols plan.ColSet) bool {
		for _, c := range conds {
			if rewrite.Intersects(rewrite.ColumnsOf(c), cols) && props.Rejects(c, cols) {
				return true
			}
		}
		return false
	}
	kind := n.Kind
	switch kind {
	case plan.Left:
		if rejectsAny(r) {
			kind = plan.Inner
		} else if wantsUnmatched(n, r, conds) {
			anti := *n
			anti.Kind = plan.Anti
			return o.reduce(nullExtended(&anti), conds)
		}
	case plan.Right:
		if rejectsAny(l) {
			kind = plan.Inner
		}
	case plan.Full:
		noL, noR := rejectsAny(l), rejectsAny(r)
		switch {
		case noL && noR:
			kind = plan.Inner
		case noL:
			kind = plan.Left
		case noR:
			kind = plan.Right
		}
	}
	var forL, forR []expr.Expr
	both := append(conds[:len(conds):len(conds)], n.On...)
	switch kind {
	case plan.Inner:
		forL, forR = both, both
	case plan.Left, plan.Single:
		forL, forR = conds, n.On
	case plan.Right:
		forL, forR = n.On, conds
	case plan.Semi:
		forL, forR = both, n.On
	case plan.Anti, plan.Mark:
		forL, forR = conds, nil
		if kind == plan.Anti {
			forR = n.On
		}
	case plan.AntiNull:
		forL = conds
	}
	// A condition is of use to a side only if NULLs on that side alone make it fail, which rejects
	// checks with that side's columns.
	lm, rm := o.reduce(n.L, forL), o.reduce(n.R, forR)
	if kind == n.Kind && lm == n.L && rm == n.R {
		return n
	}
	c := *n
	c.Kind, c.L, c.R = kind, lm, rm
	return &c
}

// wantsUnmatched reports whether conds drop each row of a left join that has a partner: they require a
// column to be NULL that cannot be where the join's condition is true.
func wantsUnmatched(n *plan.Join, right plan.ColSet, conds []expr.Expr) bool {
	for _, c := range rewrite.SplitAll(conds) {
		x, ok := c.(*expr.IsNull)
		if !ok || x.Not || x.Arg.Type().OID == types.RecordOID { // a record of NULLs IS NULL too
			continue
		}
		if col, ok := rewrite.AsColumn(x.Arg); ok && right[col.ID] && props.Rejects(rewrite.AndOf(n.On), plan.ColSet{col.ID: true}) {
			return true
		}
	}
	return false
}

// nullExtended returns the rows of an anti-join with NULLs for its right side.
func nullExtended(n *plan.Join) plan.Node {
	p := &plan.Project{Input: n, Items: rewrite.PassItems(n.L.Schema())}
	for _, c := range n.R.Schema() {
		p.Items = append(p.Items, plan.Item{Col: c, Expr: &expr.Const{Typ: c.Type}})
	}
	return p
}
