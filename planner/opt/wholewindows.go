package opt

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// wholeRows is the least number of rows that a window must have for another reading of them to pay, wholeFactor
// the least number of rows for each partition.
const (
	wholeRows   = 10000
	wholeFactor = 4
)

// ruleWholeWindows joins rows to aggregates of their partitions, where windows have no order, instead of sorting them
// by partition:
//
//	avg(x) OVER (PARTITION BY k)  over  t        t ⋈ (γ k: avg(x) over t)
//
// The rows are read twice, so they must come straight from a table. Windows over windows are joined each to its own
// grouping of the table, unless one of them sorts anyway.
func ruleWholeWindows(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	if r.InStep {
		return n, nil
	}
	return wholeWindows(r, n), nil
}

func wholeWindows(r *rule.Run, n plan.Node) plan.Node {
	var chain []*plan.Window
	base := n
	for w, ok := base.(*plan.Window); ok; w, ok = base.(*plan.Window) {
		chain = append(chain, w)
		base = w.Input
	}
	out := r.MapChildren(base, func(k plan.Node) plan.Node { return wholeWindows(r, k) })
	join := fromTable(base) && !slices.ContainsFunc(chain, func(w *plan.Window) bool { return !wholePartitions(w) })
	if len(chain) == 0 || !join {
		for _, w := range slices.Backward(chain) {
			out = rule.With1(w, out)
		}
		return out
	}
	for _, w := range slices.Backward(chain) {
		out = joinWhole(r, w, base, out)
	}
	return out
}

// fromTable reports whether n's rows are those of a table, read in one pass.
func fromTable(n plan.Node) bool {
	if slices.ContainsFunc(plan.Exprs(n), func(e expr.Expr) bool { return rewrite.IsVolatile(e) || rewrite.HasSubquery(e) }) {
		return false
	}
	switch n := n.(type) {
	case *plan.Scan:
		return n.RowID == 0
	case *plan.Filter:
		return fromTable(n.Input)
	case *plan.Project:
		return fromTable(n.Input)
	}
	return false
}

// wholePartitions reports whether all calls of a window are of whole partitions, and do not depend on which rows come
// first.
func wholePartitions(w *plan.Window) bool {
	if len(w.OrderBy) > 0 || slices.ContainsFunc(plan.Exprs(w), rewrite.IsVolatile) {
		return false
	}
	for _, e := range w.PartitionBy {
		if !rewrite.JoinsGroups(e.Type()) {
			return false
		}
	}
	for _, it := range w.Items {
		c, f := it.Call, it.Frame
		if c.Distinct || len(c.OrderBy) > 0 || c.Direct > 0 || c.Machine != nil || f.Exclude != 0 || f.Start.Offset != nil || f.End.Offset != nil {
			return false
		}
		if f.Mode == 'r' && (f.Start.Kind != plan.UnboundedPreceding || f.End.Kind != plan.UnboundedFollowing) {
			return false // without an order all rows of a partition are peers
		}
		switch c.Fn.Name {
		case "count", "sum", "avg", "bool_and", "bool_or", "every", "var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp",
			"corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy":
		case "min", "max":
			if !c.Typ.EqualIsSame() {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// joinWhole makes w over rows, which are those of base with more columns, a join, if that pays.
func joinWhole(r *rule.Run, w *plan.Window, base, rows plan.Node) plan.Node {
	if !rewrite.Subset(rewrite.ColumnsOf(plan.Exprs(w)...), plan.Emits(base)) {
		return rule.With1(w, rows)
	}
	copied, ids := r.Rename(base)
	by := map[expr.ColID]expr.Expr{}
	for _, c := range base.Schema() {
		id := c.ID
		c.ID = ids[id]
		by[id] = rewrite.ColOf(c)
	}
	in := func(e expr.Expr) expr.Expr { return rewrite.Subst(e, by) }
	agg := &plan.Aggregate{Input: copied}
	join := &plan.Join{Kind: plan.Inner, L: rows, R: agg}
	for _, e := range w.PartitionBy {
		col := r.NewCol("partition", e.Type())
		agg.Groups = append(agg.Groups, plan.Item{Col: col, Expr: in(e)})
		join.On = append(join.On, rewrite.SameGroup(e, rewrite.ColOf(col)))
	}
	for _, it := range w.Items {
		c := it.Call
		c.Args = make([]expr.Expr, len(it.Call.Args))
		for i, a := range it.Call.Args {
			c.Args[i] = in(a)
		}
		if c.Filter != nil {
			c.Filter = in(c.Filter)
		}
		agg.Aggs = append(agg.Aggs, plan.AggItem{Col: it.Col, Call: c})
	}
	est := r.Estimates()
	if all := est.Of(base).Rows; all < wholeRows || all < wholeFactor*est.Of(agg).Rows {
		return rule.With1(w, rows)
	}
	return arrange(join, w.Schema())
}
