package unnest

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// pushJoin makes the table of a join below an Apply. The rows of both sides' tables must be of the
// same values.
func (d *decorrelator) pushJoin(n *plan.Join, above plan.ColSet) *table {
	switch n.Kind {
	case plan.Right:
		before := n.Schema()
		t := d.pushJoin(&plan.Join{Kind: plan.Left, L: n.R, R: n.L, On: n.On}, above)
		_ = before // columns are found by id
		return t
	case plan.Full:
		return d.pushFull(n, above)
	case plan.Inner:
		if len(d.usesOuter(n.On...)) > 0 {
			c := *n
			c.On = nil
			return d.pushFilter(&plan.Filter{Input: &c, Conds: n.On}, above)
		}
		return d.pushInner(n, above)
	}
	return d.pushOuter(n, above)
}

func (d *decorrelator) pushInner(n *plan.Join, above plan.ColSet) *table {
	l := d.complete(d.push(n.L, above))
	r := d.complete(d.push(n.R, above))
	if d.r.Err != nil {
		return l
	}
	// A value that is needed above must come from one side at least; ensure
	// adds it later. Links of the same expression must agree.
	out := &table{links: append([]correlation(nil), l.links...)}
	on := append([]expr.Expr(nil), n.On...)
	for _, rl := range r.links {
		at := -1
		for i, ll := range out.links {
			if rewrite.Same(ll.outer, rl.outer) {
				at = i
			}
		}
		if at < 0 {
			out.links = append(out.links, rl)
			continue
		}
		ll := out.links[at]
		var cond expr.Expr
		if ll.strict || rl.strict {
			cond = rewrite.Equals(rewrite.ColOf(ll.col), rewrite.ColOf(rl.col))
		} else if ll.col.Type == rl.col.Type {
			cond = rewrite.SameValue(rewrite.ColOf(ll.col), rewrite.ColOf(rl.col))
		}
		if cond == nil {
			// No operator between the two: let the domain be between them.
			l = d.ensure(&table{n: l.n, links: l.links}, rewrite.Union(l.outers(), r.outers()))
			return d.pushOuterTables(n, plan.Inner, l, r)
		}
		on = append(on, cond)
		if !ll.value && rl.value || ll.value == rl.value && !ll.strict && rl.strict {
			out.links[at] = rl
		}
	}
	out.n = &plan.Join{Kind: plan.Inner, L: l.n, R: r.n, On: on}
	if isUnit(l.n) {
		out.n = rewrite.Filter(r.n, on)
	} else if isUnit(r.n) {
		out.n = rewrite.Filter(l.n, on)
	}
	out.one = l.one && r.one
	return out
}

// pushOuter is for joins whose left rows may stay without a partner: the right
// table is joined by the left one's values.
func (d *decorrelator) pushOuter(n *plan.Join, above plan.ColSet) *table {
	used := d.usesOuter(n.On...)
	r := d.complete(d.push(n.R, plan.ColSet{}))
	if d.r.Err != nil {
		return r
	}
	l := d.complete(d.push(n.L, rewrite.Union(above, rewrite.Union(used, r.outers()))))
	if d.r.Err != nil {
		return l
	}
	need := rewrite.Union(used, plan.ColSet{})
	for _, rl := range r.links {
		matched := false
		for _, ll := range l.links {
			if rewrite.Same(ll.outer, rl.outer) && rewrite.Equals(rewrite.ColOf(ll.col), rewrite.ColOf(rl.col)) != nil && (ll.strict || rl.strict) {
				matched = true
			}
		}
		if !matched {
			need = rewrite.Union(need, rewrite.ColumnsOf(rl.outer))
		}
	}
	l = d.ensure(l, need)
	return d.pushOuterTables(n, n.Kind, l, r)
}

// pushOuterTables joins two tables; the left one has what the right one needs.
func (d *decorrelator) pushOuterTables(n *plan.Join, kind plan.JoinKind, l, r *table) *table {
	by := l.values()
	j := *n
	j.Kind, j.L, j.R = kind, l.n, r.n
	j.On = rewrite.SubstAll(n.On, by)
	var extra []expr.Expr
	for _, rl := range r.links {
		if subsetOf(rewrite.ColumnsOf(rl.outer), by) {
			extra = append(extra, rewrite.Subst(rl.cond, by))
			continue
		}
		for _, ll := range l.links {
			if rewrite.Same(ll.outer, rl.outer) {
				extra = append(extra, rewrite.Equals(rewrite.ColOf(ll.col), rewrite.ColOf(rl.col)))
				break
			}
		}
	}
	a := &plan.Apply{Kind: kind, L: j.L, R: j.R, On: j.On, MarkCol: n.MarkCol}
	d.addConds(a, extra)
	if a.Kind == plan.AntiNull && !plainNotIn(a) {
		a.Kind, a.On = plan.Anti, rule.NotFalse(a.On)
	}
	j.Kind, j.On = a.Kind, a.On
	if kind == plan.Single && r.one {
		j.Kind = plan.Left
	}
	one := l.one
	switch j.Kind {
	case plan.Left, plan.Inner:
		one = l.one && r.one
	}
	return &table{n: &j, links: l.links, one: one}
}

// pushFull makes both sides carry all values and merges them.
func (d *decorrelator) pushFull(n *plan.Join, above plan.ColSet) *table {
	need := rewrite.Union(above, d.correlated(n))
	l := d.ensure(d.complete(d.push(n.L, need)), need)
	r := d.ensure(d.complete(d.push(n.R, need)), need)
	if d.r.Err != nil {
		return l
	}
	lv, rv := l.values(), r.values()
	on := rewrite.SubstAll(n.On, lv)
	out := &table{}
	items := append(rewrite.PassItems(n.L.Schema()), rewrite.PassItems(n.R.Schema())...)
	for _, id := range rewrite.SortedIDs(need) {
		c := d.cols[id]
		on = append(on, rewrite.SameValue(lv[id], rv[id]))
		col := d.r.NewCol(c.Name, c.Type)
		items = append(items, plan.Item{Col: col, Expr: &expr.Coalesce{Args: []expr.Expr{lv[id], rv[id]}, Typ: c.Type}})
		out.links = append(out.links, correlation{outer: rewrite.ColOf(c), col: col, cond: rewrite.SameValue(rewrite.ColOf(c), rewrite.ColOf(col)), value: true})
	}
	out.n = &plan.Project{Input: &plan.Join{Kind: plan.Full, L: l.n, R: r.n, On: on}, Items: items}
	return out
}
