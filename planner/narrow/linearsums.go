package narrow

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// linearRows is the least number of rows for each group for which sums of an expression pay: what is computed of
// a group may take as long as that of so many rows.
const linearRows = 8

// linearSums computes sums that are linear in one expression from its sum and its number of values:
//
//	sum(x + 1), sum(3 * x - 2), avg(x), count(x + 5)
//
//	s + n, 3 * s - 2 * n, s / n, n          of   s = sum(x), n = count(x), which have one state
//
// The results are the same, digits after the point too, as sums of integers and numerics are exact. That
// no row's arithmetic may fail must be known from the type of x, or from its bounds in this snapshot.
func (w *narrower) linearSums(n *plan.Aggregate) plan.Node {
	type part struct {
		agg  int
		form linear
	}
	type family struct {
		x       expr.Expr
		parts   []part
		forms   []expr.Expr // different arguments
		s, n    expr.Expr
		changed bool // there is a part that is not x itself
	}
	b := bounds{n.Input, w.r.Env.Stats}
	var all []*family
	for i, a := range n.Aggs {
		l, ok := b.call(a.Call)
		if !ok {
			continue
		}
		var f *family
		for _, have := range all {
			if rewrite.Same(have.x, l.x) && have.x.Type() == l.x.Type() {
				f = have
			}
		}
		if f == nil {
			f = &family{x: l.x}
			all = append(all, f)
		}
		f.parts = append(f.parts, part{i, l})
		f.changed = f.changed || !l.same()
		arg, known := a.Call.Args[0], false
		for _, e := range f.forms {
			known = known || rewrite.Same(e, arg)
		}
		if !known {
			f.forms = append(f.forms, arg)
		}
	}
	c := *n
	c.Aggs = nil
	made := map[int]expr.Expr{}
	rows := props.MostRows(n.Input, w.r.Env.Stats)
	var added []plan.AggItem
	for _, f := range all {
		if len(f.forms) < 2 || !f.changed {
			continue
		}
		add := func(name string, arg expr.Expr) expr.Expr {
			call := w.sum(rule.Aggregate(name, arg), n.Input)
			col := w.r.NewCol(name, call.Typ)
			added = append(added, plan.AggItem{Col: col, Call: call})
			return rewrite.ColOf(col)
		}
		f.s, f.n = add("sum", f.x), add("count", f.x)
		for _, p := range f.parts {
			a := n.Aggs[p.agg]
			switch a.Call.Fn.Name {
			case "count":
				made[p.agg] = f.n
			case "sum":
				made[p.agg] = p.form.sum(f.s, f.n, a.Col.Type, rows)
			default:
				made[p.agg] = quotient(p.form.sum(f.s, f.n, types.Numeric, rows), f.n)
			}
		}
	}
	if len(made) == 0 || !w.fewGroups(n, linearRows) {
		return n
	}
	for i, a := range n.Aggs {
		if made[i] == nil {
			c.Aggs = append(c.Aggs, a)
		}
	}
	c.Aggs = append(c.Aggs, added...)
	var items []plan.Item
	for _, col := range n.Schema() {
		it := rewrite.PassThrough(col)
		if i := slices.IndexFunc(n.Aggs, func(a plan.AggItem) bool { return a.Col.ID == col.ID }); i >= 0 && made[i] != nil {
			it.Expr = rewrite.CastTo(made[i], col.Type)
		}
		items = append(items, it)
	}
	return &plan.Project{Input: &c, Items: items}
}

// quotient is sum / n as avg computes it; NULL / 0 is NULL.
func quotient(sum, n expr.Expr) expr.Expr {
	over := rewrite.Operator("/", types.Numeric, types.Numeric)
	return rewrite.CallOf(over.Func, "/", rewrite.CastTo(sum, types.Numeric), rewrite.CastTo(n, types.Numeric))
}

// linear is a·x + b. lo and hi are the bounds of its values, where they are integers.
type linear struct {
	x      expr.Expr
	a, b   number.Decimal
	lo, hi number.Decimal
}

func whole(v int64) number.Decimal { return number.DecimalFromInt64(v, 0) }

func (l linear) same() bool { return isNumber(l.a, 1) && isNumber(l.b, 0) }

func isNumber(d number.Decimal, v int64) bool { return d.Scale() == 0 && d.Cmp(whole(v)) == 0 }

// sum returns Σ(a·x + b) of type t from Σx and n: in words where t is an integer and no step can leave
// them, of so many rows at most.
func (l linear) sum(s, n expr.Expr, t types.Type, rows float64) expr.Expr {
	in := types.Numeric
	if t.OID == types.Int8OID && l.x.Type().OID != types.Int8OID {
		most := max(l.lo.Abs().Float64(), l.hi.Abs().Float64())
		if b := l.b.Abs().Float64(); (most+2*b)*rows < 1<<62 && b < 1<<62 {
			in = types.Int8
		}
	}
	lit := func(d number.Decimal) expr.Expr {
		if v, ok := d.Int64(); ok && in.OID == types.Int8OID {
			return &expr.Const{Val: v, Typ: in}
		}
		return &expr.Const{Val: d, Typ: types.Numeric}
	}
	do := func(op string, x, y expr.Expr) expr.Expr {
		return rewrite.CallOf(rewrite.Operator(op, in, in).Func, op, rewrite.CastTo(x, in), rewrite.CastTo(y, in))
	}
	out := s
	if !isNumber(l.a, 1) {
		out = do("*", out, lit(l.a))
	}
	switch {
	case isNumber(l.b, 0):
	case isNumber(l.b, 1):
		out = do("+", out, n)
	default:
		out = do("+", out, do("*", lit(l.b), n))
	}
	return rewrite.CastTo(out, t)
}

// bounds finds those of expressions over the rows of a plan.
type bounds struct {
	of plan.Node
	st props.Statistics
}

// call returns what the argument of a call of sum, avg or count is, if it is exact.
func (w bounds) call(c expr.AggCall) (linear, bool) {
	switch c.Fn.Name {
	case "sum", "avg", "count":
	default:
		return linear{}, false
	}
	if len(c.Args) != 1 || c.Distinct || c.Filter != nil || len(c.OrderBy) > 0 || c.Direct > 0 || rewrite.IsVolatile(c.Args[0]) {
		return linear{}, false
	}
	t := c.Args[0].Type()
	if !t.IsInteger() && !t.IsFixed() || c.Fn.Name == "avg" && c.Typ.OID != types.NumericOID {
		return linear{}, false
	}
	return w.linear(c.Args[0]), true
}

// linear takes an integer or fixed numeric apart; what it cannot take apart is x.
func (w bounds) linear(e expr.Expr) linear {
	if l, ok := w.step(e); ok {
		return l
	}
	l := linear{x: e, a: whole(1), b: whole(0)}
	if lo, hi, ok := e.Type().IntRange(); ok {
		if x, y, known := props.IntRange(e, w.of, w.st); known {
			lo, hi = x, y
		}
		l.lo, l.hi = whole(lo), whole(hi)
	}
	return l
}

// step takes a cast, or an operation with a constant, apart.
func (w bounds) step(e expr.Expr) (linear, bool) {
	t := e.Type()
	if c, ok := e.(*expr.Cast); ok {
		from := c.Arg.Type()
		if t.IsInteger() && from.IsInteger() || t.IsFixed() && from.IsFixed() && from.Scale == t.Scale && c.Typ.Mod == -1 {
			l := w.linear(c.Arg)
			return l, l.within(t)
		}
		return linear{}, false
	}
	call, ok := e.(*expr.Call)
	if !ok || len(call.Args) != 2 || call.Fn == nil {
		return linear{}, false
	}
	for _, a := range call.Args {
		if a.Type().IsInteger() != t.IsInteger() || a.Type().IsFixed() != t.IsFixed() {
			return linear{}, false
		}
	}
	k, at := literal(call.Args[1]), 0
	if k == nil {
		if k, at = literal(call.Args[0]), 1; k == nil {
			return linear{}, false
		}
	}
	l := w.linear(call.Args[at])
	switch op := operation(call.Fn.Name); {
	case op == "+":
		l, ok = l.plus(*k)
	case op == "-" && at == 0:
		l, ok = l.plus(k.Neg())
	case op == "-":
		if l, ok = l.times(whole(-1)); ok {
			l, ok = l.plus(*k)
		}
	case op == "*":
		l, ok = l.times(*k)
	default:
		return linear{}, false
	}
	return l, ok && l.within(t)
}

// operation returns the operator of an arithmetic function of integers or numerics.
func operation(name string) string {
	kind, ok := strings.CutPrefix(name, "int")
	if !ok {
		return map[string]string{"numeric_add": "+", "numeric_sub": "-", "numeric_mul": "*"}[name]
	}
	return map[string]string{"pl": "+", "mi": "-", "mul": "*"}[strings.TrimLeft(kind, "248")]
}

// literal returns the number of a constant; nil if e is none.
func literal(e expr.Expr) *number.Decimal {
	c, ok := e.(*expr.Const)
	if !ok {
		return nil
	}
	switch v := c.Val.(type) {
	case int64:
		d := whole(v)
		return &d
	case number.Decimal:
		if v.IsFinite() {
			return &v
		}
	}
	return nil
}

// within reports whether the values of l are of type t; those of fixed numerics are, or they would not have it.
func (l linear) within(t types.Type) bool {
	lo, hi, ok := t.IntRange()
	return !ok || l.lo.Cmp(whole(lo)) >= 0 && l.hi.Cmp(whole(hi)) <= 0
}

func (l linear) plus(k number.Decimal) (linear, bool) {
	for _, to := range []*number.Decimal{&l.b, &l.lo, &l.hi} {
		d, err := to.Add(k)
		if err != nil {
			return l, false
		}
		*to = d
	}
	return l, true
}

func (l linear) times(k number.Decimal) (linear, bool) {
	for _, to := range []*number.Decimal{&l.a, &l.b, &l.lo, &l.hi} {
		d, err := to.Mul(k)
		if err != nil {
			return l, false
		}
		*to = d
	}
	if k.Sign() < 0 {
		l.lo, l.hi = l.hi, l.lo
	}
	return l, true
}
