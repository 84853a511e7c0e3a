package derive

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Differences compares a side of a join with the other one where a condition compares their difference with a
// constant. Rows are found by such a comparison, by keys or in an order:
//
//	b.ts - a.ts <= interval '1 hour'                b.ts <= a.ts + interval '1 hour'
//	extract(epoch FROM b.ts - a.ts) < 60            b.ts < a.ts + interval '1 minute'
//	abs(b.x - a.x) <= 5                             b.x <= a.x + 5 AND b.x >= a.x - 5
//	b.d - a.d = 7                                   b.d = a.d + 7
//
// Neither form may be able to fail. Differences of floats are rounded, so they stay.
func Differences(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		j, ok := n.(*plan.Join)
		if !ok {
			return n
		}
		on, changed := Sums(j.On, j, r.Statistics())
		if !changed {
			return n
		}
		out := *j
		out.On = on
		return &out
	}), nil
}

// Sums returns conditions over both sides of a join with comparisons of differences so written.
func Sums(conds []expr.Expr, j *plan.Join, st props.Statistics) (out []expr.Expr, changed bool) {
	for _, c := range rewrite.SplitAll(conds) {
		if sums := sumsOf(c, j, st); sums != nil {
			out, changed = append(out, sums...), true
		} else {
			out = append(out, c)
		}
	}
	return out, changed
}

// sumsOf returns what a condition of a join says of one side and the other; nil where it does not compare a difference.
func sumsOf(c expr.Expr, j *plan.Join, st props.Statistics) []expr.Expr {
	op, d, at, ok := rewrite.Comparison(c)
	if !ok {
		return nil
	}
	if _, isConst := d.(*expr.Const); isConst {
		op, d, at = rewrite.Mirrored[op], at, d
	}
	by, ok := constantOf(at)
	if !ok {
		return nil
	}
	both := false
	if call, ok := d.(*expr.Call); ok && call.Fn.Name == "abs" && len(call.Args) == 1 && op[0] == '<' {
		d, both = call.Args[0], true
	}
	if name, of, ok := rewrite.FieldCall(d); ok && name == "epoch" {
		seconds, isNumber := by.Val.(number.Decimal)
		micros, fits := seconds.Coefficient(6)
		if !isNumber || !fits {
			return nil
		}
		d, by = of, expr.Const{Val: datetime.Interval{Micros: micros}, Typ: types.Type{OID: types.IntervalOID, Mod: -1}}
	}
	diff, ok := d.(*expr.Call)
	if !ok || diff.Op != "-" || len(diff.Args) != 2 || props.Fallible(diff, j, st) {
		return nil
	}
	x, y := diff.Args[0], diff.Args[1]
	l, r := plan.Emits(j.L), plan.Emits(j.R)
	xs, ys := rewrite.ColumnsOf(x), rewrite.ColumnsOf(y)
	if len(xs) == 0 || len(ys) == 0 || !(rewrite.Subset(xs, l) && rewrite.Subset(ys, r) || rewrite.Subset(xs, r) && rewrite.Subset(ys, l)) {
		return nil
	}
	shift, ok := shiftOf(x.Type(), y.Type(), by)
	if !ok {
		return nil
	}
	sums := []expr.Expr{compareSum(op, x, y, shift, j, st)}
	if both {
		shift, ok = shift.negated()
		if !ok {
			return nil
		}
		sums = append(sums, compareSum(rewrite.Mirrored[op], x, y, shift, j, st))
	}
	for _, s := range sums {
		if s == nil {
			return nil
		}
	}
	return sums
}

// constantOf returns a constant, without casts of numerics to other digits.
func constantOf(e expr.Expr) (expr.Const, bool) {
	for {
		c, ok := e.(*expr.Cast)
		if !ok || c.Typ.OID != types.NumericOID || c.Arg.Type().OID != types.NumericOID {
			break
		}
		e = c.Arg
	}
	k, ok := e.(*expr.Const)
	if !ok || k.Val == nil {
		return expr.Const{}, false
	}
	return *k, true
}

// distance is what is added to a value.
type distance struct {
	by  int64 // or microseconds
	typ types.Type
}

// shiftOf returns a constant that a difference of two types is compared with as what is added to a value of the second.
func shiftOf(x, y types.Type, by expr.Const) (d distance, ok bool) {
	n, isInt := by.Val.(int64)
	switch {
	case x.IsInteger() && y.IsInteger():
		return distance{n, by.Typ}, isInt && by.Typ.IsInteger()
	case x.OID != y.OID:
		return d, false
	case x.OID == types.DateOID:
		return distance{n, types.Int4}, isInt && int64(int32(n)) == n
	case x.OID == types.TimestampOID || x.OID == types.TimestamptzOID:
		// Between two timestamps a day is 24 hours.
		i, isInterval := by.Val.(datetime.Interval)
		micros, fits := checked.Add(int64(i.Days)*datetime.MicrosPerDay, i.Micros)
		return distance{micros, by.Typ}, isInterval && fits && i.Months == 0
	}
	return d, false
}

func (d distance) negated() (distance, bool) {
	n, ok := checked.Sub(0, d.by)
	return distance{n, d.typ}, ok
}

// compareSum makes x op y + d, or x - d op y; nil where both can fail.
func compareSum(op string, x, y expr.Expr, d distance, j *plan.Join, st props.Statistics) expr.Expr {
	plus, minus := "+", "-"
	if minusD, ok := d.negated(); ok && d.by < 0 {
		plus, minus, d = minus, plus, minusD
	}
	k := &expr.Const{Val: d.by, Typ: d.typ}
	if d.typ.OID == types.IntervalOID {
		k.Val = datetime.Interval{Micros: d.by}
	}
	if e := sum(plus, y, k); e != nil && !props.Fallible(e, j, st) {
		return rewrite.Compare(op, x, e)
	}
	if e := sum(minus, x, k); e != nil && !props.Fallible(e, j, st) {
		return rewrite.Compare(op, e, y)
	}
	return nil
}

func sum(op string, e expr.Expr, k *expr.Const) expr.Expr {
	if k.Val == int64(0) || k.Val == (datetime.Interval{}) {
		return e
	}
	return rewrite.Compare(op, e, k)
}
