package narrow

import (
	"time"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// extract returns numeric, which is of variable length. An hour, a month or a second with its fraction has so few
// digits that an int64 holds it, and groups of it are groups of integers. Years and epochs do so where the column
// has no infinity, of which they would be infinite too.

// bounded notes the bounds of a column of dates or timestamps.
func (w *narrower) bounded(c plan.Column, cs props.ColStats) {
	infinite := datetime.IsInfTimestamp
	if c.Type.OID == types.DateOID {
		infinite = datetime.IsInfDate
	}
	lo, ok1 := cs.Min.(int64)
	hi, ok2 := cs.Max.(int64)
	if ok1 && ok2 && !infinite(lo) && !infinite(hi) {
		w.finite[c.ID] = [2]int64{lo, hi}
	}
}

// passed notes that a column has the values of an expression, or none.
func (w *narrower) passed(to expr.ColID, e expr.Expr) {
	if b, ok := w.finiteOf(e); ok {
		w.finite[to] = b
	}
}

// finiteOf returns bounds of the dates or timestamps of an expression, where these are finite: of a column, a cast
// of one kind to another, and what such values are cut to.
func (w *narrower) finiteOf(e expr.Expr) (b [2]int64, ok bool) {
	const (
		day  = datetime.MicrosPerDay
		most = datetime.MaxTimestamp / 2
	)
	switch e := e.(type) {
	case *expr.Col:
		b, ok = w.finite[e.ID]
	case *expr.Cast:
		to, from := e.Typ, e.Arg.Type()
		if b, ok = w.finiteOf(e.Arg); !ok || to.Mod >= 0 || to.OID == from.OID {
			return b, ok && to.OID == from.OID
		}
		switch date, fromDate := to.OID == types.DateOID, from.OID == types.DateOID; {
		case !date && !to.IsStamp():
			return b, false
		case date:
			return [2]int64{b[0]/day - 2, b[1]/day + 2}, true // a zone is less than a day from UTC
		case fromDate:
			return [2]int64{(b[0] - 1) * day, (b[1] + 1) * day}, b[0] > -most/day && b[1] < most/day
		}
		return [2]int64{b[0] - day, b[1] + day}, b[0] > -most && b[1] < most
	case *expr.Call:
		if e.Fn == nil || e.Fn.Name != "date_trunc" || len(e.Args) < 2 || !e.Typ.IsStamp() || e.Args[1].Type().OID != e.Typ.OID {
			return b, false
		}
		b, ok = w.finiteOf(e.Args[1])
		return [2]int64{b[0] - 366_001*day, b[1] + day}, ok && b[0] > -most && b[1] < most // a millennium at most
	}
	return b, ok
}

// chosen notes that an aggregate or window function returns one of the values of its argument.
func (w *narrower) chosen(to expr.ColID, c expr.AggCall) {
	if c.Machine != nil {
		return
	}
	switch c.Fn.Name {
	case "min", "max", "first_value", "last_value", "nth_value":
		w.passed(to, c.Args[0])
	case "lag", "lead":
		if len(c.Args) < 3 {
			w.passed(to, c.Args[0])
		}
	}
}

// between returns the fixed numeric that holds the seconds between any two values of two columns.
func (w *narrower) between(e expr.Expr) (types.Type, bool) {
	c, ok := e.(*expr.Call)
	if !ok || c.Fn == nil || c.Fn.ID != "timestamp_mi(timestamp,timestamp)" && c.Fn.ID != "timestamptz_mi(timestamptz,timestamptz)" {
		return types.Type{}, false
	}
	const most = 999_999_999_999_999_999 / 2
	for _, a := range c.Args {
		col, ok := a.(*expr.Col)
		if !ok {
			return types.Type{}, false
		}
		if b, finite := w.finite[col.ID]; !finite || b[0] < -most || b[1] > most {
			return types.Type{}, false
		}
	}
	return types.FixedNumeric(types.MaxFixedDigits, 6, false), true
}

// field returns the fixed numeric that holds what extract returns.
func (w *narrower) field(e *expr.Call) (types.Type, bool) {
	name, of, ok := rewrite.FieldCall(e)
	if !ok || e.Typ.IsFixed() {
		return types.Type{}, false
	}
	if datetime.IsEpoch(name) {
		if t, ok := w.between(of); ok {
			t.Mod = e.Typ.Mod
			return t, true
		}
	}
	f, ok := types.FieldOf(name, of.Type(), time.UTC)
	if !ok {
		return types.Type{}, false
	}
	digits := f.Digits
	if !f.Periodic {
		b, bounded := w.finiteOf(of)
		const most = 999_999_999_999_999_999
		if !bounded || digits == 0 && (b[0] < -most || b[1] > most) {
			return types.Type{}, false
		}
		if digits == 0 {
			digits = types.MaxFixedDigits
		}
	}
	t := types.FixedNumeric(max(digits, uint8(f.Scale)), uint8(f.Scale), false)
	t.Mod = e.Typ.Mod
	return t, true
}

// member makes IN of constants that of a fixed numeric, which is that of integers; nil where it is no such IN.
func (w *narrower) member(e *expr.In) expr.Expr {
	if e.Arg.Type().OID != types.NumericOID || e.Arg.Type().IsFixed() || !rewrite.ConstantsOf(e.List, types.NumericOID) {
		return nil
	}
	if arg := bare(w.expr(e.Arg)); arg.Type().IsFixed() {
		return e.With(append([]expr.Expr{arg}, e.List...))
	}
	return nil
}

// datePart makes extract(field FROM value)::float8 date_part(field, value), which is the same without a numeric;
// nil for anything else.
func datePart(to types.Type, arg expr.Expr) expr.Expr {
	name, of, ok := rewrite.FieldCall(arg)
	if !ok || to.OID != types.Float8OID {
		return nil
	}
	call := arg.(*expr.Call)
	if _, whole := types.FieldOf(name, of.Type(), time.UTC); !whole && of.Type().OID != types.IntervalOID {
		return nil // it may be an error, which differs
	}
	for _, f := range fn.Lookup("date_part") {
		if len(f.Args) == 2 && f.Args[1] == call.Fn.Args[1] {
			return &expr.Call{Fn: f, Args: call.Args, Typ: types.Float8}
		}
	}
	return nil
}
