package opt

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// ruleOrFactor finds in disjunctions what joins and scans can use:
//
//	(k AND a) OR (k AND b)            k AND (a OR b)     the join key of TPC-H's Q19
//	x = 1 OR x = 2                    x IN (1, 2)
//	x < 4 OR x BETWEEN 3 AND 5        x <= 5
//	(n1 = 'F' AND n2 = 'G') OR        the same, and n1 IN ('F','G') and
//	(n1 = 'G' AND n2 = 'F')           n2 IN ('G','F') for the two scans (Q7)
//
// The factor is exact for three values. The derived conditions of the last
// line only drop rows that the disjunction drops.
func ruleOrFactor(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		switch n := n.(type) {
		case *plan.Filter:
			if conds, ok := factorAll(n.Conds, n.Input); ok {
				return &plan.Filter{Input: n.Input, Conds: conds}
			}
		case *plan.Join:
			if n.Kind == plan.Mark || n.Kind == plan.AntiNull {
				return n
			}
			if conds, ok := factorAll(n.On, n.L, n.R); ok {
				c := *n
				c.On = conds
				return &c
			}
		case *plan.Scan:
			if conds, ok := factorAll(n.Filter); ok {
				c := *n
				c.Filter = conds
				return &c
			}
		}
		return n
	}), nil
}

// factorAll factors each condition; inputs are the nodes for which conditions may be derived.
func factorAll(conds []expr.Expr, inputs ...plan.Node) ([]expr.Expr, bool) {
	changed := false
	var out []expr.Expr
	for _, c := range rewrite.SplitAll(conds) {
		o, ok := c.(*expr.Or)
		if !ok {
			out = append(out, c)
			continue
		}
		f := factor(o)
		if f != expr.Expr(o) {
			changed = true
		}
		out = append(out, rewrite.SplitAll([]expr.Expr{f})...)
	}
	var tables []plan.ColSet
	if slices.ContainsFunc(out, func(c expr.Expr) bool { _, or := c.(*expr.Or); return or }) {
		for _, in := range inputs {
			tables = append(tables, leafSets(in)...)
		}
	}
	if len(tables) > 1 {
		set := rewrite.SetOf(out)
		for _, c := range out {
			o, ok := c.(*expr.Or)
			if !ok {
				continue
			}
			for _, t := range tables {
				if d := implied(o, t); d != nil && set.Add(d) {
					changed = true
				}
			}
		}
		out = set.List
	}
	return out, changed
}

// leafSets returns the columns of each input of the joins below n.
func leafSets(n plan.Node) []plan.ColSet {
	switch n := n.(type) {
	case *plan.Join:
		switch n.Kind {
		case plan.Inner:
			return append(leafSets(n.L), leafSets(n.R)...)
		case plan.Left, plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single:
			return leafSets(n.L)
		}
		return nil
	case *plan.Filter:
		return leafSets(n.Input)
	}
	return []plan.ColSet{plan.Emits(n)}
}

// factor factors out what all arms of a disjunction share.
func factor(o *expr.Or) expr.Expr {
	arms := rewrite.Disjuncts(nil, o)
	var lists [][]expr.Expr
	for _, a := range arms {
		lists = append(lists, rewrite.Conjuncts(nil, a))
	}
	var common []expr.Expr
	for _, c := range lists[0] {
		all := !rewrite.IsVolatile(c)
		for _, l := range lists[1:] {
			if all = all && rewrite.ContainsSame(l, c); !all {
				break
			}
		}
		if all {
			common = append(common, c)
		}
	}
	if len(common) == 0 {
		if in := toIn(arms); in != nil {
			return in
		}
		if less := joinIntervals(arms); less != nil {
			return less
		}
		return o
	}
	var rest []expr.Expr
	for _, l := range lists {
		var keep []expr.Expr
		for _, c := range l {
			if !rewrite.ContainsSame(common, c) {
				keep = append(keep, c)
			}
		}
		if len(keep) == 0 {
			// This arm is the common part alone: it subsumes the others.
			return rewrite.AndOf(common)
		}
		rest = append(rest, rewrite.AndOf(keep))
	}
	inner := rewrite.OrOf(rest)
	if io, ok := inner.(*expr.Or); ok {
		inner = factor(io)
	}
	return rewrite.AndOf(append(common, rewrite.Conjuncts(nil, inner)...))
}

// toIn makes one IN of equalities of one expression with constants; nil if the
// arms are something else.
func toIn(arms []expr.Expr) expr.Expr {
	var out *expr.In
	for _, a := range arms {
		switch x := a.(type) {
		case *expr.Call:
			l, r, ok := rewrite.Equality(x)
			if !ok {
				return nil
			}
			if rewrite.IsConstant(l) {
				l, r = r, l
			}
			if !rewrite.IsConstant(r) || rewrite.IsVolatile(l) {
				return nil
			}
			if out == nil {
				out = &expr.In{Arg: l, Eq: x.Fn}
			}
			if out.Eq != x.Fn || !rewrite.Same(out.Arg, l) || out.Arg.Type() != l.Type() {
				return nil
			}
			out.List = append(out.List, r)
		case *expr.In:
			if x.Not || rewrite.IsVolatile(x.Arg) {
				return nil
			}
			if out == nil {
				out = &expr.In{Arg: x.Arg, Eq: x.Eq}
			}
			if out.Eq != x.Eq || !rewrite.Same(out.Arg, x.Arg) {
				return nil
			}
			for _, e := range x.List {
				if !rewrite.IsConstant(e) {
					return nil
				}
			}
			out.List = append(out.List, x.List...)
		default:
			return nil
		}
	}
	if out == nil || len(out.List) < 2 {
		return nil
	}
	sortConstants(out.List)
	return out
}

// sortConstants brings lists of the same constants into one form, so that a condition that is derived twice
// is recognised; counted twice, it would be estimated to keep fewer rows.
func sortConstants(list []expr.Expr) {
	for _, e := range list {
		if c, ok := e.(*expr.Const); !ok || c.Val == nil || c.Typ != list[0].Type() {
			return
		}
	}
	slices.SortStableFunc(list, func(a, b expr.Expr) int {
		return types.Compare(a.Type(), a.(*expr.Const).Val, b.(*expr.Const).Val)
	})
}

// implied returns the disjunction of the conditions of each arm on one table alone; nil if some arm
// has none.
func implied(o *expr.Or, table plan.ColSet) expr.Expr {
	var arms []expr.Expr
	for _, a := range rewrite.Disjuncts(nil, o) {
		var own []expr.Expr
		for _, c := range rewrite.Conjuncts(nil, a) {
			cols := rewrite.ColumnsOf(c)
			if len(cols) > 0 && rewrite.Subset(cols, table) && !rewrite.IsVolatile(c) && !rewrite.Costly(c) {
				own = append(own, c)
			}
		}
		if len(own) == 0 {
			return nil
		}
		arms = append(arms, rewrite.AndOf(own))
	}
	if len(arms) < 2 {
		return nil
	}
	// Equal arms are one.
	var uniq rewrite.ExprSet
	for _, a := range arms {
		uniq.Add(a)
	}
	d := rewrite.OrOf(uniq.List)
	if do, ok := d.(*expr.Or); ok {
		if rewrite.Subset(rewrite.ColumnsOf(o), table) {
			return nil // it is about this table alone already
		}
		d = factor(do)
	}
	return d
}
