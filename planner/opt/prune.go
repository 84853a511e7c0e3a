package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// rulePrune drops columns that nothing above reads, so that scans read only what is needed, and
// with them Projects' items, aggregates and window functions. It also drops sorts whose order has
// no effect.
//
// Kept nevertheless: volatile items (nextval('s') in a subquery is a side effect), set-returning
// calls (they make rows), columns of UNION without ALL, INTERSECT and EXCEPT (they decide what is
// equal).
func rulePrune(r *rule.Run, n plan.Node, want plan.ColSet) (plan.Node, error) {
	p := &pruner{r: r}
	out := p.prune(n, want, true)
	return out, nil
}

type pruner struct{ r *rule.Run }

// prune returns n with at least the columns in need. ordered says that the order of n's rows has an effect.
func (p *pruner) prune(n plan.Node, need plan.ColSet, ordered bool) plan.Node {
	p.r.Poll()
	switch n := n.(type) {
	case *plan.Scan:
		return rewrite.NarrowScan(n, need)
	case *plan.Virtual:
		cols, _ := rewrite.KeepColumns[types.Datum](n.Cols, nil, rewrite.Union(need, rewrite.ColumnsOf(n.Filter...)))
		if len(cols) == len(n.Cols) {
			return n
		}
		c := *n
		c.Cols = cols
		return &c
	case *plan.Source:
		cols, _ := rewrite.KeepColumns[types.Datum](n.Cols, nil, rewrite.Union(need, rewrite.ColumnsOf(n.Filter...)))
		if len(cols) == len(n.Cols) {
			return n
		}
		c := *n
		c.Cols = cols
		return &c
	case *plan.Values:
		return p.values(n, need)
	case *plan.Filter:
		return rule.With1(n, p.prune(n.Input, rewrite.Union(need, rewrite.ColumnsOf(n.Conds...)), ordered))
	case *plan.Project:
		items := n.Items[:0:0]
		for _, it := range n.Items {
			if need[it.Col.ID] || rewrite.IsVolatile(it.Expr) {
				items = append(items, it)
			}
		}
		used := plan.ColSet{}
		for _, it := range items {
			plan.ExprColumns(it.Expr, used)
		}
		in := p.prune(n.Input, used, ordered)
		if in == n.Input && len(items) == len(n.Items) {
			return n
		}
		return &plan.Project{Input: in, Items: items}
	case *plan.Aggregate:
		c := *n
		c.Aggs = n.Aggs[:0:0]
		for _, a := range n.Aggs {
			if need[a.Col.ID] || aggVolatile(a.Call) {
				c.Aggs = append(c.Aggs, a)
			}
		}
		if !need[n.GroupingID] && len(n.Sets) == 0 {
			c.GroupingID = 0
		}
		used := rewrite.ColumnsOf(plan.Exprs(&c)...)
		c.Input = p.prune(n.Input, used, props.OrderSensitive(c.Aggs))
		return &c
	case *plan.Window:
		c := *n
		c.Items = n.Items[:0:0]
		for _, it := range n.Items {
			if need[it.Col.ID] {
				c.Items = append(c.Items, it)
			}
		}
		if len(c.Items) == 0 {
			return p.prune(n.Input, need, ordered)
		}
		// Ties of the window's order keep the input's, and so may the output.
		c.Input = p.prune(n.Input, rewrite.Union(need, rewrite.ColumnsOf(plan.Exprs(&c)...)), true)
		return &c
	case *plan.Sort:
		if !ordered && n.Limit < 0 {
			return p.prune(n.Input, need, false)
		}
		return rule.With1(n, p.prune(n.Input, rewrite.Union(need, rewrite.ColumnsOf(plan.Exprs(n)...)), n.Limit >= 0))
	case *plan.DistinctOn:
		return rule.With1(n, p.prune(n.Input, rewrite.Union(need, rewrite.ColumnsOf(plan.Exprs(n)...)), len(n.Order) == 0))
	case *plan.Join:
		if p.unread(n, need) {
			return p.prune(n.L, need, ordered)
		}
		used := rewrite.Union(need, rewrite.ColumnsOf(plan.Exprs(n)...))
		l, r := plan.Emits(n.L), plan.Emits(n.R)
		lorder := ordered && n.Kind != plan.RightSemi && n.Kind != plan.RightAnti && n.Kind != plan.Right && n.Kind != plan.Full
		lm, rm := p.prune(n.L, both(used, l), lorder), p.prune(n.R, both(used, r), false)
		if lm == n.L && rm == n.R {
			return n
		}
		return n.WithChildren([]plan.Node{lm, rm})
	case *plan.SetOp:
		return p.setOp(n, need)
	case *plan.RecursiveUnion:
		all := func(k plan.Node) plan.ColSet { return plan.Emits(k) }
		return n.WithChildren([]plan.Node{p.prune(n.Init, all(n.Init), false), p.prune(n.Step, all(n.Step), false)})
	}
	if n.Traits().Rows.KeepsColumns() {
		return rule.With1(n, p.prune(n.Children()[0], rewrite.Union(need, rewrite.ColumnsOf(plan.Exprs(n)...)), true))
	}
	return p.r.MapChildren(n, func(k plan.Node) plan.Node { return p.prune(k, rewrite.Union(plan.Emits(k), need), true) })
}

// unread reports whether n is a join that only adds columns which nobody reads: PostgreSQL does not
// run such a subquery either.
func (p *pruner) unread(n *plan.Join, need plan.ColSet) bool {
	switch n.Kind {
	case plan.Mark:
		return !need[n.MarkCol]
	case plan.Single:
	case plan.Left:
		if rewrite.Intersects(need, plan.Emits(n.R)) || !p.r.AtMostOne(n.R, n.On) {
			return false
		}
	default:
		return false
	}
	return !rewrite.Intersects(need, plan.Emits(n.R)) && !rewrite.PlanVolatile(n.R)
}

func both(a, b plan.ColSet) plan.ColSet {
	out := plan.ColSet{}
	for c := range a {
		if b[c] {
			out[c] = true
		}
	}
	return out
}

func aggVolatile(c expr.AggCall) bool {
	for _, a := range c.Args {
		if rewrite.IsVolatile(a) {
			return true
		}
	}
	return c.Filter != nil && rewrite.IsVolatile(c.Filter)
}

func (p *pruner) values(n *plan.Values, need plan.ColSet) plan.Node {
	var keep []int
	for i, c := range n.Cols {
		vol := false
		for _, row := range n.Rows {
			vol = vol || rewrite.IsVolatile(row[i])
		}
		if need[c.ID] || vol {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(n.Cols) {
		return n
	}
	out := &plan.Values{Rows: make([][]expr.Expr, len(n.Rows))}
	for _, i := range keep {
		out.Cols = append(out.Cols, n.Cols[i])
	}
	for j, row := range n.Rows {
		out.Rows[j] = make([]expr.Expr, len(keep))
		for k, i := range keep {
			out.Rows[j][k] = row[i]
		}
	}
	return out
}

// setOp prunes by position. Inputs are pinned: each is a Project, or emits just
// the columns that count.
func (p *pruner) setOp(n *plan.SetOp, need plan.ColSet) plan.Node {
	c := *n
	c.Inputs = make([]plan.Node, len(n.Inputs))
	var keep []int
	for i, col := range n.Cols {
		if need[col.ID] || !(n.Kind == plan.Union && n.All) {
			keep = append(keep, i)
		}
	}
	if len(keep) < len(n.Cols) {
		c.Cols = make([]plan.Column, len(keep))
		for j, i := range keep {
			c.Cols[j] = n.Cols[i]
		}
	}
	changed := len(keep) < len(n.Cols)
	for i, in := range n.Inputs {
		s := in.Schema()
		sub := plan.ColSet{}
		want := make([]plan.Column, len(keep))
		for j, k := range keep {
			want[j] = s[k]
			sub[s[k].ID] = true
		}
		if len(keep) < len(s) {
			in = arrange(in, want)
		}
		m := p.prune(in, sub, false)
		c.Inputs[i] = arrange(m, want)
		changed = changed || c.Inputs[i] != n.Inputs[i]
	}
	if !changed {
		return n
	}
	return &c
}
