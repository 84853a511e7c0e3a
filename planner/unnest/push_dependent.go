package unnest

import (
	"maps"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// correlation ties an expression over L's columns to a column of a table.
type correlation struct {
	outer expr.Expr   // over L's columns
	col   plan.Column // of the table
	cond  expr.Expr   // outer ≡ col, as a condition over L and the table
	// value: outer is a plain column and col may stand for it.
	value bool
	// strict: cond is "=", so rows in which col is NULL belong to no value.
	strict bool
}

// table is the relation { (links, row) | row in R(links) }. It may hold rows
// for values that L does not have; the join with L drops them.
type table struct {
	n     plan.Node
	links []correlation
	// missing, where not nil: for values without a row here R has exactly one,
	// with these columns (over L's columns, if any).
	missing map[expr.ColID]expr.Expr
	// one: R returns at most one row for each value.
	one bool
	// carried are the columns of n that are columns of L, beside the links by its key.
	carried map[expr.ColID]expr.Expr
}

// values maps L's columns to those that stand for them.
func (t *table) values() map[expr.ColID]expr.Expr {
	by := maps.Clone(t.carried)
	if by == nil {
		by = map[expr.ColID]expr.Expr{}
	}
	for _, l := range t.links {
		if c, ok := rewrite.AsColumn(l.outer); ok && l.value {
			by[c.ID] = rewrite.ColOf(l.col)
		}
	}
	return by
}

func (t *table) cols() []plan.Column {
	out := make([]plan.Column, 0, len(t.links))
	seen := plan.ColSet{}
	for _, l := range t.links {
		if !seen[l.col.ID] {
			seen[l.col.ID] = true
			out = append(out, l.col)
		}
	}
	return out
}

func (t *table) outers() plan.ColSet {
	s := plan.ColSet{}
	for _, l := range t.links {
		plan.ExprColumns(l.outer, s)
	}
	return s
}

// domain makes the relation of the distinct values that L's columns have; of L itself where that has a key.
func (d *decorrelator) domain(cols []expr.ColID) *table {
	l := d.l
	if rewrite.PlanVolatile(l) || plan.ChoosesRows(l) && d.buffers() {
		l = d.buffered()
	}
	cp, names := d.r.Rename(l)
	t := &table{}
	if d.key != nil {
		t.n, t.carried = cp, map[expr.ColID]expr.Expr{}
		for id, c := range d.cols {
			c.ID = names[id]
			c.Table, c.Num = 0, 0
			t.carried[id] = rewrite.ColOf(c)
		}
		for _, id := range d.key {
			outer, in := rewrite.ColOf(d.cols[id]), t.carried[id]
			col := d.cols[id]
			col.ID, col.Table, col.Num = names[id], 0, 0
			t.links = append(t.links, correlation{outer: outer, col: col, cond: rewrite.SameValue(outer, in), value: true})
		}
		return t
	}
	var groups []plan.Item
	for _, id := range cols {
		c := d.cols[id]
		in := c
		in.ID = names[id]
		out := d.r.NewCol(c.Name, c.Type)
		out.Table, out.Num = 0, 0
		groups = append(groups, plan.Item{Col: out, Expr: rewrite.ColOf(in)})
		if !c.Type.EqualIsSame() {
			groups = append(groups, plan.Item{Col: d.r.NewCol("image", types.Text), Expr: rewrite.Image(rewrite.ColOf(in))})
		}
		t.links = append(t.links, correlation{outer: rewrite.ColOf(c), col: out, cond: rewrite.SameValue(rewrite.ColOf(c), rewrite.ColOf(out)), value: true})
	}
	t.n = &plan.Aggregate{Input: cp, Groups: groups}
	return t
}

// buffers reports whether L can be a buffer.
func (d *decorrelator) buffers() bool {
	return !d.r.InStep && len(d.r.Estimates().Facts.FreeColumns(d.l)) == 0
}

// buffered makes L a buffer of the statement, so that it runs once although it
// is read twice.
func (d *decorrelator) buffered() plan.Node {
	if !d.buffers() {
		d.r.Fail(pgerr.Unsupported("a correlated subquery over volatile rows is not supported here"))
		return d.l
	}
	id := d.r.NextBuf
	d.r.NextBuf++
	cols := d.l.Schema()
	d.r.Outer = append(d.r.Outer, plan.BufferDef{ID: id, Name: "outer", Root: d.l, Cols: cols})
	d.l = &plan.Buffer{ID: id, Name: "outer", Cols: cols}
	return d.l
}

// ensure returns a table in which each of cols has a column that stands for it.
func (d *decorrelator) ensure(t *table, cols plan.ColSet) *table {
	have := t.values()
	lack := false
	for c := range cols {
		if _, ok := have[c]; !ok {
			lack = true
		}
	}
	if !lack {
		return t
	}
	if t.missing != nil {
		t = d.complete(t)
	}
	dom := d.domain(rewrite.SortedIDs(rewrite.Union(cols, t.outers())))
	out := &table{links: dom.links, one: t.one, carried: dom.carried}
	if isUnit(t.n) {
		out.n = dom.n
		return out
	}
	by := dom.values()
	var on []expr.Expr
	for _, l := range t.links {
		on = append(on, rewrite.Subst(l.cond, by))
	}
	out.n = &plan.Join{Kind: plan.Inner, L: dom.n, R: t.n, On: on}
	return out
}

// ensureFor is ensure for a node that uses columns, below others that need those above: one domain has
// all of them where there is none yet, for each reads L.
func (d *decorrelator) ensureFor(t *table, used, above plan.ColSet) *table {
	if len(used) > 0 && isUnit(t.n) {
		used = rewrite.Union(used, above)
	}
	return d.ensure(t, used)
}

// complete adds the rows that a table leaves to its join (missing).
func (d *decorrelator) complete(t *table) *table {
	if t.missing == nil {
		return t
	}
	dom := d.domain(rewrite.SortedIDs(t.outers()))
	by := dom.values()
	var on []expr.Expr
	for _, l := range t.links {
		on = append(on, rewrite.Subst(l.cond, by))
	}
	missing := map[expr.ColID]expr.Expr{}
	for c, e := range t.missing {
		missing[c] = rewrite.Subst(e, by)
	}
	right, fill := fillable(d.r, &table{n: t.n, links: t.links, missing: missing})
	var n plan.Node = &plan.Join{Kind: plan.Left, L: dom.n, R: right, On: on}
	if len(fill) > 0 {
		n = &plan.Project{Input: n, Items: append(rewrite.PassItems(dom.cols()), fill...)}
	}
	return &table{n: n, links: dom.links, one: t.one}
}

// push makes the table of n. above are L's columns whose values nodes above
// need.
func (d *decorrelator) push(n plan.Node, above plan.ColSet) *table {
	d.r.Poll()
	if len(d.correlated(n)) == 0 && !d.readsRounds(n) {
		return &table{n: n, one: props.AtMostOneRow(n)}
	}
	switch n := n.(type) {
	case *plan.Filter:
		return d.pushFilter(n, above)
	case *plan.Scan:
		c := *n
		c.Filter = nil
		return d.pushFilter(&plan.Filter{Input: &c, Conds: n.Filter}, above)
	case *plan.Virtual:
		c := *n
		c.Filter = nil
		return d.pushFilter(&plan.Filter{Input: &c, Conds: n.Filter}, above)
	case *plan.Source:
		c := *n
		c.Filter = nil
		return d.pushFilter(&plan.Filter{Input: &c, Conds: n.Filter}, above)
	case *plan.Project:
		return d.pushProject(n, above)
	case *plan.Values:
		if calls := listed(n); calls != nil {
			return d.push(&plan.ProjectSet{Input: unit(), Calls: calls}, above)
		}
		return d.push(valuesUnion(d.r, n), above)
	case *plan.FuncScan:
		return d.push(&plan.ProjectSet{Input: unit(), Calls: n.Calls, Ordinality: n.Ordinality}, above)
	case *plan.ProjectSet:
		used := d.usesOuter(plan.Exprs(n)...)
		t := d.ensureFor(d.complete(d.push(n.Input, rewrite.Union(above, used))), used, above)
		m := plan.MapExprs(n, func(e expr.Expr) expr.Expr { return rewrite.Subst(e, t.values()) })
		return &table{n: m.WithChildren([]plan.Node{t.n}), links: t.links, carried: t.carried}
	case *plan.Aggregate:
		return d.pushAggregate(n, above)
	case *plan.Window:
		used := d.usesOuter(plan.Exprs(n)...)
		t := d.ensure(d.complete(d.push(n.Input, rewrite.Union(above, used))), used)
		w := plan.MapExprs(n, func(e expr.Expr) expr.Expr { return rewrite.Subst(e, t.values()) }).(*plan.Window)
		c := *w
		c.Input = t.n
		c.PartitionBy = append(linkExprs(t), w.PartitionBy...)
		return &table{n: &c, links: t.links, one: t.one}
	case *plan.Sort:
		if n.Limit >= 0 {
			return d.push(&plan.Limit{Input: &plan.Sort{Input: n.Input, Keys: n.Keys, Limit: -1}, Count: rewrite.IntConst(n.Limit)}, above)
		}
		return d.push(n.Input, above)
	case *plan.Limit:
		return d.pushLimit(n, above)
	case *plan.DistinctOn:
		used := d.usesOuter(plan.Exprs(n)...)
		t := d.ensure(d.complete(d.push(n.Input, rewrite.Union(above, used))), used)
		m := plan.MapExprs(n, func(e expr.Expr) expr.Expr { return rewrite.Subst(e, t.values()) }).(*plan.DistinctOn)
		c := *m
		c.Input = t.n
		c.Keys = append(linkExprs(t), m.Keys...)
		if len(m.Order) > 0 {
			var order []expr.Order
			for _, e := range linkExprs(t) {
				order = append(order, expr.Order{Expr: e})
			}
			c.Order = append(order, m.Order...)
		}
		return &table{n: &c, links: t.links}
	case *plan.Max1Row:
		return d.pushMax1Row(n, above)
	case *plan.SetOp:
		return d.pushSetOp(n, above)
	case *plan.RecursiveUnion:
		return d.pushRecursive(n, above)
	case *plan.Buffer:
		return d.pushRound(n)
	case *plan.Join:
		return d.pushJoin(n, above)
	}
	d.r.Fail(pgerr.Unsupported("a correlated subquery over %s is not supported", nodeName(n)))
	return &table{n: n}
}

// linkExprs returns the expressions that group a table's rows by row of L.
func linkExprs(t *table) []expr.Expr {
	cols := t.cols()
	out := make([]expr.Expr, len(cols))
	for i, c := range cols {
		out[i] = rewrite.ColOf(c)
	}
	return append(out, t.images()...)
}

// images distinguish values that are equal and yet not the same.
func (t *table) images() []expr.Expr {
	var out []expr.Expr
	for _, l := range t.links {
		if l.value && !l.col.Type.EqualIsSame() {
			out = append(out, rewrite.Image(rewrite.ColOf(l.col)))
		}
	}
	return out
}

// pushFilter makes links of equalities between L's columns and n's.
func (d *decorrelator) pushFilter(n *plan.Filter, above plan.ColSet) *table {
	var plain, outer []expr.Expr
	for _, c := range rewrite.SplitAll(n.Conds) {
		if len(d.usesOuter(c)) > 0 {
			outer = append(outer, c)
		} else {
			plain = append(plain, c)
		}
	}
	// The columns whose values some other condition needs, apart from equalities.
	need := rewrite.Union(above, plan.ColSet{})
	var cands []candidate
	var rest []expr.Expr
	for _, c := range outer {
		if k, ok := d.candidate(c); ok {
			cands = append(cands, k)
		} else {
			rest = append(rest, c)
			need = rewrite.Union(need, d.usesOuter(c))
		}
	}
	t := d.push(n.Input, need)
	if t.missing != nil {
		t = d.filterMissing(t, n.Conds)
	}
	in := rewrite.Filter(t.n, plain)
	t = &table{n: in, links: t.links, missing: t.missing, one: t.one, carried: t.carried}
	for i := 0; i < len(cands); i++ {
		k := cands[i]
		have := t.values()
		used := d.usesOuter(k.outer)
		if subsetOf(used, have) {
			rest = append(rest, k.cond)
			continue
		}
		// A value that others need must be the very value; otherwise only the
		// condition counts.
		if rewrite.Intersects(used, need) && !k.exact {
			rest = append(rest, k.cond)
			continue
		}
		t = d.addLink(t, k)
	}
	used := d.usesOuter(rest...)
	if len(rest) > 0 {
		t = d.ensure(t, used)
		t = &table{n: rewrite.Filter(t.n, rewrite.SubstAll(rest, t.values())), links: t.links, missing: t.missing, one: t.one, carried: t.carried}
	}
	return t
}

func subsetOf(a plan.ColSet, b map[expr.ColID]expr.Expr) bool {
	for c := range a {
		if _, ok := b[c]; !ok {
			return false
		}
	}
	return true
}

// candidate is an equality that may become a link.
type candidate struct {
	outer, inner expr.Expr
	cond         expr.Expr
	exact        bool // equal means the same value, and outer is a plain column
}

func (d *decorrelator) candidate(c expr.Expr) (candidate, bool) {
	l, r, ok := rewrite.Equality(c)
	if !ok || rewrite.IsVolatile(c) {
		return candidate{}, false
	}
	k := candidate{outer: l, inner: r, cond: c}
	if len(d.usesOuter(l)) == 0 {
		k.outer, k.inner = r, l
	}
	in, out := rewrite.ColumnsOf(k.inner), rewrite.ColumnsOf(k.outer)
	if len(d.usesOuter(k.inner)) > 0 || len(in) == 0 || !rewrite.Subset(out, d.corr) {
		return candidate{}, false
	}
	_, plain := rewrite.AsColumn(k.outer)
	k.exact = plain && k.outer.Type().SamePhysical(k.inner.Type()) && k.inner.Type().EqualIsSame()
	return k, true
}

// addLink makes the inner side of an equality a column that stands for the
// outer side.
func (d *decorrelator) addLink(t *table, k candidate) *table {
	out := &table{n: t.n, links: t.links[:len(t.links):len(t.links)], missing: t.missing, one: t.one}
	var col plan.Column
	if c, ok := rewrite.AsColumn(k.inner); ok && plan.Emits(t.n)[c.ID] {
		col = plan.Column{ID: c.ID, Name: c.Name, Type: c.Typ}
	} else {
		col = d.r.NewCol("key", k.inner.Type())
		out.n = &plan.Project{Input: t.n, Items: append(rewrite.PassItems(t.n.Schema()), plan.Item{Col: col, Expr: k.inner})}
	}
	cond := k.cond.(*expr.Call)
	args := append([]expr.Expr(nil), cond.Args...)
	for i, a := range args {
		if a == k.inner {
			args[i] = rewrite.ColOf(col)
		}
	}
	out.links = append(out.links, correlation{outer: k.outer, col: col, cond: cond.With(args), value: k.exact, strict: true})
	return out
}

// filterMissing decides whether the row that a table leaves out passes conds. If it may, it must be
// present when they are checked: a filter drops other rows, which must not be mistaken for missing
// ones.
func (d *decorrelator) filterMissing(t *table, conds []expr.Expr) *table {
	f := &rule.Constants{R: d.r}
	for _, c := range rewrite.SplitAll(conds) {
		v := f.Expr(rewrite.Subst(c, t.missing))
		if rewrite.IsFalse(v) || rewrite.IsNull(v) {
			return &table{n: t.n, links: t.links, one: t.one}
		}
	}
	return d.complete(t)
}

func (d *decorrelator) pushProject(n *plan.Project, above plan.ColSet) *table {
	used := d.usesOuter(plan.Exprs(n)...)
	t := d.push(n.Input, rewrite.Union(above, used))
	have := t.values()
	if t.missing != nil && !subsetOf(used, have) {
		t = d.complete(t)
	}
	t = d.ensureFor(t, used, above)
	by := t.values()
	var missing map[expr.ColID]expr.Expr
	if t.missing != nil {
		missing = map[expr.ColID]expr.Expr{}
	}
	f := &rule.Constants{R: d.r}
	items := make([]plan.Item, 0, len(n.Items)+len(t.links))
	emitted := plan.ColSet{}
	for _, it := range n.Items {
		if missing != nil {
			missing[it.Col.ID] = f.Expr(rewrite.Subst(it.Expr, t.missing))
		}
		it.Expr = rewrite.Subst(it.Expr, by)
		emitted[it.Col.ID] = true
		items = append(items, it)
	}
	for _, c := range t.cols() {
		if !emitted[c.ID] {
			items = append(items, rewrite.PassThrough(c))
		}
	}
	return &table{n: &plan.Project{Input: t.n, Items: items}, links: t.links, missing: missing, one: t.one}
}

// pushAggregate groups by the links as well. Without groups of its own there is
// a row for values that have no input, too: it is left to the join (missing).
func (d *decorrelator) pushAggregate(n *plan.Aggregate, above plan.ColSet) *table {
	used := d.usesOuter(plan.Exprs(n)...)
	input := n.Input
	aggs := n.Aggs
	if in, keys := orderOf(input); len(keys) > 0 && props.OrderSensitive(aggs) {
		// The rows' order is lost; the aggregates have it as their own ORDER BY.
		input = in
		aggs = append([]plan.AggItem(nil), aggs...)
		for i := range aggs {
			if props.OrderedAgg(aggs[i].Call) && len(aggs[i].Call.OrderBy) == 0 && !aggs[i].Call.Distinct {
				aggs[i].Call.OrderBy = keys
			}
		}
	}
	t := d.ensure(d.complete(d.push(input, rewrite.Union(above, used))), used)
	if d.r.Err != nil {
		return t
	}
	c := *n
	c.Aggs = aggs
	c = *(plan.MapExprs(&c, func(e expr.Expr) expr.Expr { return rewrite.Subst(e, t.values()) }).(*plan.Aggregate))
	c.Input = t.n
	groups := append([]plan.Item(nil), c.Groups...)
	out := &table{links: append([]correlation(nil), t.links...), one: len(n.Groups) == 0}
	var extra []int
	for i, l := range out.links {
		at := -1
		for j, g := range groups {
			if col, ok := rewrite.AsColumn(g.Expr); ok && col.ID == l.col.ID && (len(n.Sets) == 0 || j >= len(n.Groups)) {
				at = j
			}
		}
		if at < 0 {
			col := l.col
			if _, taken := groupColumn(groups, col.ID); taken || len(n.Sets) > 0 {
				col = d.r.NewCol(col.Name, col.Type)
			}
			at = len(groups)
			groups = append(groups, plan.Item{Col: col, Expr: rewrite.ColOf(l.col)})
		}
		extra = append(extra, at)
		if g := groups[at].Col; g.ID != l.col.ID {
			out.links[i].cond = rewrite.Subst(l.cond, map[expr.ColID]expr.Expr{l.col.ID: rewrite.ColOf(g)})
			out.links[i].col = g
		}
	}
	for _, e := range t.images() {
		extra = append(extra, len(groups))
		groups = append(groups, plan.Item{Col: d.r.NewCol("image", types.Text), Expr: e})
	}
	c.Groups = groups
	always := len(n.Groups) == 0
	empty := 0 // sets that return a row for no input
	if len(n.Sets) > 0 {
		c.Sets = make([][]int, len(n.Sets))
		for i, s := range n.Sets {
			if len(s) == 0 {
				empty++
			}
			c.Sets[i] = append([]int(nil), s...)
			for _, x := range extra {
				if x >= len(n.Groups) {
					c.Sets[i] = appendNew(c.Sets[i], x)
				}
			}
		}
		if n.GroupingID != 0 {
			// The mask counts the groups from the last; ours come first, so that
			// those that were there keep their bits.
			c.Groups, c.Sets = groupsFirst(groups, c.Sets, len(n.Groups))
		}
		always, out.one = empty > 0, false
	}
	out.n = &c
	if !always {
		return out
	}
	if empty > 1 {
		d.r.Fail(pgerr.Unsupported("a correlated subquery with several empty grouping sets is not supported"))
		return out
	}
	out.missing = map[expr.ColID]expr.Expr{}
	for _, g := range n.Groups {
		out.missing[g.Col.ID] = rewrite.NullConst(g.Col.Type)
	}
	if n.GroupingID != 0 {
		out.missing[n.GroupingID] = &expr.Const{Val: int64(1)<<len(n.Groups) - 1, Typ: types.Int4}
	}
	for _, a := range n.Aggs {
		out.missing[a.Col.ID] = emptyAggregate(a)
	}
	return out
}

func appendNew(s []int, x int) []int {
	for _, y := range s {
		if y == x {
			return s
		}
	}
	return append(s, x)
}

func groupColumn(groups []plan.Item, id expr.ColID) (int, bool) {
	for i, g := range groups {
		if g.Col.ID == id {
			return i, true
		}
	}
	return 0, false
}

// groupsFirst moves the groups from n on to the front.
func groupsFirst(groups []plan.Item, sets [][]int, n int) ([]plan.Item, [][]int) {
	k := len(groups) - n
	out := append(append([]plan.Item(nil), groups[n:]...), groups[:n]...)
	moved := make([][]int, len(sets))
	for i, s := range sets {
		for _, x := range s {
			if x >= n {
				moved[i] = append(moved[i], x-n)
			} else {
				moved[i] = append(moved[i], x+k)
			}
		}
	}
	return out, moved
}

// pushLimit numbers the rows of each value and keeps the first ones.
func (d *decorrelator) pushLimit(n *plan.Limit, above plan.ColSet) *table {
	used := d.usesOuter(n.Count, n.Offset)
	input, keys := n.Input, n.Keys
	if in, k := orderOf(n.Input); len(k) > 0 {
		input = in
		if len(keys) == 0 || !n.Ties {
			keys = k
		}
	}
	t := d.ensure(d.complete(d.push(input, rewrite.Union(rewrite.Union(above, used), d.usesOuter(orderExprs(keys)...)))),
		rewrite.Union(used, d.usesOuter(orderExprs(keys)...)))
	if d.r.Err != nil {
		return t
	}
	by := t.values()
	order := make([]expr.Order, len(keys))
	for i, k := range keys {
		k.Expr = rewrite.Subst(k.Expr, by)
		order[i] = k
	}
	numbered, num := rowNumber(d.r, t.n, linkExprs(t), order, n.Ties)
	if numbered == nil {
		return t
	}
	count, offset := n.Count, n.Offset
	if count != nil {
		count = rewrite.Subst(count, by)
	}
	if offset != nil {
		offset = rewrite.Subst(offset, by)
	}
	out := &table{links: t.links, one: t.one}
	if k, ok := count.(*expr.Const); ok && k.Val == int64(1) && !n.Ties {
		out.one = true
	}
	out.n = rewrite.Filter(numbered, betweenRows(d.r, num, count, offset))
	return out
}

func orderExprs(keys []expr.Order) []expr.Expr {
	out := make([]expr.Expr, len(keys))
	for i, k := range keys {
		out[i] = k.Expr
	}
	return out
}

// pushMax1Row lets a single join over the domain raise the error.
func (d *decorrelator) pushMax1Row(n *plan.Max1Row, above plan.ColSet) *table {
	t := d.complete(d.push(n.Input, above))
	if t.one || d.r.Err != nil {
		return t
	}
	dom := d.domain(rewrite.SortedIDs(rewrite.Union(t.outers(), above)))
	by := dom.values()
	var on []expr.Expr
	for _, l := range t.links {
		on = append(on, rewrite.Subst(l.cond, by))
	}
	in, ind := indicator(d.r, t.n)
	j := &plan.Join{Kind: plan.Single, L: dom.n, R: in, On: on}
	return &table{n: rewrite.Filter(j, []expr.Expr{&expr.IsNull{Arg: rewrite.ColOf(ind), Not: true}}), links: dom.links, one: true}
}

// pushSetOp lets each input carry all of L's columns that any of them reads.
func (d *decorrelator) pushSetOp(n *plan.SetOp, above plan.ColSet) *table {
	need := rewrite.Union(above, d.correlated(n))
	cols := rewrite.SortedIDs(need)
	out := *n
	out.Inputs = make([]plan.Node, len(n.Inputs))
	res := &table{}
	var linkCols []plan.Column
	res.links, linkCols = d.valueLinks(cols)
	out.Cols = append(n.Cols[:len(n.Cols):len(n.Cols)], linkCols...)
	for i, in := range n.Inputs {
		t := d.ensure(d.complete(d.push(in, need)), need)
		if d.r.Err != nil {
			return t
		}
		out.Inputs[i] = d.withValues(t, in.Schema(), cols)
	}
	res.n = &out
	return res
}

// valuesUnion makes a union of projections of a list of rows.
func valuesUnion(r *rule.Run, n *plan.Values) plan.Node {
	arms := make([]plan.Node, len(n.Rows))
	for i, row := range n.Rows {
		items := make([]plan.Item, len(row))
		for j, e := range row {
			col := n.Cols[j]
			if len(n.Rows) > 1 {
				col = r.NewCol(col.Name, col.Type)
			}
			items[j] = plan.Item{Col: col, Expr: e}
		}
		arms[i] = &plan.Project{Input: unit(), Items: items}
	}
	if len(arms) == 1 {
		return arms[0]
	}
	return &plan.SetOp{Kind: plan.Union, All: true, Inputs: arms, Cols: n.Cols}
}

func nodeName(n plan.Node) string {
	switch n.(type) {
	case *plan.RecursiveUnion:
		return "WITH RECURSIVE"
	case *plan.TableWrite:
		return "a table write"
	}
	return "this relation"
}

// emptyAggregate returns the value of an aggregate over no rows.
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
	return rewrite.NullConst(a.Col.Type)
}
