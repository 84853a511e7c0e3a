package narrow

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Numbers tightens the digits that fixed numerics are known to have, by the zone maps of the
// snapshot, and binds calls again with them. A numeric(15,2) times a numeric(15,2) may have 30
// digits and must be represented as variable; but prices below 10^5 and discounts below 1 make a
// product of 12 digits, which int64 arithmetic holds without a check; and so can a sum of them over
// the present rows.
//
// The bound is true of this snapshot only: such a plan must not outlive it.
func Numbers(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	w := &narrower{r: r, types: map[expr.ColID]types.Type{}, finite: map[expr.ColID][2]int64{}}
	return w.tree(n), nil
}

type narrower struct {
	r     *rule.Run
	types map[expr.ColID]types.Type // columns whose type changed
	// finite are columns of dates and timestamps with their bounds, where these are finite.
	finite map[expr.ColID][2]int64
}

func (w *narrower) tree(n plan.Node) plan.Node {
	before := n.Children()
	n = w.r.MapChildren(n, w.tree)
	switch n := n.(type) {
	case *plan.Scan:
		return w.scan(n)
	case *plan.Project:
		items, changed := w.items(n.Items)
		if !changed {
			return n
		}
		return &plan.Project{Input: n.Input, Items: items}
	case *plan.Aggregate:
		return w.aggregate(n)
	case *plan.Window:
		return w.window(n)
	case *plan.SetOp:
		return w.setOp(n)
	case *plan.RecursiveUnion:
		c := *n
		c.Init, c.Step = w.asBefore(n.Init, n.Cols), w.asBefore(n.Step, n.Cols)
		if c.Init == n.Init && c.Step == n.Step {
			return n
		}
		return &c
	case *plan.TableWrite:
		return rule.With1(n, rule.Restore(n.Input, before[0].Schema()))
	case *plan.ProjectSet:
		// Set-returning functions are bound to the types they had.
		return plan.MapExprs(n, w.keep)
	}
	return plan.MapExprs(n, w.expr)
}

// asBefore casts n's columns, by position, to the physical representation of cols.
func (w *narrower) asBefore(n plan.Node, cols []plan.Column) plan.Node {
	s := n.Schema()
	want := append([]plan.Column(nil), s...)
	for i := range want {
		if i < len(cols) {
			want[i].Type = cols[i].Type
		}
	}
	m := rule.Restore(n, want)
	if m != n {
		for _, c := range s {
			delete(w.types, c.ID)
		}
	}
	return m
}

func (w *narrower) scan(n *plan.Scan) plan.Node {
	t := w.r.Env.Stats.Table(n.Table)
	var cols []plan.Column
	if t != nil {
		for i, c := range n.Cols {
			cs, ok := t.Col(c.Num)
			if !ok || !cs.Bounds {
				continue
			}
			if c.Type.IsStamp() && (n.Missing == nil || n.Missing[i] == nil) {
				w.bounded(c, cs)
			}
			scale, below := cs.Fixed(c.Type)
			p, ok := digits(cs, scale)
			if ok && n.Missing != nil && n.Missing[i] != nil {
				p, ok = max(p, digitsOf(n.Missing[i], scale)), true
			}
			if !ok || p >= below || p == 0 {
				continue
			}
			if cols == nil {
				cols = append(cols, n.Cols...)
			}
			cols[i].Type.Prec, cols[i].Type.Scale = p, scale
			w.types[c.ID] = cols[i].Type
		}
	}
	if cols == nil {
		return plan.MapExprs(n, w.expr) // parts of times in its conditions
	}
	c := *n
	c.Cols = cols
	return plan.MapExprs(&c, w.expr)
}

// digits returns how many digits the column's values have at most.
func digits(cs props.ColStats, scale uint8) (uint8, bool) {
	if cs.Min == nil || cs.Max == nil {
		return 0, false
	}
	a, b := digitsOf(cs.Min, scale), digitsOf(cs.Max, scale)
	if a == 0 || b == 0 {
		return 0, false
	}
	return max(a, b, scale, 1), true
}

// digitsOf counts the digits of a value at a scale; 0 if it does not fit.
func digitsOf(d types.Datum, scale uint8) uint8 {
	v, ok := d.(number.Decimal)
	if !ok {
		return 0
	}
	c, ok := v.Coefficient(int32(scale))
	if !ok {
		return 0
	}
	if c < 0 {
		c = -c
	}
	n := uint8(1)
	for c >= 10 {
		c /= 10
		n++
	}
	return n
}

func (w *narrower) items(items []plan.Item) ([]plan.Item, bool) {
	out := make([]plan.Item, len(items))
	changed := false
	for i, it := range items {
		e := w.expr(it.Expr)
		if e != it.Expr {
			changed = true
			it.Expr = e
			w.column(&it.Col, e.Type())
		}
		w.passed(it.Col.ID, e)
		out[i] = it
	}
	return out, changed
}

// column sets a column's physical representation to that of t and remembers it.
func (w *narrower) column(c *plan.Column, t types.Type) {
	if c.Type.OID != types.NumericOID || t.OID != types.NumericOID || c.Type.Prec == t.Prec && c.Type.Scale == t.Scale {
		return
	}
	c.Type.Prec, c.Type.Scale = t.Prec, t.Scale
	w.types[c.ID] = c.Type
}

func (w *narrower) aggregate(n *plan.Aggregate) plan.Node {
	c := *n
	groups, changed := w.items(n.Groups)
	c.Groups = groups
	c.Aggs = make([]plan.AggItem, len(n.Aggs))
	for i, a := range n.Aggs {
		call, ok := w.call(a.Call)
		changed = changed || ok
		a.Call = w.sum(call, n.Input)
		w.column(&a.Col, a.Call.Typ)
		w.chosen(a.Col.ID, a.Call)
		c.Aggs[i] = a
	}
	if changed {
		n = &c
	}
	return below(below(w.linearSums(n), w.sumQuotients), w.scaledSums)
}

// below applies a rule to the aggregate that is n, or below projections of what earlier rules computed in its place.
func below(n plan.Node, apply func(*plan.Aggregate) plan.Node) plan.Node {
	switch n := n.(type) {
	case *plan.Aggregate:
		return apply(n)
	case *plan.Project:
		return &plan.Project{Input: below(n.Input, apply), Items: n.Items}
	}
	return n
}

// sum represents the sum of a fixed numeric over the rows of in as fixed, if it fits for the greatest
// possible number of rows.
func (w *narrower) sum(c expr.AggCall, in plan.Node) expr.AggCall {
	if c.Fn.Name != "sum" || len(c.Args) != 1 || !c.Args[0].Type().IsFixed() || c.Typ.OID != types.NumericOID || c.Typ.IsFixed() {
		return c
	}
	t := c.Args[0].Type()
	digits := float64(t.Prec) + math.Ceil(math.Log10(max(props.MostRows(in, w.r.Env.Stats), 1)+1))
	if digits <= types.MaxFixedDigits {
		c.Typ = types.FixedNumeric(uint8(digits), t.Scale, false)
	}
	return c
}

func (w *narrower) window(n *plan.Window) plan.Node {
	c := *(plan.MapExprs(n, w.keep).(*plan.Window))
	c.Items = make([]plan.WindowItem, len(n.Items))
	for i, it := range n.Items {
		call, _ := w.call(it.Call)
		it.Call = w.sum(call, n.Input) // a frame has no more rows than there are
		w.column(&it.Col, it.Call.Typ)
		w.chosen(it.Col.ID, it.Call)
		off := func(e expr.Expr) expr.Expr {
			if e == nil {
				return nil
			}
			return w.keep(e)
		}
		it.Frame.Start.Offset, it.Frame.End.Offset = off(it.Frame.Start.Offset), off(it.Frame.End.Offset)
		c.Items[i] = it
	}
	return &c
}

// call binds an aggregate again.
func (w *narrower) call(c expr.AggCall) (expr.AggCall, bool) {
	if len(c.Args) == 0 && c.Filter == nil && len(c.OrderBy) == 0 {
		return c, false
	}
	if c.Filter != nil {
		c.Filter = w.expr(c.Filter)
	}
	c.OrderBy = slices.Clone(c.OrderBy)
	for i := range c.OrderBy {
		c.OrderBy[i].Expr = w.keep(c.OrderBy[i].Expr)
	}
	given := c.Args
	if c.Fn.Name == "avg" && len(given) == 1 && !c.Distinct {
		if o := w.oneScaleOf(given[0], meanDigits); o != nil {
			given = []expr.Expr{o.all}
		}
	}
	args, ret, ok := w.rebind(c.Fn, given, c.Typ)
	if !ok {
		args, ret = make([]expr.Expr, len(c.Args)), c.Typ
		for i, a := range c.Args {
			args[i] = w.keep(a)
		}
	} else if c.Fn.Ordered {
		for i := range c.OrderBy {
			c.OrderBy[i].Expr = args[c.Direct+i] // an ordered-set aggregate sorts its arguments themselves
		}
	}
	c.Args, c.Typ = args, ret
	return c, true
}

// rebind calls a function's Bind again for the new representation of its arguments. ok is false if the call
// should stay as it is.
func (w *narrower) rebind(f *fn.Func, args []expr.Expr, typ types.Type) (out []expr.Expr, ret types.Type, ok bool) {
	if f == nil || f.Bind == nil {
		return nil, typ, false
	}
	any := false
	raw := make([]expr.Expr, len(args))
	ts := make([]types.Type, len(args))
	for i, a := range args {
		if a.Type().OID == types.NumericOID {
			any = true
		}
		raw[i] = bare(w.expr(a))
		ts[i] = raw[i].Type()
	}
	if !any {
		return nil, typ, false
	}
	physical, ret := f.Bind(ts)
	if ret.OID != typ.OID || len(physical) != len(args) {
		return nil, typ, false
	}
	ret.Mod = typ.Mod
	out = make([]expr.Expr, len(args))
	for i, a := range raw {
		if a.Type().OID != physical[i].OID {
			return nil, typ, false
		}
		out[i] = rewrite.ToPhysical(a, physical[i])
	}
	return out, rewrite.RoundedType(f, out, ret), true
}

// bare removes casts that only change how a numeric is represented.
func bare(e expr.Expr) expr.Expr {
	for {
		c, ok := e.(*expr.Cast)
		if !ok || c.Typ.OID != types.NumericOID || c.Typ.Mod != -1 || c.Typ.IsFixed() || !c.Arg.Type().IsFixed() {
			return e
		}
		e = c.Arg
	}
}

// expr rewrites e over the new types; its own type may change with them.
func (w *narrower) expr(e expr.Expr) expr.Expr {
	switch e := e.(type) {
	case *expr.Col:
		if t, ok := w.types[e.ID]; ok && t != e.Typ && t.OID == e.Typ.OID {
			c := *e
			c.Typ.Prec, c.Typ.Scale = t.Prec, t.Scale
			return &c
		}
		return e
	case *expr.Const, *expr.Param:
		return e
	case *expr.Call:
		if t, ok := w.field(e); ok {
			c := *e.With([]expr.Expr{e.Args[0], w.keep(e.Args[1])}).(*expr.Call)
			c.Typ = t
			return &c
		}
		args, ret, ok := w.rebind(e.Fn, e.Args, e.Typ)
		if ok {
			if ret == e.Typ && rule.SameHeads(args, e.Args) {
				return e
			}
			c := *e
			c.Args, c.Typ = args, ret
			return &c
		}
	case *expr.Cast:
		arg := w.expr(e.Arg)
		if part := datePart(e.Typ, arg); part != nil {
			return part
		}
		if arg == e.Arg {
			return e
		}
		return e.With([]expr.Expr{arg})
	case *expr.IsNull:
		arg := w.expr(e.Arg)
		if arg == e.Arg {
			return e
		}
		return e.With([]expr.Expr{arg})
	case *expr.Distinct:
		if sides, _, ok := w.rebind(e.Eq, []expr.Expr{e.L, e.R}, types.Bool); ok {
			return e.With(sides)
		}
	case *expr.In:
		if in := w.member(e); in != nil {
			return in
		}
	case *expr.Case, *expr.Coalesce, *expr.MinMax:
		if c := w.choice(e); c != nil {
			return c
		}
	}
	return expr.MapChildren(e, w.keep)
}

// keep rewrites e but casts it to the physical representation that it had.
func (w *narrower) keep(e expr.Expr) expr.Expr {
	return rewrite.ToPhysical(w.expr(e), e.Type())
}

// setOp keeps the representations of inputs alike: where they differ now, all are cast back.
func (w *narrower) setOp(n *plan.SetOp) plan.Node {
	alike := make([]bool, len(n.Cols))
	cols := append([]plan.Column(nil), n.Cols...)
	for j := range n.Cols {
		alike[j] = true
		first := n.Inputs[0].Schema()[j].Type
		prec := first.Prec
		for _, in := range n.Inputs[1:] {
			t := in.Schema()[j].Type
			alike[j] = alike[j] && first.SamePhysical(t)
			prec = max(prec, t.Prec)
		}
		if alike[j] && first.OID == types.NumericOID {
			t := first
			t.Prec = prec
			w.column(&cols[j], t)
		}
	}
	c := *n
	c.Cols = cols
	c.Inputs = make([]plan.Node, len(n.Inputs))
	for i, in := range n.Inputs {
		s := in.Schema()
		want := append([]plan.Column(nil), s...)
		for j := range want {
			if !alike[j] {
				want[j].Type = n.Cols[j].Type
			}
		}
		c.Inputs[i] = rule.Restore(in, want)
	}
	return &c
}
