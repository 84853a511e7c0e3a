package unnest

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// numbered gives the left rows a key of which the table of R is then, in place of the distinct values of the columns
// that R reads (decision 135): for a subquery over the elements of a row's own array, document or text alone. Those
// are long, hardly ever equal, and would be hashed and compared at each step up.
//
//	(SELECT sum((e ->> 'qty')::int) FROM jsonb_array_elements(o.items) AS e)
//
//	by values   items is grouped, expanded, grouped by items, joined by items
//	by number   o is numbered, expanded, grouped by the number, joined by the number
func (d *decorrelator) numbered(a *plan.Apply) {
	if d.r.Err != nil || a.Kind == plan.AntiNull || !ofRowAlone(a.R) || rewrite.PlanVolatile(a.R) || !d.long(d.correlated(a.R)) {
		return
	}
	for _, k := range d.r.Estimates().Facts.UniqueKeys(d.l) {
		if d.short(k) {
			d.key = rewrite.SortedIDs(k)
			return
		}
	}
	if !d.buffers() {
		return
	}
	l, col := rowNumber(d.r, d.l, nil, nil, false)
	if d.r.Err != nil {
		return
	}
	d.l = l
	d.cols[col.ID], d.corr[col.ID], d.key = col, true, []expr.ColID{col.ID}
	d.buffered()
}

// ofRowAlone reports whether a subquery has no relation but the elements of what the left row has.
func ofRowAlone(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.FuncScan:
		return true
	case *plan.Values:
		return len(n.Rows) == 1
	case *plan.Filter, *plan.Project, *plan.ProjectSet, *plan.Aggregate, *plan.Sort, *plan.Limit, *plan.Window, *plan.DistinctOn, *plan.Max1Row:
		return ofRowAlone(n.Children()[0])
	}
	return false
}

// long reports whether columns are rather compared by a number of their rows.
func (d *decorrelator) long(cols plan.ColSet) bool {
	texts := plan.ColSet{}
	for id := range cols {
		switch t := d.cols[id].Type; {
		case t.IsArray(), t.Class() == types.ClassJSON, t.Class() == types.ClassJSONB:
			return true
		case t.IsCharacters():
			texts[id] = true
		}
	}
	if len(texts) == 0 {
		return false
	}
	// Where few texts are there, each is looked at once.
	agg := &plan.Aggregate{Input: d.l}
	for _, id := range rewrite.SortedIDs(texts) {
		agg.Groups = append(agg.Groups, rewrite.PassThrough(d.cols[id]))
	}
	est := d.r.Estimates()
	return 4*est.Of(agg).Rows > est.Of(d.l).Rows
}

// short reports whether columns are a key of few bytes.
func (d *decorrelator) short(key plan.ColSet) bool {
	for id := range key {
		c, ok := d.cols[id]
		if _, _, isInt := c.Type.IntRange(); !ok || !isInt && c.Type.OID != types.DateOID && c.Type.OID != types.TimestampOID {
			return false
		}
	}
	return len(key) > 0 && len(key) <= 2
}
