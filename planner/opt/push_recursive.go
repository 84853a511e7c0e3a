package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// pushRecursive runs the recursions for all values of L's columns at once: the
// rows carry the values they are about, from the first term through the rounds.
//
//	Init(c)            { (row, c) | row in Init(c) }
//	Step(buffer, c)    { (row, c) | row in Step({ r | (r, c) in buffer }, c) }
//
// Inside the step the buffer's rows say which c they are about, so there it is
// like a table that has links already.
func (d *decorrelator) pushRecursive(n *plan.RecursiveUnion, above colSet) *table {
	need := union(above, d.correlated(n))
	cols := sortedIDs(need)
	init := d.ensure(d.complete(d.push(n.Init, need)), need)
	if d.r.err != nil {
		return init
	}
	if d.rounds == nil {
		d.rounds = map[int][]expr.ColID{}
	}
	d.rounds[n.ID] = cols
	step := d.ensure(d.complete(d.push(n.Step, need)), need)
	delete(d.rounds, n.ID)
	if d.r.err != nil {
		return step
	}
	out := *n
	out.Init = d.withValues(init, n.Init.Schema(), cols)
	out.Step = d.withValues(step, n.Step.Schema(), cols)
	out.Cols = n.Cols[:len(n.Cols):len(n.Cols)]
	res := &table{}
	for _, id := range cols {
		l := d.valueLink(id)
		out.Cols = append(out.Cols, l.col)
		res.links = append(res.links, l)
	}
	res.n = &out
	return res
}

// pushRound reads the rows of the last round with the values they are about.
func (d *decorrelator) pushRound(n *plan.Buffer) *table {
	c := *n
	c.Cols = n.Cols[:len(n.Cols):len(n.Cols)]
	t := &table{}
	for _, id := range d.rounds[n.ID] {
		l := d.valueLink(id)
		c.Cols = append(c.Cols, l.col)
		t.links = append(t.links, l)
	}
	t.n = &c
	return t
}

// readsRounds tells whether n reads rows that carry values already.
func (d *decorrelator) readsRounds(n plan.Node) bool {
	for id := range d.rounds {
		if readsBuffer(n, id) {
			return true
		}
	}
	return false
}

// valueLink makes a column that stands for one of L's.
func (d *decorrelator) valueLink(id expr.ColID) link {
	c := d.cols[id]
	col := d.r.newCol(c.Name, c.Type)
	return link{outer: colOf(c), col: col, cond: notDistinct(colOf(c), colOf(col)), value: true}
}

// withValues makes a table emit own, then the values of cols; rows about
// nothing go.
func (d *decorrelator) withValues(t *table, own []plan.Column, cols []expr.ColID) plan.Node {
	items := passItems(own)
	by := t.values()
	var notNull []expr.Expr
	for _, id := range cols {
		v := by[id]
		items = append(items, plan.Item{Col: d.r.newCol(d.cols[id].Name, v.Type()), Expr: v})
		for _, l := range t.links {
			if c, ok := asColumn(l.outer); ok && c.ID == id && l.strict {
				notNull = append(notNull, &expr.IsNull{Arg: v, Not: true})
			}
		}
	}
	return &plan.Project{Input: filter(t.n, notNull), Items: items}
}
