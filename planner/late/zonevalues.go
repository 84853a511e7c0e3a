package late

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// ZoneValues answers min, max and count of all rows of a table from the zone maps of its segments in this
// snapshot: no row is read for them.
//
//	γ min(day), max(day), count(*)             (2013-07-01, 2013-07-31, 3000000)
//	└─ hits                             ─▶
//
// Of other calls beside them the grouping is left.
func ZoneValues(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		a, ok := n.(*plan.Aggregate)
		if !ok || a.Phase != plan.AggSingle || len(a.Groups) > 0 || a.Sets != nil || a.GroupingID != 0 {
			return n
		}
		s, ok := a.Input.(*plan.Scan)
		if !ok || len(s.Filter) > 0 {
			return n
		}
		t := r.Env.Stats.Table(s.Table)
		if t == nil || !t.Counted {
			return n
		}
		rest := *a
		rest.Aggs = nil
		var items []plan.Item
		var row []expr.Expr
		for _, it := range a.Aggs {
			item := rewrite.PassThrough(it.Col)
			if d, ok := zoneValue(it.Call, s, t); ok {
				item.Expr = &expr.Const{Typ: it.Col.Type, Val: d}
				row = append(row, item.Expr)
			} else {
				rest.Aggs = append(rest.Aggs, it)
			}
			items = append(items, item)
		}
		switch {
		case len(row) == 0:
			return n
		case len(rest.Aggs) == 0:
			return &plan.Values{Cols: a.Schema(), Rows: [][]expr.Expr{row}}
		}
		return &plan.Project{Input: &rest, Items: items}
	}), nil
}

// zoneValue returns the result of a call over all rows of a table, if its statistics tell.
func zoneValue(c expr.AggCall, s *plan.Scan, t *props.TableStats) (types.Datum, bool) {
	if c.Machine != nil || c.Filter != nil || c.Direct > 0 {
		return nil, false
	}
	if c.Star {
		return int64(t.Rows), true
	}
	if len(c.Args) != 1 {
		return nil, false
	}
	col, ok := rewrite.AsColumn(c.Args[0])
	if !ok {
		return nil, false
	}
	for _, sc := range s.Cols {
		if sc.ID != col.ID {
			continue
		}
		cs, ok := t.Col(sc.Num)
		switch {
		case !ok:
		case c.Fn.Name == "min" && cs.Exact:
			return cs.Min, true
		case c.Fn.Name == "max" && cs.Exact:
			return cs.Max, true
		case c.Fn.Name == "count" && cs.Counted && !c.Distinct:
			return int64(t.Rows) - cs.Nulls, true
		}
	}
	return nil, false
}
