package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// Keyed reports whether an optimised tree reads at most one row of each of its tables, whatever the
// parameters and the number of rows: each scan fixes all columns of a unique key. There is no better plan for
// such a statement, so a plan that was made without the parameters serves all of them.
func Keyed(root plan.Node, st props.Statistics) bool {
	switch n := root.(type) {
	case *plan.Values:
		return true
	case *plan.Scan:
		bound := plan.ColSet{}
		for _, c := range rewrite.SplitAll(n.Filter) {
			l, r, ok := rewrite.Equality(c)
			if !ok {
				continue
			}
			for _, p := range [][2]expr.Expr{{l, r}, {r, l}} {
				if col, ok := rewrite.AsColumn(p[0]); ok && len(rewrite.ColumnsOf(p[1])) == 0 {
					bound[col.ID] = true
				}
			}
		}
		return props.CoversKey(props.UniqueKeys(n, st), bound)
	}
	kids := root.Children()
	for _, k := range kids {
		if !Keyed(k, st) {
			return false
		}
	}
	return len(kids) > 0 && !root.Traits().Outside
}
