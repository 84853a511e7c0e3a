package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// rulePushdown moves conditions towards the tables, so that rows are dropped early and scans can
// skip blocks by their zone maps.
//
// A condition passes a node if the node emits the same rows, less those that
// fail it, as when it is checked above. So it passes
//
//	Project     with its columns replaced by their expressions
//	Inner       to the side that it reads; into On if it reads both
//	Left        over the left side's columns only: on a null-extended row a condition
//	            over the right side sees NULLs that are not there yet below
//	Semi, Anti  over the left side's columns
//	Aggregate   over grouping columns: HAVING sum(x) > 1 must stay, and with
//	            grouping sets all must, as ROLLUP makes NULLs of its own
//	Window      over columns that all rows of a partition share
//	DistinctOn  over its keys
//	Sort, SetOp always
//	Limit       never: the first ten of the even rows are not the even ones of
//	            the first ten
//
// If a disjunction stays above a grouping, a window or a DISTINCT ON, its implication for their
// keys goes down. A volatile condition stays where it is.
func rulePushdown(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	p := &pusher{r: r}
	return p.push(n, nil), nil
}

type pusher struct{ r *rule.Run }

// kids continues below n with no condition.
func (p *pusher) kids(n plan.Node) plan.Node {
	return p.r.MapChildren(n, func(k plan.Node) plan.Node { return p.push(k, nil) })
}

// push returns n with conds applied as low as they can be.
func (p *pusher) push(n plan.Node, conds []expr.Expr) plan.Node {
	p.r.Poll()
	switch n := n.(type) {
	case *plan.Filter:
		return p.filter(n, conds)
	case *plan.Scan:
		c := *n
		return filterIn(n, &c, &c.Filter, conds)
	case *plan.Virtual:
		c := *n
		return filterIn(n, &c, &c.Filter, conds)
	case *plan.Source:
		c := *n
		return filterIn(n, &c, &c.Filter, conds)
	case *plan.Project:
		return p.project(n, conds)
	case *plan.ProjectSet:
		in := plan.Emits(n.Input)
		down, up := split(conds, func(c expr.Expr) bool { return rewrite.Subset(rewrite.ColumnsOf(c), in) })
		return rewrite.Filter(rule.With1(n, p.push(n.Input, down)), up)
	case *plan.Aggregate:
		return p.aggregate(n, conds)
	case *plan.Window:
		keys := plainColumns(n.PartitionBy)
		down, up := split(conds, func(c expr.Expr) bool { return rewrite.Subset(rewrite.ColumnsOf(c), keys) })
		down = withImplied(down, up, keys)
		return rewrite.Filter(rule.With1(n, p.push(n.Input, down)), up)
	case *plan.DistinctOn:
		keys := plainColumns(n.Keys)
		down, up := split(conds, func(c expr.Expr) bool { return rewrite.Subset(rewrite.ColumnsOf(c), keys) })
		down = withImplied(down, up, keys)
		return rewrite.Filter(rule.With1(n, p.push(n.Input, down)), up)
	case *plan.Sort:
		if n.Limit >= 0 {
			return rewrite.Filter(p.kids(n), conds)
		}
		return rule.With1(n, p.push(n.Input, conds))
	case *plan.SetOp:
		return p.setOp(n, conds)
	case *plan.Join:
		return p.join(n, conds)
	}
	return rewrite.Filter(p.kids(n), conds)
}

// split partitions conds by whether they may go down.
func split(conds []expr.Expr, ok func(expr.Expr) bool) (down, up []expr.Expr) {
	for _, c := range conds {
		if ok(c) {
			down = append(down, c)
		} else {
			up = append(up, c)
		}
	}
	return down, up
}

// scannable: models are applied by operators, not by scans.
func scannable(c expr.Expr) bool { return !rewrite.Costly(c) && len(rewrite.ColumnsOf(c)) > 0 }

// withImplied adds to down what disjunctions that stay above imply for cols alone: (m = 1 AND
// sum(x) > 0) OR m = 2 implies that m is 1 or 2.
func withImplied(down, up []expr.Expr, cols plan.ColSet) []expr.Expr {
	for _, c := range up {
		if o, ok := c.(*expr.Or); ok && !rewrite.IsVolatile(o) {
			if d := implied(o, cols); d != nil {
				down = addNew(down, []expr.Expr{d})
			}
		}
	}
	return down
}

func addNew(have, more []expr.Expr) []expr.Expr {
	set := rewrite.SetOf(have)
	for _, c := range more {
		set.Add(c)
	}
	return set.List
}

func plainColumns(es []expr.Expr) plan.ColSet {
	out := plan.ColSet{}
	for _, e := range es {
		if c, ok := rewrite.AsColumn(e); ok {
			out[c.ID] = true
		}
	}
	return out
}

func (p *pusher) filter(n *plan.Filter, conds []expr.Expr) plan.Node {
	all := addNew(rewrite.SplitAll(n.Conds), conds)
	// A volatile condition stays, and so do those after it.
	for i, c := range all {
		if rewrite.IsVolatile(c) {
			return rewrite.Filter(p.push(n.Input, all[:i]), all[i:])
		}
	}
	return p.push(n.Input, all)
}

func (p *pusher) project(n *plan.Project, conds []expr.Expr) plan.Node {
	by := map[expr.ColID]expr.Expr{}
	heavy := plan.ColSet{}
	for _, it := range n.Items {
		by[it.Col.ID] = it.Expr
		if rewrite.IsVolatile(it.Expr) || rewrite.Costly(it.Expr) {
			heavy[it.Col.ID] = true
		}
	}
	down, up := split(conds, func(c expr.Expr) bool { return !rewrite.Intersects(rewrite.ColumnsOf(c), heavy) })
	return rewrite.Filter(rule.With1(n, p.push(n.Input, rewrite.SubstAll(down, by))), up)
}

func (p *pusher) aggregate(n *plan.Aggregate, conds []expr.Expr) plan.Node {
	by := map[expr.ColID]expr.Expr{}
	groups := plan.ColSet{}
	if len(n.Sets) == 0 {
		for _, g := range n.Groups {
			if !rewrite.IsVolatile(g.Expr) && !rewrite.Costly(g.Expr) {
				by[g.Col.ID] = g.Expr
				groups[g.Col.ID] = true
			}
		}
	}
	down, up := split(conds, func(c expr.Expr) bool {
		cols := rewrite.ColumnsOf(c)
		return len(n.Groups) > 0 && len(cols) > 0 && rewrite.Subset(cols, groups)
	})
	down = withImplied(down, up, groups)
	return rewrite.Filter(rule.With1(n, p.push(n.Input, rewrite.SubstAll(down, by))), up)
}

func (p *pusher) setOp(n *plan.SetOp, conds []expr.Expr) plan.Node {
	if len(conds) == 0 {
		return p.kids(n)
	}
	c := *n
	c.Inputs = make([]plan.Node, len(n.Inputs))
	for i, in := range n.Inputs {
		by := map[expr.ColID]expr.Expr{}
		s := in.Schema()
		for j, col := range n.Cols {
			by[col.ID] = rewrite.ColOf(s[j])
		}
		c.Inputs[i] = p.push(in, rewrite.SubstAll(conds, by))
	}
	return &c
}

func (p *pusher) join(n *plan.Join, conds []expr.Expr) plan.Node {
	l, r := plan.Emits(n.L), plan.Emits(n.R)
	onlyL := func(c expr.Expr) bool { return rewrite.Subset(rewrite.ColumnsOf(c), l) }
	onlyR := func(c expr.Expr) bool { return rewrite.Subset(rewrite.ColumnsOf(c), r) }
	on := rewrite.SplitAll(n.On)
	j := *n
	switch n.Kind {
	case plan.Inner:
		var vol []expr.Expr
		for i, c := range on {
			if rewrite.IsVolatile(c) {
				vol, on = on[i:], on[:i]
				break
			}
		}
		all := addNew(on, conds)
		toL, rest := split(all, func(c expr.Expr) bool { return onlyL(c) && len(rewrite.ColumnsOf(c)) > 0 })
		toR, rest := split(rest, onlyR)
		j.On = rest
		j.L, j.R = p.push(n.L, toL), p.push(n.R, toR)
		return rewrite.Filter(&j, vol)
	case plan.Left, plan.Single, plan.Mark, plan.Semi, plan.Anti, plan.AntiNull:
		toL, up := split(conds, onlyL)
		var toR []expr.Expr
		switch n.Kind {
		case plan.Left, plan.Single, plan.Anti:
			toR, j.On = split(on, func(c expr.Expr) bool { return onlyR(c) && !rewrite.IsVolatile(c) })
		case plan.Semi:
			var more []expr.Expr
			more, j.On = split(on, func(c expr.Expr) bool { return onlyL(c) && !rewrite.IsVolatile(c) && len(rewrite.ColumnsOf(c)) > 0 })
			toL = append(toL, more...)
			toR, j.On = split(j.On, func(c expr.Expr) bool { return onlyR(c) && !rewrite.IsVolatile(c) })
		case plan.Mark:
			// Only a condition that is never NULL may drop right rows.
			toR, j.On = split(on, func(c expr.Expr) bool {
				b, ok := c.(*expr.BoolTest)
				return ok && b.Kind == expr.IsTrue && !b.Not && onlyR(c) && !rewrite.IsVolatile(c)
			})
		}
		j.L, j.R = p.push(n.L, toL), p.push(n.R, unwrapTrue(toR))
		return rewrite.Filter(&j, up)
	case plan.Right:
		toR, up := split(conds, onlyR)
		var toL []expr.Expr
		toL, j.On = split(on, func(c expr.Expr) bool { return onlyL(c) && !rewrite.IsVolatile(c) })
		j.L, j.R = p.push(n.L, toL), p.push(n.R, toR)
		return rewrite.Filter(&j, up)
	}
	return rewrite.Filter(p.kids(n), conds)
}

// unwrapTrue drops IS TRUE, which a filter does not need.
func unwrapTrue(conds []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(conds))
	for i, c := range conds {
		if b, ok := c.(*expr.BoolTest); ok && b.Kind == expr.IsTrue && !b.Not {
			c = b.Arg
		}
		out[i] = c
	}
	return out
}

// filterIn moves what can be evaluated as n reads rows into its filter, which is that of its copy c.
func filterIn(n, c plan.Node, filter *[]expr.Expr, conds []expr.Expr) plan.Node {
	down, up := split(conds, scannable)
	if len(down) == 0 {
		return rewrite.Filter(n, up)
	}
	*filter = addNew(*filter, down)
	return rewrite.Filter(c, up)
}
