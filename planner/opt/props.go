package opt

import (
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// groupingType is the type of Aggregate.GroupingID.
var groupingType = types.Int4

func nodeName(n plan.Node) string {
	switch n.(type) {
	case *plan.RecursiveUnion:
		return "WITH RECURSIVE"
	case *plan.TableWrite:
		return "a table write"
	}
	return "this relation"
}

// nullIf tells whether e is NULL for sure where all of cols are.
func nullIf(e expr.Expr, cols colSet) bool {
	switch e := e.(type) {
	case *expr.Col:
		return cols[e.ID]
	case *expr.Const:
		return e.Val == nil
	case *expr.Cast:
		return nullIf(e.Arg, cols)
	case *expr.Call:
		if e.Fn == nil || !e.Fn.Strict {
			return false
		}
		for _, a := range e.Args {
			if nullIf(a, cols) {
				return true
			}
		}
		return false
	case *expr.Not:
		return nullIf(e.Arg, cols)
	case *expr.In:
		return len(e.List) > 0 && nullIf(e.Arg, cols)
	case *expr.And:
		return allOf(e.Args, func(a expr.Expr) bool { return nullIf(a, cols) })
	case *expr.Or:
		return allOf(e.Args, func(a expr.Expr) bool { return nullIf(a, cols) })
	case *expr.Coalesce:
		return allOf(e.Args, func(a expr.Expr) bool { return nullIf(a, cols) })
	case *expr.MinMax:
		return allOf(e.Args, func(a expr.Expr) bool { return nullIf(a, cols) })
	case *expr.Field:
		return nullIf(e.Arg, cols)
	case *expr.Subscript:
		return nullIf(e.Array, cols)
	}
	return false
}

func allOf(es []expr.Expr, p func(expr.Expr) bool) bool {
	for _, e := range es {
		if !p(e) {
			return false
		}
	}
	return len(es) > 0
}

// rejects tells whether the condition e cannot be true where all of cols are
// NULL.
func rejects(e expr.Expr, cols colSet) bool {
	if nullIf(e, cols) {
		return true
	}
	switch e := e.(type) {
	case *expr.Const:
		return e.Val == nil || e.Val == false
	case *expr.And:
		for _, a := range e.Args {
			if rejects(a, cols) {
				return true
			}
		}
	case *expr.Or:
		return allOf(e.Args, func(a expr.Expr) bool { return rejects(a, cols) })
	case *expr.IsNull:
		return e.Not && e.Arg.Type().OID != types.RecordOID && nullIf(e.Arg, cols)
	case *expr.BoolTest:
		switch {
		case e.Kind == expr.IsTrue && !e.Not:
			return rejects(e.Arg, cols)
		case e.Kind == expr.IsFalse && !e.Not, e.Kind == expr.IsUnknown && e.Not:
			return nullIf(e.Arg, cols)
		}
	case *expr.AnyAll:
		return !e.All && nullIf(e.Arg, cols)
	}
	return false
}

// exactlyOne tells whether n gives exactly one row whatever the data.
func exactlyOne(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Values:
		return len(n.Rows) == 1
	case *plan.Aggregate:
		return len(n.Groups) == 0 && len(n.Sets) <= 1
	case *plan.Join:
		switch n.Kind {
		case plan.Mark, plan.Single:
			return exactlyOne(n.L)
		case plan.Left:
			return exactlyOne(n.L) && atMostOneRow(n.R)
		case plan.Inner:
			return len(n.On) == 0 && len(n.LKeys) == 0 && len(n.Residual) == 0 && exactlyOne(n.L) && exactlyOne(n.R)
		}
	}
	t := n.Traits().Rows
	return t.AtMostOnce() && t.KeepsSome() && exactlyOne(n.Children()[0])
}

// atMostOneRow tells whether n gives no row or one.
func atMostOneRow(n plan.Node) bool {
	if exactlyOne(n) {
		return true
	}
	switch n := n.(type) {
	case *plan.Values:
		return len(n.Rows) <= 1
	case *plan.Sort:
		if n.Limit == 0 || n.Limit == 1 {
			return true
		}
	case *plan.Limit:
		if c, ok := n.Count.(*expr.Const); ok && !n.Ties {
			if v, ok := c.Val.(int64); ok && v <= 1 {
				return true
			}
		}
	case *plan.Max1Row:
		return true
	case *plan.Join:
		switch n.Kind {
		case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single:
			return atMostOneRow(n.L)
		case plan.Inner, plan.Left:
			return atMostOneRow(n.L) && atMostOneRow(n.R)
		case plan.RightSemi, plan.RightAnti:
			return atMostOneRow(n.R)
		}
	}
	return n.Traits().Rows.AtMostOnce() && atMostOneRow(n.Children()[0])
}

// atMostOne tells whether a left row meets at most one row of n under conds:
// they bind a unique key of n.
func (r *run) atMostOne(n plan.Node, conds []expr.Expr) bool {
	if atMostOneRow(n) {
		return true
	}
	own := plan.Emits(n)
	bound := colSet{}
	for _, c := range splitAll(conds) {
		l, rr, ok := equality(c)
		if d, isD := c.(*expr.Distinct); isD && d.Not {
			l, rr, ok = d.L, d.R, true
		}
		if !ok {
			continue
		}
		for _, p := range [][2]expr.Expr{{l, rr}, {rr, l}} {
			if col, ok := asColumn(p[0]); ok && own[col.ID] && !intersects(columnsOf(p[1]), own) {
				bound[col.ID] = true
			}
		}
	}
	return coversKey(uniqueKeys(n, r.env.Stats), bound)
}

func coversKey(keys []colSet, bound colSet) bool {
	for _, k := range keys {
		if subset(k, bound) {
			return true
		}
	}
	return false
}

// uniqueKeys gives sets of columns of which no two rows of n agree. NULLs count
// as equal, so nullable unique columns are none.
func uniqueKeys(n plan.Node, st Statistics) []colSet {
	if atMostOneRow(n) {
		return []colSet{{}}
	}
	switch n := n.(type) {
	case *plan.Scan:
		t := st.Table(n.Table)
		if t == nil {
			return nil
		}
		var out []colSet
		for _, u := range t.Unique {
			if k := scanColumns(n, u); k != nil {
				out = append(out, k)
			}
		}
		if n.RowID != 0 {
			out = append(out, colSet{n.RowID: true})
		}
		return out
	case *plan.Aggregate:
		if len(n.Sets) > 0 || n.Phase == plan.AggPartial {
			return nil
		}
		k := colSet{}
		for _, g := range n.Groups {
			k[g.Col.ID] = true
		}
		out := []colSet{k}
		// A key of the input among the groups is a key still.
		by := map[expr.ColID]expr.ColID{}
		for _, g := range n.Groups {
			if c, ok := asColumn(g.Expr); ok {
				by[c.ID] = g.Col.ID
			}
		}
		return append(out, mapKeys(uniqueKeys(n.Input, st), by)...)
	case *plan.Project:
		by := map[expr.ColID]expr.ColID{}
		for _, it := range n.Items {
			if c, ok := asColumn(it.Expr); ok {
				by[c.ID] = it.Col.ID
			}
		}
		return mapKeys(uniqueKeys(n.Input, st), by)
	case *plan.DistinctOn:
		out := uniqueKeys(n.Input, st)
		k := colSet{}
		for _, e := range n.Keys {
			c, ok := asColumn(e)
			if !ok {
				return out
			}
			k[c.ID] = true
		}
		return append(out, k)
	case *plan.SetOp:
		if !n.All {
			k := colSet{}
			for _, c := range n.Cols {
				k[c.ID] = true
			}
			return []colSet{k}
		}
	case *plan.Join:
		switch n.Kind {
		case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single:
			return uniqueKeys(n.L, st)
		case plan.RightSemi, plan.RightAnti:
			return uniqueKeys(n.R, st)
		case plan.Inner, plan.Left:
			lk, rk := uniqueKeys(n.L, st), uniqueKeys(n.R, st)
			lcols, rcols := plan.Emits(n.L), plan.Emits(n.R)
			var out []colSet
			if coversKey(rk, boundBy(n, rcols)) {
				out = append(out, lk...)
			}
			if n.Kind == plan.Inner && coversKey(lk, boundBy(n, lcols)) {
				out = append(out, rk...)
			}
			if len(out) == 0 && len(lk) > 0 && len(rk) > 0 {
				out = append(out, union(lk[0], rk[0]))
			}
			return out
		}
	}
	if t := n.Traits().Rows; t.AtMostOnce() && t.KeepsColumns() {
		return uniqueKeys(n.Children()[0], st)
	}
	return nil
}

// boundBy gives the columns of one side of a join that equal something of the
// other side.
func boundBy(j *plan.Join, side colSet) colSet {
	out := colSet{}
	bind := func(a, b expr.Expr) {
		if c, ok := asColumn(a); ok && side[c.ID] && !intersects(columnsOf(b), side) {
			out[c.ID] = true
		}
	}
	for _, c := range splitAll(j.On) {
		if l, r, ok := equality(c); ok {
			bind(l, r)
			bind(r, l)
		}
	}
	for i := range j.LKeys {
		bind(j.LKeys[i], j.RKeys[i])
		bind(j.RKeys[i], j.LKeys[i])
	}
	return out
}

func mapKeys(keys []colSet, by map[expr.ColID]expr.ColID) []colSet {
	var out []colSet
	for _, k := range keys {
		m := colSet{}
		for c := range k {
			to, ok := by[c]
			if !ok {
				m = nil
				break
			}
			m[to] = true
		}
		if m != nil {
			out = append(out, m)
		}
	}
	return out
}

// scanColumns finds table columns among a scan's; nil if one is not read.
func scanColumns(n *plan.Scan, nums []int16) colSet {
	out := colSet{}
	for _, num := range nums {
		found := false
		for _, c := range n.Cols {
			if c.Num == num {
				out[c.ID] = true
				found = true
			}
		}
		if !found {
			return nil
		}
	}
	return out
}

// notNull gives the columns of n that are never NULL.
func notNull(n plan.Node, st Statistics) colSet {
	switch n := n.(type) {
	case *plan.Scan:
		out := colSet{}
		t := st.Table(n.Table)
		for _, c := range n.Cols {
			if t != nil {
				if t.NotNull(c.Num) {
					out[c.ID] = true
				}
			}
		}
		addRejected(out, n.Filter, n.Cols)
		return out
	case *plan.Filter:
		out := notNull(n.Input, st)
		addRejected(out, n.Conds, n.Schema())
		return out
	case *plan.Project:
		in := notNull(n.Input, st)
		out := colSet{}
		for _, it := range n.Items {
			if neverNull(it.Expr, in) {
				out[it.Col.ID] = true
			}
		}
		return out
	case *plan.Values:
		out := colSet{}
		for i, c := range n.Cols {
			ok := len(n.Rows) > 0
			for _, row := range n.Rows {
				ok = ok && neverNull(row[i], nil)
			}
			if ok {
				out[c.ID] = true
			}
		}
		return out
	case *plan.Aggregate:
		in := notNull(n.Input, st)
		out := colSet{}
		if len(n.Sets) == 0 {
			for _, g := range n.Groups {
				if neverNull(g.Expr, in) {
					out[g.Col.ID] = true
				}
			}
		}
		for _, a := range n.Aggs {
			if a.Call.Fn != nil && (a.Call.Fn.Name == "count" || a.Call.Fn.Name == "regr_count") {
				out[a.Col.ID] = true
			} else if len(n.Groups) > 0 && len(n.Sets) == 0 && a.Call.Filter == nil && len(a.Call.Args) == 1 && neverNull(a.Call.Args[0], in) {
				switch a.Call.Fn.Name {
				case "sum", "min", "max", "avg", "bool_and", "bool_or", "every":
					out[a.Col.ID] = true
				}
			}
		}
		return out
	case *plan.Join:
		switch n.Kind {
		case plan.Inner:
			out := union(notNull(n.L, st), notNull(n.R, st))
			addRejected(out, n.On, n.Schema())
			return out
		case plan.Left, plan.Single, plan.Mark, plan.Anti, plan.AntiNull:
			return notNull(n.L, st)
		case plan.Semi:
			out := notNull(n.L, st)
			addRejected(out, n.On, n.L.Schema())
			return out
		case plan.Right, plan.RightAnti, plan.RightSemi:
			return notNull(n.R, st)
		}
	}
	if n.Traits().Rows.KeepsColumns() {
		return notNull(n.Children()[0], st)
	}
	return colSet{}
}

// addRejected adds the columns whose NULL some condition rejects.
func addRejected(out colSet, conds []expr.Expr, cols []plan.Column) {
	for _, c := range conds {
		used := columnsOf(c)
		for _, col := range cols {
			if used[col.ID] && !out[col.ID] && rejects(c, colSet{col.ID: true}) {
				out[col.ID] = true
			}
		}
	}
}

// neverNull tells whether e has a value, given columns that have.
func neverNull(e expr.Expr, cols colSet) bool {
	switch e := e.(type) {
	case *expr.Col:
		return cols[e.ID]
	case *expr.Const:
		return e.Val != nil
	case *expr.IsNull, *expr.BoolTest, *expr.Distinct:
		return true
	case *expr.Cast:
		return neverNull(e.Arg, cols) && e.Typ.OID != types.JSONOID && e.Typ.OID != types.JSONBOID
	case *expr.Coalesce:
		for _, a := range e.Args {
			if neverNull(a, cols) {
				return true
			}
		}
	case *expr.And:
		return allOf(e.Args, func(a expr.Expr) bool { return neverNull(a, cols) })
	case *expr.Or:
		return allOf(e.Args, func(a expr.Expr) bool { return neverNull(a, cols) })
	case *expr.Not:
		return neverNull(e.Arg, cols)
	case *expr.Call:
		// Comparisons and arithmetic of values are values.
		if e.Fn == nil || !e.Fn.Strict || len(e.Args) != 2 || !strings.Contains("= <> < > <= >= + - *", e.Op) || e.Op == "" {
			return false
		}
		if e.Typ.OID == types.JSONBOID || e.Typ.IsArray() {
			return false
		}
		return neverNull(e.Args[0], cols) && neverNull(e.Args[1], cols)
	}
	return false
}

// emptyAggregate is what an aggregate gives for no rows.
func emptyAggregate(a plan.AggItem) expr.Expr {
	if a.Call.Fn != nil {
		switch a.Call.Fn.Name {
		case "count", "regr_count":
			return &expr.Const{Val: int64(0), Typ: a.Col.Type}
		case "rank", "dense_rank":
			return &expr.Const{Val: int64(1), Typ: a.Col.Type}
		case "percent_rank":
			return &expr.Const{Val: float64(0), Typ: a.Col.Type}
		case "cume_dist":
			return &expr.Const{Val: float64(1), Typ: a.Col.Type}
		}
	}
	return nullConst(a.Col.Type)
}

// orderedAgg tells whether the order of the input shows in the result.
func orderedAgg(c expr.AggCall) bool {
	if c.Fn == nil {
		return true
	}
	switch c.Fn.Name {
	case "count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor",
		"stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp",
		"percentile_cont", "percentile_disc", "rank", "dense_rank", "percent_rank", "cume_dist",
		"corr", "covar_pop", "covar_samp", "regr_count", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope",
		"regr_sxx", "regr_sxy", "regr_syy":
		return false
	}
	return c.Fn.Kind == fn.Aggregate
}

func orderSensitive(aggs []plan.AggItem) bool {
	for _, a := range aggs {
		if orderedAgg(a.Call) && len(a.Call.OrderBy) == 0 {
			return true
		}
	}
	return false
}
