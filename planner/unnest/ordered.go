package unnest

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/planner/derive"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// ordered is a subquery over rows that are equal to the left row in keys and before, after or around
// it in an order: its last trade before a time, how many there were in a week. Both sides' rows
// together, sorted, have all that a left row asks for in a window's frame (decision 130):
//
//	key  x   asks                 key = l.key and x <= l.t, the last
//	a    1   false ─┐
//	a    3   false  ├─ frame of
//	a    3   true  ◀┘  this row: its last row that does not ask is a|3
//	b    2   true       no row: NULL, or no row of an inner join
//
// A join would make all pairs of rows with equal keys first.
type ordered struct {
	r            *rule.Run
	l            plan.Node
	corr         plan.ColSet // L's columns
	rows         plan.Node   // of the subquery, without the conditions over L's columns
	outer, inner []expr.Expr
	x            expr.Expr // over rows
	bounds       []bound
}

// bound is a condition: x op outer.
type bound struct {
	op    string
	outer expr.Expr
}

func (b bound) strict() bool { return len(b.op) == 1 }
func (b bound) below() bool  { return b.op[0] == '<' } // x lies below outer

// pairsPerRow is how many pairs of rows with equal keys cost a join as much as one row costs to be sorted.
const pairsPerRow = 4

// orderedInput returns the input of a node that ordered can stand for, and the order of which it keeps the first row, or
// none for an aggregate; nil where it is another.
func orderedInput(n plan.Node) (plan.Node, []expr.Order) {
	switch n := n.(type) {
	case *plan.Sort:
		if n.Limit == 1 {
			return unsorted(n.Input), n.Keys
		}
	case *plan.Limit:
		k, one := n.Count.(*expr.Const)
		if in, keys := orderOf(n.Input); len(keys) > 0 && n.Offset == nil && !n.Ties && one && k.Val == int64(1) {
			return unsorted(in), keys
		}
	case *plan.Aggregate:
		if len(n.Groups) > 0 || len(n.Sets) > 0 || n.GroupingID != 0 {
			return nil, nil
		}
		for _, it := range n.Aggs {
			if c := it.Call; c.Distinct || len(c.OrderBy) > 0 || c.Direct > 0 || c.Machine != nil || c.Fn == nil || props.OrderedAgg(c) {
				return nil, nil
			}
		}
		return unsorted(n.Input), nil
	}
	return nil, nil
}

// unsorted is n without an order of its rows; nil where the order chooses them.
func unsorted(n plan.Node) plan.Node {
	for {
		s, ok := n.(*plan.Sort)
		if !ok {
			return n
		}
		if s.Limit >= 0 {
			return nil
		}
		n = s.Input
	}
}

// apply computes an Apply of a subquery whose input is in, which is o.rows where conds are true; nil where it is not
// an ordered one, or where few rows ask or few have equal keys, so that a join does less.
func (o *ordered) apply(a *plan.Apply, in plan.Node, keys []expr.Order, conds []expr.Expr) plan.Node {
	if len(a.On) > 0 || a.Kind != plan.Inner && a.Kind != plan.Left && a.Kind != plan.Single {
		return nil
	}
	if o.reads(plan.Exprs(a.R)...) || o.readsOrders(keys) || !o.conditions(conds) {
		return nil
	}
	if agg, ok := a.R.(*plan.Aggregate); ok {
		return o.aggregated(agg)
	}
	by := itemsOf(in)
	order := make([]expr.Order, len(keys))
	for i, k := range keys {
		k.Expr = rewrite.Subst(k.Expr, by)
		order[i] = k
	}
	return o.nearest(a, order)
}

// reads reports whether expressions read L's columns.
func (o *ordered) reads(es ...expr.Expr) bool {
	return rewrite.Intersects(rewrite.ColumnsOf(es...), o.corr)
}

func (o *ordered) readsOrders(keys []expr.Order) bool {
	return slices.ContainsFunc(keys, func(k expr.Order) bool { return o.reads(k.Expr) })
}

// conditions finds the keys and the bounds; false where there are other conditions, or too few pairs.
func (o *ordered) conditions(conds []expr.Expr) bool {
	var equal []expr.Expr
	conds, _ = derive.Sums(conds, &plan.Join{L: o.l, R: o.rows}, o.r.Statistics())
	for _, c := range conds {
		x, b, ok := o.bound(c)
		if !ok {
			return false
		}
		if b.op == "=" {
			o.outer, o.inner = append(o.outer, b.outer), append(o.inner, x)
			equal = append(equal, c)
			continue
		}
		if o.x != nil && !rewrite.Same(o.x, x) {
			return false
		}
		o.x, o.bounds = x, append(o.bounds, b)
	}
	if o.x == nil {
		return false
	}
	est := o.r.Estimates()
	l, r := est.Of(o.l), est.Of(o.rows)
	return est.Join(plan.Inner, l, r, equal, 0).Rows >= pairsPerRow*(l.Rows+r.Rows)
}

// bound reads a condition as a comparison of an expression over the subquery's rows with one over L's.
func (o *ordered) bound(c expr.Expr) (expr.Expr, bound, bool) {
	op, x, outer, ok := rewrite.Comparison(c)
	if !ok || rewrite.IsVolatile(c) {
		return nil, bound{}, false
	}
	b := bound{op, outer}
	if o.reads(x) {
		x, b = outer, bound{rewrite.Mirrored[op], x}
	}
	if o.reads(x) || len(rewrite.ColumnsOf(x)) == 0 || !rewrite.Subset(rewrite.ColumnsOf(b.outer), o.corr) {
		return nil, bound{}, false
	}
	x, b.outer, ok = o.alike(x, b.outer)
	return x, b, ok
}

// alike returns two expressions that are compared with casts to the type of which both are values, such that they may be in
// one column; false where there is none, or a cast could fail.
func (o *ordered) alike(x, y expr.Expr) (expr.Expr, expr.Expr, bool) {
	a, b := x.Type(), y.Type()
	if sameOrder(a, b) {
		return x, y, true
	}
	if !strictlyWider(a, b) {
		a, b = b, a
	}
	if !strictlyWider(a, b) {
		return nil, nil, false
	}
	rows := &plan.Join{L: o.l, R: o.rows}
	both := [2]expr.Expr{x, y}
	for i, e := range both {
		if !e.Type().SamePhysical(b) {
			both[i] = &expr.Cast{Arg: e, Typ: b}
			if props.Fallible(both[i], rows, o.r.Statistics()) {
				return nil, nil, false
			}
		}
	}
	return both[0], both[1], sameOrder(both[0].Type(), both[1].Type())
}

// strictlyWider reports whether values of a, as values of b, compare as they do in a.
func strictlyWider(a, b types.Type) bool {
	switch {
	case a.IsInteger() && b.IsInteger():
		return a.Rank() < b.Rank()
	case a.OID == types.Float4OID:
		return b.OID == types.Float8OID
	case a.OID == types.DateOID:
		return b.OID == types.TimestampOID && b.Mod < 0
	}
	return (a.IsInteger() || a.IsFixed()) && b.OID == types.NumericOID && b.Mod < 0
}

// narrowest is e without casts that leave the order of its values as it is.
func narrowest(e expr.Expr) expr.Expr {
	for {
		c, ok := e.(*expr.Cast)
		if !ok || !strictlyWider(c.Arg.Type(), c.Typ) {
			return e
		}
		e = c.Arg
	}
}

// sameOrder reports whether values of two types are in one column, equal and sorted as = and < say.
func sameOrder(a, b types.Type) bool {
	return a.OID == b.OID && a.SamePhysical(b) && !a.IsArray() && a.OID < types.FirstUserOID
}

// nearest is an Apply of the first row by an order over o.rows: the last before a value, or the first after one.
func (o *ordered) nearest(a *plan.Apply, order []expr.Order) plan.Node {
	if !rewrite.Same(narrowest(order[0].Expr), narrowest(o.x)) {
		return nil
	}
	// One bound is where the search begins. The others are on the far side: the row that is found meets
	// them, or none does.
	near := -1
	for i, b := range o.bounds {
		if b.below() == order[0].Desc {
			if near >= 0 {
				return nil
			}
			near = i
		}
	}
	if near < 0 {
		return nil
	}
	u := o.union(o.bounds[near].outer)
	var found []plan.WindowItem
	last := fn.Lookup("last_value")[0]
	frame := plan.Frame{Mode: 'r', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}}
	pick := func(c plan.Column) plan.Column {
		col := o.r.NewCol(c.Name, c.Type)
		found = append(found, plan.WindowItem{Col: col, Call: expr.AggCall{Fn: last, Args: []expr.Expr{rewrite.ColOf(c)}, Filter: u.answers(), Typ: c.Type}, Frame: frame})
		return col
	}
	items, out := rewrite.PassItems(o.l.Schema()), plan.Emits(a.R)
	for _, c := range o.rows.Schema() {
		if out[c.ID] {
			picked := pick(u.inner(c.Name, rewrite.ColOf(c)))
			c.Table, c.Num = 0, 0
			items = append(items, plan.Item{Col: c, Expr: rewrite.ColOf(picked)})
		}
	}
	matched := pick(u.reply)
	x := pick(u.order)
	// Of rows with one x the last is the first by the other keys.
	ties := []expr.Order{{Expr: rewrite.ColOf(u.order), Desc: !order[0].Desc, NullsFirst: true},
		{Expr: rewrite.ColOf(u.asks), Desc: o.bounds[near].strict()}}
	for _, k := range order[1:] {
		ties = append(ties, expr.Order{Expr: rewrite.ColOf(u.inner("key", k.Expr)), Desc: !k.Desc, NullsFirst: !k.NullsFirst})
	}
	asked := u.window(ties, found)
	meets := []expr.Expr{&expr.IsNull{Arg: rewrite.ColOf(matched), Not: true}}
	for i, b := range o.bounds {
		if i != near {
			meets = append(meets, rewrite.Subst(rewrite.Compare(b.op, rewrite.ColOf(x), b.outer), u.of))
		}
	}
	return u.answer(asked, items, meets, a.Kind == plan.Inner)
}

// itemsOf maps the columns that projections at the top of n compute to what they are.
func itemsOf(n plan.Node) map[expr.ColID]expr.Expr {
	by := map[expr.ColID]expr.Expr{}
	p, ok := n.(*plan.Project)
	if !ok {
		return by
	}
	below := itemsOf(p.Input)
	for _, it := range p.Items {
		by[it.Col.ID] = rewrite.Subst(it.Expr, below)
	}
	return by
}

// aggregated is an Apply of aggregates of all rows within the bounds.
func (o *ordered) aggregated(n *plan.Aggregate) plan.Node {
	f, ok := o.frame()
	if !ok {
		return nil
	}
	o.x = f.x
	u := o.union(f.at)
	order := []expr.Order{{Expr: rewrite.ColOf(u.order), Desc: f.desc, NullsFirst: true}}
	if f.frame.Mode == 'r' {
		order = append(order, expr.Order{Expr: rewrite.ColOf(u.asks), Desc: f.strict})
	}
	items := rewrite.PassItems(o.l.Schema())
	var calls []plan.WindowItem
	for _, it := range n.Aggs {
		c := it.Call
		c.Args = nil
		for _, e := range it.Call.Args {
			c.Args = append(c.Args, rewrite.ColOf(u.inner("arg", e)))
		}
		when := u.answers()
		if c.Filter != nil {
			when = rewrite.ColOf(u.inner("filter", c.Filter))
		}
		c.Filter = when
		col := o.r.NewCol(it.Col.Name, it.Col.Type)
		calls = append(calls, plan.WindowItem{Col: col, Call: c, Frame: f.frame})
		items = append(items, plan.Item{Col: it.Col, Expr: rewrite.ColOf(col)})
	}
	return u.answer(u.window(order, calls), items, nil, false)
}

// orderedFrame is a frame of rows that are sorted by x, and of those that ask by at.
type orderedFrame struct {
	x            expr.Expr // over the subquery's rows: the ordered one's, or the value beside it
	at           expr.Expr // over L
	desc, strict bool
	frame        plan.Frame
}

// frame is the frame that the bounds are: one alone begins with its partition; two, on both sides
// of one value, at constant distances, are RANGE.
func (o *ordered) frame() (f orderedFrame, ok bool) {
	if len(o.bounds) == 1 {
		b := o.bounds[0]
		return orderedFrame{x: o.x, at: b.outer, desc: !b.below(), strict: b.strict(),
			frame: plan.Frame{Mode: 'r', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}}}, true
	}
	if len(o.bounds) != 2 || o.bounds[0].below() == o.bounds[1].below() {
		return f, false
	}
	from, to := o.bounds[0], o.bounds[1]
	if from.below() {
		from, to = to, from
	}
	f.frame.Mode = 'v'
	first, last := distanceOf(from.outer), distanceOf(to.outer)
	if !rewrite.Same(first.of, last.of) || !ranged(o.x.Type()) {
		return f, false
	}
	if first.by != nil && first.op != "-" || last.by != nil && last.op != "+" {
		return f, false // it lies on one side of the row
	}
	f.x, f.at = o.x, first.of
	f.frame.Start, f.frame.End = first.frameBound(plan.Preceding), last.frameBound(plan.Following)
	// RANGE contains both its ends, but may exclude those that are equal to the row. So (t - c, t] of x is [t - c, t) of the
	// value before x, and [t, t + c) is (t, t + c] of the one after it.
	switch near, far := from.strict() && first.by == nil || to.strict() && last.by == nil, from.strict() && first.by != nil || to.strict() && last.by != nil; {
	case !far:
		if near {
			f.frame.Exclude = 'g'
		}
		return f, !from.strict() || !to.strict()
	case near || first.by != nil && last.by != nil:
		return f, false
	default:
		f.frame.Exclude = 'g'
		f.x = besides(o.x, from.strict())
		return f, f.x != nil
	}
}

// besides is the value before x, or the one after it: NULL where there is none; nil for types without such values.
func besides(x expr.Expr, before bool) expr.Expr {
	t := x.Type()
	var lo, hi int64
	step := expr.Expr(&expr.Const{Val: int64(1), Typ: t})
	switch t.OID {
	case types.Int2OID:
		lo, hi = math.MinInt16, math.MaxInt16
	case types.Int4OID:
		lo, hi = math.MinInt32, math.MaxInt32
	case types.Int8OID:
		lo, hi = math.MinInt64, math.MaxInt64
	case types.DateOID:
		lo, hi = datetime.MinDate, datetime.MaxDate
		step = &expr.Const{Val: int64(1), Typ: types.Int4}
	case types.TimestampOID, types.TimestamptzOID:
		lo, hi = datetime.MinTimestamp, datetime.MaxTimestamp
		step = &expr.Const{Val: datetime.Interval{Micros: 1}, Typ: types.Type{OID: types.IntervalOID, Mod: -1}}
	default:
		return nil
	}
	op, edge := "+", hi
	if before {
		op, edge = "-", lo
	}
	next, inside := rewrite.Compare(op, x, step), rewrite.Compare("<>", x, &expr.Const{Val: edge, Typ: t})
	if next == nil || inside == nil || next.Type().OID != t.OID {
		return nil
	}
	return &expr.Case{Whens: []expr.When{{Cond: inside, Then: next}}, Typ: t}
}

// ranged reports whether RANGE has offsets for a type, and means by them what + and - do.
func ranged(t types.Type) bool {
	switch t.OID {
	case types.Int2OID, types.Int4OID, types.Int8OID, types.Float8OID, types.DateOID, types.TimestampOID, types.TimestamptzOID:
		return true
	}
	return false
}

// distance is an expression as another one plus or minus a constant.
type distance struct {
	of expr.Expr
	op string
	by *expr.Const // nil: none
}

func distanceOf(e expr.Expr) distance {
	c, ok := e.(*expr.Call)
	if !ok || len(c.Args) != 2 || c.Op != "+" && c.Op != "-" || c.Typ.OID != c.Args[0].Type().OID {
		return distance{of: e}
	}
	k, ok := c.Args[1].(*expr.Const)
	if !ok {
		return distance{of: e}
	}
	switch v := k.Val.(type) {
	case datetime.Interval:
		ok = v.Months >= 0 && v.Days >= 0 && v.Micros >= 0
	case int64:
		if ok = v >= 0; c.Typ.OID == types.DateOID { // whose RANGE has intervals
			k = &expr.Const{Val: datetime.Interval{Days: int32(v)}, Typ: types.Type{OID: types.IntervalOID, Mod: -1}}
			ok = ok && v <= maxDays
		}
	case float64:
		ok = v >= 0
	default:
		ok = false
	}
	if !ok || k.Typ.OID != c.Typ.OID && k.Typ.OID != types.IntervalOID {
		return distance{of: e}
	}
	return distance{c.Args[0], c.Op, k}
}

// maxDays is more than any two dates of rows are apart that an interval can tell from others.
const maxDays = 1 << 30

func (d distance) frameBound(kind plan.BoundKind) plan.FrameBound {
	if d.by == nil {
		return plan.FrameBound{Kind: plan.CurrentRow}
	}
	return plan.FrameBound{Kind: kind, Offset: d.by}
}

// union is both sides' rows: L's, which ask, with NULL for the columns of the others, which answer.
type union struct {
	o           *ordered
	l, r        []plan.Item // of the two inputs
	cols        []plan.Column
	keys        []expr.Expr
	order       plan.Column
	asks, reply plan.Column
	of          map[expr.ColID]expr.Expr // by L's columns: the union's
}

func (o *ordered) union(at expr.Expr) *union {
	u := &union{o: o, of: map[expr.ColID]expr.Expr{}}
	for i, k := range o.outer {
		u.keys = append(u.keys, rewrite.ColOf(u.both("key", k, o.inner[i])))
	}
	u.order = u.both("order", at, o.x)
	u.asks = u.both("asks", rewrite.BoolConst(true), rewrite.BoolConst(false))
	for _, c := range o.l.Schema() {
		e := expr.Expr(rewrite.ColOf(c))
		u.of[c.ID] = rewrite.ColOf(u.both(c.Name, e, rewrite.NullConst(c.Type)))
	}
	u.reply = u.inner("answers", rewrite.BoolConst(true))
	return u
}

// both adds a column that is l in L's rows and r in the others.
func (u *union) both(name string, l, r expr.Expr) plan.Column {
	t := r.Type()
	col := u.o.r.NewCol(name, t)
	u.cols = append(u.cols, col)
	u.l = append(u.l, plan.Item{Col: u.o.r.NewCol(name, t), Expr: l})
	u.r = append(u.r, plan.Item{Col: u.o.r.NewCol(name, t), Expr: r})
	return col
}

// inner adds a column of the rows that answer.
func (u *union) inner(name string, e expr.Expr) plan.Column {
	return u.both(name, rewrite.NullConst(e.Type()), e)
}

// answers is whether a row answers.
func (u *union) answers() expr.Expr { return rewrite.ColOf(u.reply) }

// window sorts the rows and computes items.
func (u *union) window(order []expr.Order, items []plan.WindowItem) plan.Node {
	var solid []expr.Expr
	for _, e := range append(u.o.inner[:len(u.o.inner):len(u.o.inner)], u.o.x) {
		solid = append(solid, &expr.IsNull{Arg: e, Not: true})
	}
	all := &plan.SetOp{Kind: plan.Union, All: true, Cols: u.cols, Inputs: []plan.Node{
		&plan.Project{Input: u.o.l, Items: u.l},
		&plan.Project{Input: rewrite.Filter(u.o.rows, solid), Items: u.r}}}
	return &plan.Window{Input: all, PartitionBy: u.keys, OrderBy: order, Items: items}
}

// answer keeps the rows that ask, with items under L's columns. Rows for which meets is not true have NULL in
// the columns that are not L's, or are not kept.
func (u *union) answer(n plan.Node, items []plan.Item, meets []expr.Expr, only bool) plan.Node {
	conds := []expr.Expr{rewrite.ColOf(u.asks)}
	if only {
		conds = append(conds, meets...)
	}
	out := make([]plan.Item, len(items))
	for i, it := range items {
		if c, ok := u.of[it.Col.ID]; ok {
			it.Expr = c
		} else if !only && len(meets) > 1 {
			it.Expr = &expr.Case{Whens: []expr.When{{Cond: &expr.And{Args: meets}, Then: it.Expr}}, Typ: it.Col.Type}
		}
		out[i] = it
	}
	return &plan.Project{Input: rewrite.Filter(n, conds), Items: out}
}
