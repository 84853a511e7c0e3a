package unnest

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// Decorrelate turns every Apply into a join, after Neumann and Kemper,
// "Unnesting Arbitrary Queries" (BTW 2015). The right side R of an Apply is a
// function of the left side's columns; it becomes a relation that holds the
// function's table, and the Apply a join with that:
//
//	Apply(L, R(c))  →  L ⋈ R' on L.c ≡ R'.c      R' = { (c, row) | row in R(c) }
//
// R' is made in three ways, the cheaper first:
//
//  1. hoist: conditions over c are lifted to the join (EXISTS (… WHERE t.x = l.c
//     AND t.y <> l.d) is a semi-join with that condition), often leaving an R
//     that does not know c at all;
//  2. link: below an aggregate or the like, l.c = t.x makes t.x stand for c: R'
//     groups by it. No row of R' is about a c that no t.x equals; where R returns
//     a row even then (count(*) is 0) the join is an outer one and puts the
//     row's values in;
//  3. domain: for all else the distinct values of c are computed from a copy of
//     L and joined in (push_dependent.go).
func Decorrelate(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	if !hasApply(r, n) {
		return n, r.Err
	}
	out := decorrelated(r, sink(r, n, nil))
	return out, r.Err
}

func hasApply(r *rule.Run, n plan.Node) bool {
	r.Poll()
	_, ok := n.(*plan.Apply)
	return ok || slices.ContainsFunc(n.Children(), func(k plan.Node) bool { return hasApply(r, k) })
}

// sink returns n with conds, those that read the left side of an Apply alone applied there: it is chosen by how
// many rows ask how an Apply is computed, and conditions do not move through all that it may become.
func sink(r *rule.Run, n plan.Node, conds []expr.Expr) plan.Node {
	below := func(k plan.Node, may bool) plan.Node {
		var down, up []expr.Expr
		out := plan.Emits(k)
		for _, c := range conds {
			if cols := rewrite.ColumnsOf(c); may && len(cols) > 0 && rewrite.Subset(cols, out) {
				down = append(down, c)
			} else {
				up = append(up, c)
			}
		}
		conds = up
		return sink(r, k, down)
	}
	switch m := n.(type) {
	case *plan.Filter:
		all := append(m.Conds[:len(m.Conds):len(m.Conds)], conds...)
		if i := slices.IndexFunc(all, rewrite.IsVolatile); i >= 0 { // it stays, and so do those after it
			return rewrite.Filter(sink(r, m.Input, all[:i]), all[i:])
		}
		return sink(r, m.Input, all)
	case *plan.Apply:
		n = m.WithChildren([]plan.Node{below(m.L, true), below(m.R, false)})
	case *plan.Join:
		n = m.WithChildren([]plan.Node{below(m.L, m.Kind == plan.Inner || m.Kind == plan.Left), below(m.R, m.Kind == plan.Inner)})
	default:
		n = r.MapChildren(n, func(k plan.Node) plan.Node { return sink(r, k, nil) })
	}
	return rewrite.Filter(n, conds)
}

func decorrelated(r *rule.Run, n plan.Node) plan.Node {
	return r.BottomUp(n, func(m plan.Node) plan.Node {
		a, ok := m.(*plan.Apply)
		if !ok || r.Err != nil {
			return m
		}
		d := &decorrelator{r: r, l: a.L, corr: plan.Emits(a.L), cols: map[expr.ColID]plan.Column{}}
		for _, c := range a.L.Schema() {
			d.cols[c.ID] = c
		}
		out := d.apply(a)
		if have := plan.Emits(out); !rewrite.Subset(plan.Emits(a), have) {
			r.Fail(rule.Internal("decorrelation lost a column"))
		}
		return out
	})
}

// decorrelator removes one Apply.
type decorrelator struct {
	r    *rule.Run
	l    plan.Node
	corr plan.ColSet // what L emits
	cols map[expr.ColID]plan.Column
	// rounds are, by id, the columns of L that the rows of a recursive union carry.
	rounds map[int][]expr.ColID
	key    []expr.ColID // of L, where the table of R is by it
}

// correlated returns the columns of L that n reads from outside of it.
func (d *decorrelator) correlated(n plan.Node) plan.ColSet {
	s := d.r.Estimates().Facts.FreeColumns(n)
	for c := range s {
		if !d.corr[c] {
			delete(s, c)
		}
	}
	return s
}

func (d *decorrelator) usesOuter(es ...expr.Expr) plan.ColSet {
	s := rewrite.ColumnsOf(es...)
	for c := range s {
		if !d.corr[c] {
			delete(s, c)
		}
	}
	return s
}

func (d *decorrelator) apply(a *plan.Apply) plan.Node {
	c := *a
	if len(d.correlated(c.R)) == 0 {
		return d.join(&c)
	}
	c.R, _ = d.r.Disambiguate(c.R, d.corr)
	if n := d.simpler(&c); n != nil {
		return n
	}
	hoisted, conds := d.hoist(c.R, existential(c.Kind))
	c.R = hoisted
	d.addConds(&c, conds)
	if len(d.correlated(c.R)) == 0 {
		return d.join(&c)
	}
	if n := d.simpler(&c); n != nil {
		return n
	}
	if n := d.windowed(&c); n != nil {
		return n
	}
	if n := d.having(&c); n != nil {
		return n
	}
	return d.viaTable(&c)
}

// windowed computes the Apply of a row or an aggregate over an order by a window; nil where that cannot be, or does more.
func (d *decorrelator) windowed(a *plan.Apply) plan.Node {
	in, keys := orderedInput(a.R)
	if in == nil || len(d.r.Estimates().Facts.FreeColumns(a.L)) > 0 || rewrite.PlanVolatile(a.R) {
		return nil
	}
	rows, conds := d.hoist(in, false)
	if len(d.correlated(rows)) > 0 {
		return nil
	}
	return (&ordered{r: d.r, l: a.L, corr: d.corr, rows: rows}).apply(a, in, keys, conds)
}

// having computes the Apply of an aggregate whose row is kept or not, by HAVING or by the Apply's own condition, where the
// aggregate is computed by a window (ordered.go): each left row has its aggregates then, and the condition says what
// comes of them. nil where that cannot be.
//
//	(SELECT sum(x) … HAVING count(*) > 2)      CASE WHEN count > 2 THEN sum END
//	EXISTS (SELECT … HAVING count(*) > 2)      count > 2
func (d *decorrelator) having(a *plan.Apply) plan.Node {
	in, by := a.R, itemsOf(a.R)
	if p, ok := in.(*plan.Project); ok {
		in = p.Input
	}
	var conds []expr.Expr
	if f, ok := in.(*plan.Filter); ok {
		in, conds = f.Input, f.Conds
	}
	agg, ok := in.(*plan.Aggregate)
	if !ok || rewrite.PlanVolatile(a.R) || slices.ContainsFunc(a.On, rewrite.IsVolatile) {
		return nil
	}
	conds = append(conds[:len(conds):len(conds)], rewrite.SubstAll(a.On, by)...)
	if len(conds) == 0 || a.Kind == plan.Mark || a.Kind == plan.AntiNull {
		return nil
	}
	c := *a
	c.Kind, c.On, c.R = plan.Inner, nil, agg
	out := d.windowed(&c)
	if out == nil {
		return nil
	}
	kept := rewrite.AndOf(conds)
	switch a.Kind {
	case plan.Semi:
		return rewrite.Filter(out, conds)
	case plan.Anti:
		return rewrite.Filter(out, []expr.Expr{&expr.BoolTest{Arg: kept, Kind: expr.IsTrue, Not: true}})
	case plan.Inner:
		out = rewrite.Filter(out, conds)
	}
	items := rewrite.PassItems(a.L.Schema())
	for _, col := range a.R.Schema() {
		e, computed := by[col.ID]
		if !computed {
			e = rewrite.ColOf(col)
		}
		if a.Kind != plan.Inner {
			e = &expr.Case{Whens: []expr.When{{Cond: kept, Then: e}}, Typ: col.Type}
		}
		items = append(items, plan.Item{Col: col, Expr: e})
	}
	return &plan.Project{Input: out, Items: items}
}

// join makes the join of an Apply whose right side does not read the left one.
func (d *decorrelator) join(a *plan.Apply) plan.Node {
	kind, on := a.Kind, a.On
	switch kind {
	case plan.AntiNull:
		if !plainNotIn(a) {
			kind = plan.Anti
			on = rule.NotFalse(on)
		}
	case plan.Semi, plan.Anti:
		if len(on) == 0 {
			// EXISTS of a subquery that always returns a row.
			if props.ExactlyOne(a.R) {
				if kind == plan.Semi {
					return a.L
				}
				return rule.EmptyOf(a.L)
			}
		}
	case plan.Single:
		switch {
		case len(on) == 0 && props.ExactlyOne(a.R):
			kind = plan.Inner
		case d.r.AtMostOne(a.R, on):
			kind = plan.Left
		}
	}
	return &plan.Join{Kind: kind, L: a.L, R: a.R, On: on, MarkCol: a.MarkCol}
}

// plainNotIn reports whether a NOT IN is one equality of a left expression with
// a right one, which is all AntiNull can do.
func plainNotIn(a *plan.Apply) bool {
	if len(a.On) != 1 {
		return false
	}
	l, r, ok := rewrite.Equality(a.On[0])
	if !ok {
		return false
	}
	right := plan.Emits(a.R)
	sides := func(x, y expr.Expr) bool {
		return !rewrite.Intersects(rewrite.ColumnsOf(x), right) && rewrite.Subset(rewrite.ColumnsOf(y), right) && len(rewrite.ColumnsOf(y)) > 0
	}
	return sides(l, r) || sides(r, l)
}

// addConds adds conditions that R's rows had to meet to the join's condition.
func (d *decorrelator) addConds(a *plan.Apply, conds []expr.Expr) {
	if len(conds) == 0 {
		return
	}
	switch a.Kind {
	case plan.AntiNull:
		a.Kind = plan.Anti
		a.On = append(rule.NotFalse(a.On), conds...)
	case plan.Mark:
		// A row that R would not have had cannot make the mark NULL.
		on := a.On[:len(a.On):len(a.On)]
		for _, c := range conds {
			on = append(on, &expr.BoolTest{Arg: c, Kind: expr.IsTrue})
		}
		a.On = on
	default:
		a.On = append(a.On[:len(a.On):len(a.On)], conds...)
	}
}

// simpler handles the shapes at the top of R that need no table of R; nil where
// there is none.
func (d *decorrelator) simpler(a *plan.Apply) plan.Node {
	switch n := a.R.(type) {
	case *plan.Sort:
		if n.Limit < 0 {
			c := *a
			c.R = n.Input
			return d.apply(&c)
		}
	case *plan.Limit:
		// EXISTS (… LIMIT 1) is EXISTS (…).
		if k, ok := n.Count.(*expr.Const); ok && n.Offset == nil && len(a.On) == 0 && existential(a.Kind) {
			if v, ok := k.Val.(int64); ok && v >= 1 {
				c := *a
				c.R = n.Input
				return d.apply(&c)
			}
		}
	case *plan.Max1Row:
		if a.Kind == plan.Single || a.Kind == plan.Left && len(a.On) == 0 {
			c := *a
			c.Kind, c.R = plan.Single, n.Input
			return d.apply(&c)
		}
	case *plan.Project:
		return d.liftProject(a, n)
	case *plan.FuncScan:
		c := *a
		c.R = &plan.ProjectSet{Input: unit(), Calls: n.Calls, Ordinality: n.Ordinality}
		return d.simpler(&c)
	case *plan.ProjectSet:
		// A lateral function call expands the left row itself.
		if isUnit(n.Input) && (a.Kind == plan.Inner || a.Kind == plan.Left && len(a.On) == 0) {
			m := *n
			m.Input, m.Outer = a.L, a.Kind == plan.Left
			if a.Kind == plan.Inner {
				return rewrite.Filter(&m, a.On)
			}
			return &m
		}
	case *plan.Values:
		if len(n.Rows) == 1 {
			items := make([]plan.Item, len(n.Cols))
			for i, c := range n.Cols {
				items[i] = plan.Item{Col: c, Expr: n.Rows[0][i]}
			}
			c := *a
			c.R = &plan.Project{Input: unit(), Items: items}
			return d.simpler(&c)
		}
		if calls := listed(n); calls != nil && (a.Kind == plan.Inner || a.Kind == plan.Left && len(a.On) == 0) {
			c := *a
			c.R = &plan.ProjectSet{Input: unit(), Calls: calls}
			return d.simpler(&c)
		}
	}
	return nil
}

// listed returns the columns of a list of rows as calls of unnest side by side; nil where a type
// has no array that unnest splits into its values.
func listed(n *plan.Values) []plan.SetCall {
	calls := make([]plan.SetCall, len(n.Cols))
	for j, c := range n.Cols {
		array, ok := types.ArrayOf(c.Type)
		if !ok || c.Type.IsArray() || c.Type.OID >= types.FirstUserOID || c.Type.Prec > 0 {
			return nil
		}
		list := &expr.ArrayCtor{Typ: array}
		for _, row := range n.Rows {
			list.Elems = append(list.Elems, row[j])
		}
		calls[j] = plan.SetCall{Fn: fn.Lookup("unnest")[0], Args: []expr.Expr{list}, Cols: []plan.Column{c}}
	}
	return calls
}

func existential(k plan.JoinKind) bool {
	return k == plan.Semi || k == plan.Anti || k == plan.Mark
}

// liftProject computes a projection after the join instead of in R, where the left side's columns
// are available.
func (d *decorrelator) liftProject(a *plan.Apply, p *plan.Project) plan.Node {
	if rule.AnyVolatile(p.Items) {
		return nil
	}
	by := map[expr.ColID]expr.Expr{}
	var exprs []expr.Expr
	for _, it := range p.Items {
		by[it.Col.ID] = it.Expr
		exprs = append(exprs, it.Expr)
	}
	c := *a
	c.R = p.Input
	switch a.Kind {
	case plan.Semi, plan.Anti, plan.Mark, plan.AntiNull:
		c.On = rewrite.SubstAll(a.On, by)
		return d.apply(&c)
	case plan.Inner:
		c.On = rewrite.SubstAll(a.On, by)
		return d.over(d.apply(&c), p.Items)
	case plan.Left, plan.Single:
		outer := d.usesOuter(exprs...)
		right := plan.Emits(p.Input)
		if props.ExactlyOne(p.Input) && len(a.On) == 0 {
			return d.over(d.apply(&c), p.Items)
		}
		null := true
		for _, e := range exprs {
			null = null && props.NullIf(e, right)
		}
		if null {
			// NULL in, NULL out: padded rows are right as they are.
			c.On = rewrite.SubstAll(a.On, by)
			return d.over(d.apply(&c), p.Items)
		}
		if len(outer) == 0 {
			return nil
		}
		in, ind := indicator(d.r, p.Input)
		c.R = in
		c.On = rewrite.SubstAll(a.On, by)
		items := make([]plan.Item, len(p.Items))
		for i, it := range p.Items {
			it.Expr = ifMatched(ind, it.Expr, nil, it.Col)
			items[i] = it
		}
		return d.over(d.apply(&c), items)
	}
	return nil
}

// indicator adds a column to n that is true in every row: NULL in it marks a padded row of an outer
// join. It goes below filters, which stay liftable.
func indicator(r *rule.Run, n plan.Node) (plan.Node, plan.Column) {
	if f, ok := n.(*plan.Filter); ok {
		in, c := indicator(r, f.Input)
		return &plan.Filter{Input: in, Conds: f.Conds}, c
	}
	c := r.NewCol("matched", rewrite.BoolConst(true).Type())
	items := append(rewrite.PassItems(n.Schema()), plan.Item{Col: c, Expr: rewrite.BoolConst(true)})
	return &plan.Project{Input: n, Items: items}, c
}

// ifMatched returns e where the row has a partner, els otherwise.
func ifMatched(ind plan.Column, e, els expr.Expr, c plan.Column) expr.Expr {
	return &expr.Case{
		Whens: []expr.When{{Cond: &expr.IsNull{Arg: rewrite.ColOf(ind), Not: true}, Then: e}},
		Else:  els, Typ: c.Type,
	}
}

// over adds computed columns to the left side's columns that n emits.
func (d *decorrelator) over(n plan.Node, items []plan.Item) plan.Node {
	all := rewrite.PassItems(d.l.Schema())
	return &plan.Project{Input: n, Items: append(all, items...)}
}

// hoist removes the conditions over L's columns from n where a join above may check them as well,
// and returns the rest with the conditions. exists: only the existence of a row of n matters; then
// a semi-join in it may be an inner one, EXISTS (u … EXISTS (s …)) being EXISTS (u, s …).
func (d *decorrelator) hoist(n plan.Node, exists bool) (plan.Node, []expr.Expr) {
	if len(d.correlated(n)) == 0 {
		return n, nil
	}
	switch n := n.(type) {
	case *plan.Filter:
		in, up := d.hoist(n.Input, exists)
		var stay []expr.Expr
		for _, c := range rewrite.SplitAll(n.Conds) {
			if rewrite.IsVolatile(c) {
				return n, nil
			}
			if len(d.usesOuter(c)) > 0 {
				up = append(up, c)
			} else {
				stay = append(stay, c)
			}
		}
		return rewrite.Filter(in, stay), up
	case *plan.Project:
		in, up := d.hoist(n.Input, exists)
		if len(up) == 0 || rule.AnyVolatile(n.Items) {
			return n, nil
		}
		have := plan.Emits(n)
		inside := map[expr.ColID]plan.Column{}
		for _, c := range in.Schema() {
			inside[c.ID] = c
		}
		items := n.Items[:len(n.Items):len(n.Items)]
		for _, id := range rewrite.SortedIDs(rewrite.ColumnsOf(up...)) {
			if c, ok := inside[id]; ok && !have[id] {
				items = append(items, rewrite.PassThrough(c))
			}
		}
		return &plan.Project{Input: in, Items: items}, up
	case *plan.Sort:
		if n.Limit < 0 {
			return d.hoist(n.Input, exists)
		}
	case *plan.Join:
		c := *n
		if n.Kind == plan.Semi && exists && (len(d.correlated(n.R)) > 0 || len(d.usesOuter(n.On...)) > 0) {
			c.Kind = plan.Inner
		}
		switch c.Kind {
		case plan.Inner:
			l, up := d.hoist(n.L, exists)
			r, more := d.hoist(n.R, exists)
			up = append(up, more...)
			c.L, c.R, c.On = l, r, nil
			for _, e := range rewrite.SplitAll(n.On) {
				if len(d.usesOuter(e)) > 0 {
					up = append(up, e)
				} else {
					c.On = append(c.On, e)
				}
			}
			return &c, up
		case plan.Left, plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single:
			if len(d.correlated(n.R)) == 0 && len(d.usesOuter(n.On...)) == 0 {
				l, up := d.hoist(n.L, exists)
				c.L = l
				return &c, up
			}
		}
	}
	return n, nil
}

// viaTable joins L with R's table.
func (d *decorrelator) viaTable(a *plan.Apply) plan.Node {
	d.numbered(a)
	t := d.push(a.R, plan.ColSet{})
	if d.r.Err != nil {
		return a
	}
	joined := *a
	joined.L = d.l // which may be a buffer now
	a = &joined
	if t.missing != nil && (existential(a.Kind) || a.Kind == plan.AntiNull || a.Kind != plan.Inner && len(a.On) > 0) {
		t = d.complete(t)
	}
	var back []expr.Expr
	for _, l := range t.links {
		back = append(back, l.cond)
	}
	if t.missing == nil {
		c := *a
		c.R = t.n
		if c.Kind == plan.Single && t.one {
			c.Kind = plan.Left
		}
		d.addConds(&c, back)
		return d.join(&c)
	}
	// Each left row has a row of R; where the table has none, it is the one that the aggregate returns
	// for no input.
	right, fill := fillable(d.r, t)
	kind := plan.Left
	if a.Kind == plan.Single && !t.one {
		kind = plan.Single
	}
	var j plan.Node = &plan.Join{Kind: kind, L: a.L, R: right, On: back}
	if len(fill) > 0 {
		j = d.over(j, fill)
	}
	if a.Kind == plan.Inner {
		return rewrite.Filter(j, a.On)
	}
	return j
}

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
		if short(k, d.cols) {
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

// short reports whether a key of cols is of few bytes.
func short(key plan.ColSet, cols map[expr.ColID]plan.Column) bool {
	for id := range key {
		c, ok := cols[id]
		if _, _, isInt := c.Type.IntRange(); !ok || !isInt && c.Type.OID != types.DateOID && c.Type.OID != types.TimestampOID {
			return false
		}
	}
	return len(key) > 0 && len(key) <= 2
}

// fillable returns the table's node with an indicator where it is needed, and
// items that compute R's columns from a padded row; no items where NULLs are
// right for all.
func fillable(r *rule.Run, t *table) (plan.Node, []plan.Item) {
	all := true
	for _, c := range t.n.Schema() {
		if m, ok := t.missing[c.ID]; ok && !rewrite.IsNull(m) {
			all = false
		}
	}
	if all {
		return t.n, nil
	}
	in, ind := indicator(r, t.n)
	p, _ := in.(*plan.Project)
	if p == nil {
		p = &plan.Project{Input: in, Items: rewrite.PassItems(in.Schema())}
	}
	inner := append([]plan.Item(nil), p.Items...)
	var fill []plan.Item
	for i, it := range inner {
		m, ok := t.missing[it.Col.ID]
		if !ok {
			continue
		}
		out := it.Col
		if rewrite.IsNull(m) {
			fill = append(fill, rewrite.PassThrough(out))
			continue
		}
		fresh := r.NewCol(out.Name, out.Type)
		inner[i].Col = fresh
		fill = append(fill, plan.Item{Col: out, Expr: ifMatched(ind, rewrite.ColOf(fresh), m, out)})
	}
	return &plan.Project{Input: p.Input, Items: inner}, fill
}
