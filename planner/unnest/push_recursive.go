package unnest

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// pushRecursive runs the recursions for all values of L's columns at once: the rows carry their
// values, from the first term through the rounds.
//
//	Init(c)            { (row, c) | row in Init(c) }
//	Step(buffer, c)    { (row, c) | row in Step({ r | (r, c) in buffer }, c) }
//
// Inside the step the buffer's rows have their c, so there it is like a table that has links
// already.
func (d *decorrelator) pushRecursive(n *plan.RecursiveUnion, above plan.ColSet) *table {
	need := rewrite.Union(above, d.correlated(n))
	cols := rewrite.SortedIDs(need)
	init := d.ensure(d.complete(d.push(n.Init, need)), need)
	if d.r.Err != nil {
		return init
	}
	if d.rounds == nil {
		d.rounds = map[int][]expr.ColID{}
	}
	d.rounds[n.ID] = cols
	step := d.ensure(d.complete(d.push(n.Step, need)), need)
	delete(d.rounds, n.ID)
	if d.r.Err != nil {
		return step
	}
	out := *n
	out.Init = d.withValues(init, n.Init.Schema(), cols)
	out.Step = d.withValues(step, n.Step.Schema(), cols)
	res := &table{n: &out}
	var linkCols []plan.Column
	res.links, linkCols = d.valueLinks(cols)
	out.Cols = append(n.Cols[:len(n.Cols):len(n.Cols)], linkCols...)
	return res
}

// pushRound reads the rows of the last round with their values.
func (d *decorrelator) pushRound(n *plan.Buffer) *table {
	c := *n
	t := &table{n: &c}
	var linkCols []plan.Column
	t.links, linkCols = d.valueLinks(d.rounds[n.ID])
	c.Cols = append(n.Cols[:len(n.Cols):len(n.Cols)], linkCols...)
	return t
}

// readsRounds reports whether n reads rows that carry values already.
func (d *decorrelator) readsRounds(n plan.Node) bool {
	for id := range d.rounds {
		if rule.ReadsBuffer(n, id) {
			return true
		}
	}
	return false
}

// valueLinks makes columns that stand for some of L's, and lists all that
// withValues emits for them.
func (d *decorrelator) valueLinks(ids []expr.ColID) (links []correlation, cols []plan.Column) {
	for _, id := range ids {
		c := d.cols[id]
		col := d.r.NewCol(c.Name, c.Type)
		links = append(links, correlation{outer: rewrite.ColOf(c), col: col, cond: rewrite.SameValue(rewrite.ColOf(c), rewrite.ColOf(col)), value: true})
		cols = append(cols, col)
		if !c.Type.EqualIsSame() {
			cols = append(cols, d.r.NewCol("image", types.Text))
		}
	}
	return links, cols
}

// withValues makes a table emit own, then the values of cols; rows that belong to no value are
// dropped.
func (d *decorrelator) withValues(t *table, own []plan.Column, cols []expr.ColID) plan.Node {
	items := rewrite.PassItems(own)
	by := t.values()
	var notNull []expr.Expr
	for _, id := range cols {
		v := by[id]
		items = append(items, plan.Item{Col: d.r.NewCol(d.cols[id].Name, v.Type()), Expr: v})
		if !d.cols[id].Type.EqualIsSame() {
			items = append(items, plan.Item{Col: d.r.NewCol("image", types.Text), Expr: rewrite.Image(v)})
		}
		for _, l := range t.links {
			if c, ok := rewrite.AsColumn(l.outer); ok && c.ID == id && l.strict {
				notNull = append(notNull, &expr.IsNull{Arg: v, Not: true})
			}
		}
	}
	return &plan.Project{Input: rewrite.Filter(t.n, notNull), Items: items}
}
