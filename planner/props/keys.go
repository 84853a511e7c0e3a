package props

import (
	"maps"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// NullIf reports whether e is NULL for sure where all of cols are.
func NullIf(e expr.Expr, cols plan.ColSet) bool {
	switch e := e.(type) {
	case *expr.Col:
		return cols[e.ID]
	case *expr.Const:
		return e.Val == nil
	case *expr.Cast:
		return NullIf(e.Arg, cols)
	case *expr.Call:
		if e.Fn == nil || !e.Fn.Strict {
			return false
		}
		for _, a := range e.Args {
			if NullIf(a, cols) {
				return true
			}
		}
		return false
	case *expr.Not:
		return NullIf(e.Arg, cols)
	case *expr.In:
		return len(e.List) > 0 && NullIf(e.Arg, cols)
	case *expr.And:
		return allOf(e.Args, func(a expr.Expr) bool { return NullIf(a, cols) })
	case *expr.Or:
		return allOf(e.Args, func(a expr.Expr) bool { return NullIf(a, cols) })
	case *expr.Coalesce:
		return allOf(e.Args, func(a expr.Expr) bool { return NullIf(a, cols) })
	case *expr.MinMax:
		return allOf(e.Args, func(a expr.Expr) bool { return NullIf(a, cols) })
	case *expr.Field:
		return NullIf(e.Arg, cols)
	case *expr.Subscript:
		return NullIf(e.Array, cols)
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

// Rejects reports whether the condition e cannot be true where all of cols are
// NULL.
func Rejects(e expr.Expr, cols plan.ColSet) bool {
	if NullIf(e, cols) {
		return true
	}
	switch e := e.(type) {
	case *expr.Const:
		return e.Val == nil || e.Val == false
	case *expr.And:
		for _, a := range e.Args {
			if Rejects(a, cols) {
				return true
			}
		}
	case *expr.Or:
		return allOf(e.Args, func(a expr.Expr) bool { return Rejects(a, cols) })
	case *expr.IsNull:
		return e.Not && e.Arg.Type().OID != types.RecordOID && NullIf(e.Arg, cols)
	case *expr.BoolTest:
		switch {
		case e.Kind == expr.IsTrue && !e.Not:
			return Rejects(e.Arg, cols)
		case e.Kind == expr.IsFalse && !e.Not, e.Kind == expr.IsUnknown && e.Not:
			return NullIf(e.Arg, cols)
		}
	case *expr.AnyAll:
		return !e.All && NullIf(e.Arg, cols)
	}
	return false
}

// ExactlyOne reports whether n returns exactly one row whatever the data.
func ExactlyOne(n plan.Node) bool {
	exactly, _ := new(Facts).oneRow(n)
	return exactly
}

// AtMostOneRow reports whether n returns no row or one.
func AtMostOneRow(n plan.Node) bool {
	_, most := new(Facts).oneRow(n)
	return most
}

func CoversKey(keys []plan.ColSet, bound plan.ColSet) bool {
	for _, k := range keys {
		if rewrite.Subset(k, bound) {
			return true
		}
	}
	return false
}

// UniqueKeys returns sets of columns of which no two rows of n agree. NULLs count
// as equal, so nullable unique columns are none.
func UniqueKeys(n plan.Node, st Statistics) []plan.ColSet { return NewFacts(st).UniqueKeys(n) }

func (f *Facts) uniqueKeys(n plan.Node) []plan.ColSet {
	if _, most := f.oneRow(n); most {
		return []plan.ColSet{{}}
	}
	switch n := n.(type) {
	case *plan.Scan:
		t := f.st.Table(n.Table)
		if t == nil {
			return nil
		}
		var out []plan.ColSet
		for _, u := range t.Unique {
			if k := scanColumns(n, u); k != nil {
				out = append(out, k)
			}
		}
		for _, c := range n.Cols {
			if k := (plan.ColSet{c.ID: true}); t.Key(c.Num) && !containsKey(out, k) {
				out = append(out, k)
			}
		}
		if n.RowID != 0 {
			out = append(out, plan.ColSet{n.RowID: true})
		}
		return out
	case *plan.Aggregate:
		if len(n.Sets) > 0 || n.Phase == plan.AggPartial || n.Regrouped != 0 {
			return nil
		}
		k := plan.ColSet{}
		for _, g := range n.Groups {
			k[g.Col.ID] = true
		}
		out := []plan.ColSet{k}
		// A key of the input among the groups is a key still.
		by := map[expr.ColID]expr.ColID{}
		for _, g := range n.Groups {
			if c, ok := rewrite.AsColumn(g.Expr); ok {
				by[c.ID] = g.Col.ID
			}
		}
		return append(out, mapKeys(f.UniqueKeys(n.Input), by)...)
	case *plan.Project:
		by := map[expr.ColID]expr.ColID{}
		for _, it := range n.Items {
			if c, ok := rewrite.AsColumn(it.Expr); ok {
				by[c.ID] = it.Col.ID
			}
		}
		return mapKeys(f.UniqueKeys(n.Input), by)
	case *plan.DistinctOn:
		out := slices.Clip(f.UniqueKeys(n.Input))
		k := plan.ColSet{}
		for _, e := range n.Keys {
			c, ok := rewrite.AsColumn(e)
			if !ok {
				return out
			}
			k[c.ID] = true
		}
		return append(out, k)
	case *plan.SetOp:
		if !n.All {
			k := plan.ColSet{}
			for _, c := range n.Cols {
				k[c.ID] = true
			}
			return []plan.ColSet{k}
		}
	case *plan.Join:
		switch n.Kind {
		case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single:
			return f.UniqueKeys(n.L)
		case plan.RightSemi, plan.RightAnti:
			return f.UniqueKeys(n.R)
		case plan.Inner, plan.Left, plan.Right:
			lk, rk := f.UniqueKeys(n.L), f.UniqueKeys(n.R)
			lcols, rcols := plan.Emits(n.L), plan.Emits(n.R)
			var out []plan.ColSet
			if n.Kind != plan.Right && CoversKey(rk, boundBy(n, rcols)) {
				out = append(out, lk...)
			}
			if n.Kind != plan.Left && CoversKey(lk, boundBy(n, lcols)) {
				out = append(out, rk...)
			}
			if n.Kind == plan.Inner && len(lk) > 0 && len(rk) > 0 {
				out = append(append(out, exchanged(n, lk, rk)...), exchanged(n, rk, lk)...)
			}
			if len(out) == 0 && len(lk) > 0 && len(rk) > 0 {
				out = append(out, rewrite.Union(lk[0], rk[0]))
			}
			return fewKeys(out)
		}
	}
	if t := n.Traits().Rows; t.AtMostOnce() && t.KeepsColumns() {
		return f.UniqueKeys(n.Children()[0])
	}
	return nil
}

// maxKeys is how many keys of a join are considered: those of its sides multiply.
const maxKeys = 8

// fewKeys drops keys that hold another, and all beyond maxKeys.
func fewKeys(keys []plan.ColSet) []plan.ColSet {
	var out []plan.ColSet
	for _, k := range keys {
		if len(out) < maxKeys && !CoversKey(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// exchanged returns keys of an inner join in which keys of the one side stand for columns
// of the other that equal theirs: where names are a key of customers,
//
//	sales by customer and year ⋈ customers    has (customer, year), and (name, year)
//
// A row of other has one value in each of its columns, so its key determines them.
func exchanged(j *plan.Join, keys, other []plan.ColSet) []plan.ColSet {
	equal := plan.ColSet{} // columns of keys' side that equal a column of the other
	bind := func(a, b expr.Expr) {
		l, lok := rewrite.AsColumn(a)
		r, rok := rewrite.AsColumn(b)
		if lok && rok && sameValues(l.Typ, r.Typ) {
			equal[l.ID], equal[r.ID] = true, true
		}
	}
	for _, c := range rewrite.SplitAll(j.On) {
		if l, r, ok := rewrite.Equality(c); ok {
			bind(l, r)
		}
	}
	for i := range j.LKeys {
		bind(j.LKeys[i], j.RKeys[i])
	}
	var out []plan.ColSet
	for _, k := range keys {
		rest := plan.ColSet{}
		for c := range k {
			if !equal[c] {
				rest[c] = true
			}
		}
		if len(rest) == len(k) {
			continue
		}
		for _, o := range other {
			out = append(out, rewrite.Union(rest, o))
		}
	}
	return out
}

func containsKey(keys []plan.ColSet, k plan.ColSet) bool {
	return slices.ContainsFunc(keys, func(x plan.ColSet) bool { return maps.Equal(x, k) })
}

// sameValues reports whether each value of type a equals a single value of type b: for text and
// bpchar several texts may equal one.
func sameValues(a, b types.Type) bool { return a.OID == b.OID || a.IsIntegral() && b.IsIntegral() }

// boundBy returns the columns of one side of a join that equal something of the
// other side.
func boundBy(j *plan.Join, side plan.ColSet) plan.ColSet {
	out := plan.ColSet{}
	bind := func(a, b expr.Expr) {
		if c, ok := rewrite.AsColumn(a); ok && side[c.ID] && !rewrite.Intersects(rewrite.ColumnsOf(b), side) {
			out[c.ID] = true
		}
	}
	for _, c := range rewrite.SplitAll(j.On) {
		if l, r, ok := rewrite.Equality(c); ok {
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

func mapKeys(keys []plan.ColSet, by map[expr.ColID]expr.ColID) []plan.ColSet {
	var out []plan.ColSet
	for _, k := range keys {
		m := plan.ColSet{}
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
func scanColumns(n *plan.Scan, nums []int16) plan.ColSet {
	out := plan.ColSet{}
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

// NotNull returns the columns of n that are never NULL.
func NotNull(n plan.Node, st Statistics) plan.ColSet {
	switch n := n.(type) {
	case *plan.Scan:
		out := plan.ColSet{}
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
		out := NotNull(n.Input, st)
		addRejected(out, n.Conds, n.Schema())
		return out
	case *plan.Project:
		in := NotNull(n.Input, st)
		out := plan.ColSet{}
		for _, it := range n.Items {
			if NeverNull(it.Expr, in) {
				out[it.Col.ID] = true
			}
		}
		return out
	case *plan.Values:
		out := plan.ColSet{}
		for i, c := range n.Cols {
			ok := len(n.Rows) > 0
			for _, row := range n.Rows {
				ok = ok && NeverNull(row[i], nil)
			}
			if ok {
				out[c.ID] = true
			}
		}
		return out
	case *plan.Aggregate:
		in := NotNull(n.Input, st)
		out := plan.ColSet{}
		if len(n.Sets) == 0 {
			for _, g := range n.Groups {
				if g.Col.ID != n.Regrouped && NeverNull(g.Expr, in) {
					out[g.Col.ID] = true
				}
			}
		}
		if n.Regrouped != 0 {
			return out
		}
		for _, a := range n.Aggs {
			if a.Call.Fn != nil && (a.Call.Fn.Name == "count" || a.Call.Fn.Name == "regr_count") {
				out[a.Col.ID] = true
			} else if len(n.Groups) > 0 && len(n.Sets) == 0 && a.Call.Filter == nil && len(a.Call.Args) == 1 && NeverNull(a.Call.Args[0], in) {
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
			out := rewrite.Union(NotNull(n.L, st), NotNull(n.R, st))
			addRejected(out, n.On, n.Schema())
			return out
		case plan.Left, plan.Single, plan.Mark, plan.Anti, plan.AntiNull:
			return NotNull(n.L, st)
		case plan.Semi:
			out := NotNull(n.L, st)
			addRejected(out, n.On, n.L.Schema())
			return out
		case plan.Right, plan.RightAnti, plan.RightSemi:
			return NotNull(n.R, st)
		}
	}
	if n.Traits().Rows.KeepsColumns() {
		return NotNull(n.Children()[0], st)
	}
	return plan.ColSet{}
}

// addRejected adds the columns whose NULL some condition rejects.
func addRejected(out plan.ColSet, conds []expr.Expr, cols []plan.Column) {
	for _, c := range conds {
		used := rewrite.ColumnsOf(c)
		for _, col := range cols {
			if used[col.ID] && !out[col.ID] && Rejects(c, plan.ColSet{col.ID: true}) {
				out[col.ID] = true
			}
		}
	}
}

// NeverNull reports whether e has a value, given columns that have.
func NeverNull(e expr.Expr, cols plan.ColSet) bool {
	switch e := e.(type) {
	case *expr.Col:
		return cols[e.ID]
	case *expr.Const:
		return e.Val != nil
	case *expr.IsNull, *expr.BoolTest, *expr.Distinct:
		return true
	case *expr.Cast:
		return NeverNull(e.Arg, cols) && e.Typ.OID != types.JSONOID && e.Typ.OID != types.JSONBOID
	case *expr.Coalesce:
		for _, a := range e.Args {
			if NeverNull(a, cols) {
				return true
			}
		}
	case *expr.And:
		return allOf(e.Args, func(a expr.Expr) bool { return NeverNull(a, cols) })
	case *expr.Or:
		return allOf(e.Args, func(a expr.Expr) bool { return NeverNull(a, cols) })
	case *expr.Not:
		return NeverNull(e.Arg, cols)
	case *expr.Call:
		// Comparisons and arithmetic of values are values.
		if e.Fn == nil || !e.Fn.Strict || len(e.Args) != 2 || !strings.Contains("= <> < > <= >= + - *", e.Op) || e.Op == "" {
			return false
		}
		if e.Typ.OID == types.JSONBOID || e.Typ.IsArray() {
			return false
		}
		return NeverNull(e.Args[0], cols) && NeverNull(e.Args[1], cols)
	}
	return false
}

// OrderedAgg reports whether the result depends on the order of the input.
func OrderedAgg(c expr.AggCall) bool {
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

func OrderSensitive(aggs []plan.AggItem) bool {
	for _, a := range aggs {
		if OrderedAgg(a.Call) && len(a.Call.OrderBy) == 0 {
			return true
		}
	}
	return false
}
