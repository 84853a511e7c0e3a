package stage

import (
	"maps"
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// preaggregate puts a partial aggregation below joins that only bring what its
// rows are grouped by, where there are far fewer groups of the joins' keys than
// rows (Yan and Larson, "Eager Aggregation and Lazy Aggregation", 1995):
//
//	γ name, country: sum(price)          γ final name, country: sum
//	└─ ⋈ customers                       └─ ⋈ customers
//	   └─ sales                             └─ γ partial customer: sum(price)
//	                                           └─ sales
//
// A state has the partners that each of its rows would have, so the result is the same however many
// there are. The joins then process a row a group, and names and countries are read once for each.
// Where an outer join pads a row with NULLs it pads a state, which adds nothing, as the row adds
// nothing to aggregates that skip NULLs. Conditions of aggregates over columns of the joins are
// applied to states (partialcalls.go). DISTINCT is a grouping without aggregates.
func (p *placer) preaggregate(n plan.Node) plan.Node {
	before := n
	n = p.run.MapChildren(n, p.preaggregate)
	if f, ok := n.(*plan.Filter); ok {
		return p.havingBelow(before.(*plan.Filter), f)
	}
	if a, ok := n.(*plan.Aggregate); ok && a.Phase == plan.AggSingle && (len(a.Aggs) > 0 || len(a.Sets) == 0) && summed(a) {
		if m := p.early(a, plainCalls(a)); m != n {
			return m
		}
		if calls := lateCalls(a); calls != nil {
			return p.early(a, calls)
		}
	}
	return n
}

// summed reports whether the aggregates keep sums and not rows.
func summed(n *plan.Aggregate) bool {
	if !mergeable(n) || slices.ContainsFunc(plan.Exprs(n), expr.Volatile) {
		return false
	}
	for _, a := range n.Aggs {
		switch a.Call.Fn.Name {
		case "count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor",
			"var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp", "corr", "covar_pop", "covar_samp":
		default:
			return false
		}
	}
	return true
}

// earlyStep is a node between an aggregation and where it could begin.
type earlyStep struct {
	n    plan.Node
	side int    // of a join: where the rows come from
	need colSet // of its columns, apart from arguments
}

// early looks for the best place to begin an aggregation by calls; n itself where
// there is none.
func (p *placer) early(n *plan.Aggregate, calls []earlyCall) plan.Node {
	need := colSet{}
	for _, g := range n.Groups {
		plan.ExprColumns(g.Expr, need)
	}
	args := colSet{}
	by := map[expr.ColID]expr.Expr{} // the arguments' columns as expressions further down
	for _, c := range calls {
		for _, e := range callArgs(c.call) {
			plan.ExprColumns(e, args)
		}
		if c.when != nil {
			plan.ExprColumns(c.when, need)
		}
	}
	var path []earlyStep
	var found *earlyPlace
	kept, drops := 1.0, false // share of the rows that scans return; whether a join on the path drops others
	top := p.rows(n.Input) * rowCost(n.Groups)
	above := top // work above the place
	for cur := n.Input; ; {
		step := earlyStep{n: cur, need: need}
		switch x := cur.(type) {
		case *plan.Project:
			if slices.ContainsFunc(plan.Exprs(x), expr.Volatile) {
				break
			}
			below, items := colSet{}, map[expr.ColID]expr.Expr{}
			for _, it := range x.Items {
				items[it.Col.ID] = it.Expr
				if need[it.Col.ID] {
					plan.ExprColumns(it.Expr, below)
				}
			}
			by, args = throughProject(by, args, items)
			need = below
			path = append(path, step)
			cur = x.Input
			continue
		case *plan.Filter:
			if slices.ContainsFunc(x.Conds, expr.Volatile) {
				break
			}
			need = withColumns(need, x.Conds)
			path = append(path, step)
			cur = x.Input
			continue
		case *plan.Join:
			side := sideOf(x, args)
			if side == 0 && len(args) == 0 && x.Kind == plan.Inner && p.rows(x.L) < p.rows(x.R) {
				side = 1 // either may count its rows: the one that has more
			}
			if side < 0 {
				side = paddedSide(x, calls, by, args)
			}
			if side < 0 || slices.ContainsFunc(plan.Exprs(x), expr.Volatile) {
				break
			}
			step.side = side
			reads := withColumns(withColumns(withColumns(withColumns(need, x.LKeys), x.RKeys), x.Residual), x.On)
			cur = x.Children()[side]
			has := plan.Emits(cur)
			need = colSet{}
			for c := range reads {
				if has[c] {
					need[c] = true
				}
			}
			path = append(path, step)
			rows, in := p.rows(x), kept*p.rows(cur)
			cross := len(x.LKeys)+len(x.Residual)+len(x.On) == 0
			if !p.always && !cross && (rows < filtering*in || filtered(x.Children()[1-side])) {
				// Below, rows would be grouped that the join drops, unless a runtime filter drops them in the
				// scans; how many that leaves is not known well enough to prefer it.
				if found != nil || !droppedInScan(x, side) {
					return p.partialAggregation(n, calls, found, above)
				}
				drops = true
				kept *= min(rows/max(in, 1), 1)
				in = min(in, rows)
			}
			above += in + 0.3*rows*gathered(x, side, reads)
			if !p.groupable(cur, need) || slices.ContainsFunc(calls, func(c earlyCall) bool {
				return slices.ContainsFunc(rewrite.SubstAll(callArgs(c.call), by), func(e expr.Expr) bool { return props.Fallible(e, cur, p.stats) }) // a row that a join drops must not be an error
			}) {
				continue
			}
			keys := passed(cur, need)
			g := p.groupsOf(cur, keys, len(n.Aggs) > 0)
			cost := in*rowCost(keys) + g/max(in, 1)*above + 2*g*float64(len(n.Aggs))
			few := g <= in*share(keys, len(n.Aggs) > 0)
			if w := in*rowCost(keys) + g/max(in, 1)*(above-top); !few && !drops && w < 0.8*above && p.wholeAt(n, calls, path, &plan.Aggregate{Input: cur, Groups: keys}) {
				few, cost = true, w // in place of the aggregation above
			}
			if few && cost < 0.8*above && (found == nil || cost-above < found.gain) || p.always {
				found = &earlyPlace{path: slices.Clone(path), keys: keys, by: by, gain: cost - above}
			}
			continue
		}
		break
	}
	return p.partialAggregation(n, calls, found, above)
}

// earlyPlace is where an aggregation may begin.
type earlyPlace struct {
	path []earlyStep
	keys []plan.Item
	by   map[expr.ColID]expr.Expr // the arguments' columns as expressions there
	gain float64                  // its cost relative to what it saves: less is better
}

// groupsOf estimates how many groups of keys there are among the rows of n. Where states would be
// made twice, columns are taken as independent, which may make each row a group of its own; a
// DISTINCT below a join is assumed to leave a third.
func (p *placer) groupsOf(n plan.Node, keys []plan.Item, states bool) float64 {
	g := p.rows(&plan.Aggregate{Input: n, Groups: keys})
	if states || len(keys) == 1 {
		return g
	}
	most := p.rows(n) / 3
	for i := range keys {
		most = max(most, p.rows(&plan.Aggregate{Input: n, Groups: keys[i : i+1]}))
	}
	return min(g, most)
}

// share returns how many groups there may be at most for a row. With several keys the number of
// groups is a guess, on which states should not be made twice. A DISTINCT makes no states, and may
// save the cost of a join's rows.
func share(keys []plan.Item, states bool) float64 {
	if len(keys) == 1 || !states {
		return 0.5
	}
	return 0.25
}

const (
	// filtering is the most rows that a join returns for a row if it counts as dropping many.
	filtering = 0.6
	// earlyRows is the least work, in rows, for another aggregation to pay.
	earlyRows = 20000
)

// droppedInScan reports whether the scans below a join drop nearly all rows that it would drop: by
// a runtime filter of the keys of its other side.
func droppedInScan(x *plan.Join, side int) bool {
	if x.Kind != plan.Inner && x.Kind != plan.Right && x.Kind != plan.Semi || side != 0 || len(x.LKeys) != 1 {
		return false
	}
	key, ok := x.LKeys[0].(*expr.Col)
	return ok && slices.Contains([]types.OID{types.Int2OID, types.Int4OID, types.Int8OID, types.DateOID}, key.Typ.OID) && scanned(x.L, key.ID)
}

// scanned reports whether a scan within n reads column id.
func scanned(n plan.Node, id expr.ColID) bool {
	if s, ok := n.(*plan.Scan); ok {
		return slices.ContainsFunc(s.Cols, func(c plan.Column) bool { return c.ID == id })
	}
	return slices.ContainsFunc(n.Children(), func(k plan.Node) bool { return scanned(k, id) })
}

// filtered reports whether conditions drop rows of n: then the number of another table's rows with
// a partner is not known well.
func filtered(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Scan:
		return len(x.Filter) > 0
	case *plan.Filter:
		return true
	}
	return slices.ContainsFunc(n.Children(), filtered)
}

// groupable reports whether rows of n can be grouped by some of its columns: of equal values that
// differ, such as 1.0 and 1.00, a group would show one, and what is above may distinguish them.
func (p *placer) groupable(n plan.Node, keys colSet) bool {
	switch n.(type) {
	case *plan.Scan, *plan.Join, *plan.Filter, *plan.Project, *plan.Buffer, *plan.SetOp:
		return len(keys) > 0 && !slices.ContainsFunc(n.Schema(), func(c plan.Column) bool { return keys[c.ID] && !c.Type.EqualIsSame() })
	}
	return false
}

// partialAggregation makes the partial aggregation at a place (nil: there is none) and the final one, where
// there is enough work.
func (p *placer) partialAggregation(n *plan.Aggregate, calls []earlyCall, at *earlyPlace, work float64) plan.Node {
	if at == nil || work < earlyRows && !p.always {
		return n
	}
	by, last := at.by, at.path[len(at.path)-1]
	in := last.n.Children()[last.side]
	full := props.NotNull(in, p.stats)
	partial := &plan.Aggregate{Groups: at.keys, Phase: plan.AggPartial}
	from := make([]int, len(calls)) // the states of each
	for i, c := range calls {
		call := c.call
		call.Args = rewrite.SubstAll(call.Args, by)
		if call.Filter != nil {
			call.Filter = rewrite.Subst(call.Filter, by)
		}
		if call.Fn.Name == "count" && len(call.Args) == 1 && props.NeverNull(call.Args[0], full) {
			call = countRows(call) // columns that an outer join pads above are not NULL here
		}
		if from[i] = slices.IndexFunc(partial.Aggs, func(a plan.AggItem) bool { return sameCall(a.Call, call) }); from[i] < 0 {
			from[i] = len(partial.Aggs)
			partial.Aggs = append(partial.Aggs, plan.AggItem{Col: n.Aggs[i].Col, Call: call})
			partial.States = append(partial.States, p.newCol())
		}
	}
	partial.Input = withColumnsOnly(in, withColumns(colSet{}, plan.Exprs(partial)))
	partial.Rows = p.rows(&plan.Aggregate{Input: in, Groups: partial.Groups})
	if whole := p.wholeBelow(n, calls, at.path, partial, from); whole != nil {
		return whole
	}
	final := *n
	final.Input, final.Phase = rebuildPath(at.path, partial, partial.Schema()[len(partial.Groups):]), plan.AggFinal
	final.Aggs = slices.Clone(n.Aggs)
	final.States = make([]expr.ColID, len(calls))
	for i, c := range calls {
		if partial.Aggs[from[i]].Call.Star {
			final.Aggs[i].Call = countRows(final.Aggs[i].Call)
		}
		final.Aggs[i].Call.Filter = c.when
		final.States[i] = partial.States[from[i]]
	}
	return &final
}

// countRows returns count(*) in place of a count of values that are never NULL.
func countRows(c expr.AggCall) expr.AggCall {
	all := fn.Lookup("count")
	if k := slices.IndexFunc(all, func(f *fn.Func) bool { return len(f.Args) == 0 }); k >= 0 {
		c.Fn, c.Args, c.Star = all[k], nil, true
	}
	return c
}

// withColumnsOnly drops columns of a scan, or of a projection of one, that are not in used:
// they would be sent.
func withColumnsOnly(n plan.Node, used colSet) plan.Node {
	switch x := n.(type) {
	case *plan.Project:
		items := slices.DeleteFunc(slices.Clone(x.Items), func(it plan.Item) bool { return !used[it.Col.ID] && !expr.Volatile(it.Expr) })
		if len(items) == len(x.Items) {
			return n
		}
		below := colSet{}
		for _, it := range items {
			plan.ExprColumns(it.Expr, below)
		}
		in := x.Input
		if s, ok := in.(*plan.Scan); ok {
			in = rewrite.NarrowScan(s, below)
		}
		return &plan.Project{Input: in, Items: items}
	case *plan.Scan:
		in := rewrite.NarrowScan(x, used)
		if cols := slices.DeleteFunc(slices.Clone(in.Schema()), func(c plan.Column) bool { return !used[c.ID] }); len(cols) < len(in.Schema()) {
			return &plan.Project{Input: in, Items: rewrite.PassItems(cols)}
		}
		return in
	}
	return n
}

// rebuildPath puts the nodes of a path back above node; they pass on cols of it beside what is read
// of them.
func rebuildPath(path []earlyStep, node plan.Node, cols []plan.Column) plan.Node {
	for i := len(path) - 1; i >= 0; i-- {
		kids := slices.Clone(path[i].n.Children())
		kids[path[i].side] = node
		if x, ok := path[i].n.(*plan.Project); ok {
			m := &plan.Project{Input: node}
			for _, it := range x.Items {
				if path[i].need[it.Col.ID] {
					m.Items = append(m.Items, it)
				}
			}
			m.Items = append(m.Items, rewrite.PassItems(cols)...)
			node = m
			continue
		}
		node = path[i].n.WithChildren(kids)
	}
	return node
}

// sideOf returns the input of a join that has all arguments, if each of its rows is in the result
// as often as it has partners, or once, or not at all; -1 for none.
func sideOf(j *plan.Join, args colSet) int {
	l, r := true, true
	el, er := plan.Emits(j.L), plan.Emits(j.R)
	for c := range args {
		l, r = l && el[c], r && er[c]
	}
	switch j.Kind {
	case plan.Inner:
		if l {
			return 0
		}
		if r {
			return 1
		}
	case plan.Left, plan.Semi, plan.Anti:
		if l {
			return 0
		}
	case plan.Right, plan.RightSemi, plan.RightAnti:
		if r && len(args) > 0 {
			return 1
		}
	}
	return -1
}

// paddedSide returns the input of an outer join that has all arguments and that the join pads with
// NULLs, if padded rows add nothing in any of the calls: an argument is NULL then. count(*) counts
// them. It returns -1 for none.
func paddedSide(j *plan.Join, calls []earlyCall, by map[expr.ColID]expr.Expr, args colSet) int {
	side := slices.Index([]plan.JoinKind{plan.Right, plan.Left}, j.Kind)
	if side < 0 {
		return -1
	}
	has := plan.Emits(j.Children()[side])
	for c := range args {
		if !has[c] {
			return -1
		}
	}
	for _, c := range calls {
		if !slices.ContainsFunc(rewrite.SubstAll(c.call.Args, by), func(e expr.Expr) bool { return props.NullIf(e, has) }) {
			return -1
		}
	}
	return side
}

// gathered estimates the cost of the columns of the other side that a join's rows carry along.
func gathered(j *plan.Join, side int, reads colSet) float64 {
	w := 1.0
	for _, c := range j.Children()[1-side].Schema() {
		if reads[c.ID] {
			w += keyCost(c.Type)
		}
	}
	return w
}

// rowCost estimates the cost of grouping a row by keys.
func rowCost(keys []plan.Item) float64 {
	w := 1.0
	for _, k := range keys {
		w += keyCost(k.Expr.Type())
	}
	return w
}

func keyCost(t types.Type) float64 {
	if t.IsString() || t.OID == types.NumericOID && !t.IsFixed() {
		return 1
	}
	return 0.3
}

// passed returns columns of n as groups.
func passed(n plan.Node, cols colSet) []plan.Item {
	var out []plan.Item
	for _, c := range n.Schema() {
		if cols[c.ID] {
			out = append(out, plan.Item{Col: c, Expr: &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name}})
		}
	}
	return out
}

// throughProject follows the arguments' columns through a projection.
func throughProject(by map[expr.ColID]expr.Expr, args colSet, items map[expr.ColID]expr.Expr) (map[expr.ColID]expr.Expr, colSet) {
	out, reads := map[expr.ColID]expr.Expr{}, colSet{}
	for c, e := range by {
		out[c] = rewrite.Subst(e, items)
	}
	for c := range args {
		if e, ok := items[c]; ok {
			if _, known := by[c]; !known {
				out[c] = e
			}
			plan.ExprColumns(e, reads)
		}
	}
	return out, reads
}

func withColumns(s colSet, es []expr.Expr) colSet {
	out := maps.Clone(s)
	for _, e := range es {
		plan.ExprColumns(e, out)
	}
	return out
}

func callArgs(c expr.AggCall) []expr.Expr {
	if c.Filter == nil {
		return c.Args
	}
	return append(slices.Clone(c.Args), c.Filter)
}
