package props

import (
	"math"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// fitsRange reports whether integer arithmetic e over columns of n overflows for no row of the
// snapshot, by the bounds of the columns: differences of dates' keys and the like. It covers the
// rows that joins and conditions drop, too.
func fitsRange(e expr.Expr, n plan.Node, st Statistics) bool {
	if e.Type().OID == types.DateOID {
		return dateFits(e, n, st)
	}
	_, _, ok := IntRange(e, n, st)
	return ok
}

// dateFits reports whether a column of dates plus or minus days is a date for all rows.
func dateFits(e expr.Expr, n plan.Node, st Statistics) bool {
	c, ok := e.(*expr.Call)
	if !ok || c.Fn.ID != "date_pli(date,int4)" && c.Fn.ID != "date_mii(date,int4)" {
		return false
	}
	col, ok := rewrite.AsColumn(c.Args[0])
	if !ok {
		return false
	}
	lo, hi, ok := scanBounds(n, col.ID, st)
	from, to, known := IntRange(c.Args[1], n, st)
	if !ok || !known || datetime.IsInfDate(lo) || datetime.IsInfDate(hi) {
		return false
	}
	if c.Fn.ID == "date_mii(date,int4)" {
		from, to = -to, -from
	}
	return datetime.ValidDate(lo+from) && datetime.ValidDate(hi+to)
}

// stampFits reports whether a column of timestamps plus or minus a constant interval is a timestamp for all rows, whatever
// the session's time zone: days and months of a timestamptz would depend on it.
func stampFits(e *expr.Call, n plan.Node, st Statistics) bool {
	switch e.Fn.ID {
	case "timestamp_pl_interval(timestamp,interval)", "timestamp_mi_interval(timestamp,interval)":
	case "timestamptz_pl_interval(timestamptz,interval)", "timestamptz_mi_interval(timestamptz,interval)":
	default:
		return false
	}
	col, ok := rewrite.AsColumn(e.Args[0])
	by, isConst := e.Args[1].(*expr.Const)
	if !ok || !isConst {
		return false
	}
	shift, ok := by.Val.(datetime.Interval)
	if !ok || e.Typ.OID == types.TimestamptzOID && (shift.Days != 0 || shift.Months != 0) {
		return false
	}
	lo, hi, ok := scanBounds(n, col.ID, st)
	// A thousand years of each part, and far more for all of them than an interval so short has.
	const months, days, most = 12_000, 400_000, 1_500_000 * datetime.MicrosPerDay
	if !ok || max(shift.Months, -shift.Months) > months || max(shift.Days, -shift.Days) > days || max(shift.Micros, -shift.Micros) > days*datetime.MicrosPerDay {
		return false
	}
	last, fits := checked.Add(hi, most)
	return fits && datetime.ValidTimestamp(last) && datetime.ValidTimestamp(lo) && datetime.ValidTimestamp(lo-most)
}

// differenceFits reports whether the difference of two columns of dates or timestamps is of finite ones.
func differenceFits(e *expr.Call, n plan.Node, st Statistics) bool {
	valid := datetime.ValidTimestamp
	switch e.Fn.ID {
	case "date_mi(date,date)":
		valid = datetime.ValidDate
	case "timestamp_mi(timestamp,timestamp)", "timestamptz_mi(timestamptz,timestamptz)":
	default:
		return false
	}
	for _, x := range e.Args {
		col, ok := rewrite.AsColumn(x)
		if !ok {
			return false
		}
		if lo, hi, ok := scanBounds(n, col.ID, st); !ok || !valid(lo) || !valid(hi) {
			return false
		}
	}
	return true
}

// floatFits reports whether a column of floats plus, minus or times a constant is neither too large nor, for a product,
// too small for all rows.
func floatFits(e *expr.Call, n plan.Node, st Statistics) bool {
	if len(e.Args) != 2 {
		return false
	}
	col, ok := rewrite.AsColumn(e.Args[0])
	by, isConst := e.Args[1].(*expr.Const)
	if !ok || !isConst {
		return false
	}
	k, ok := by.Val.(float64)
	k = math.Abs(k)
	switch e.Fn.ID {
	case "float8pl(float8,float8)", "float8mi(float8,float8)":
		ok = ok && k <= mostFloat
	case "float8mul(float8,float8)":
		ok = ok && k > 0.5 && k <= 1e6
	default:
		return false
	}
	cs, found := scanColumn(n, col.ID, st)
	lo, lok := cs.Min.(float64)
	hi, hok := cs.Max.(float64)
	return ok && found && cs.Bounds && lok && hok && lo >= -mostFloat && hi <= mostFloat
}

// mostFloat is far from the greatest float.
const mostFloat = 1e300

// IntRange returns the least and the greatest value that integer arithmetic e over columns of n may have, NULL apart, by the bounds
// of the columns; false where it may overflow, or where the bounds are not known.
func IntRange(e expr.Expr, n plan.Node, st Statistics) (lo, hi int64, ok bool) {
	a, b, isInt := e.Type().IntRange()
	if !isInt {
		return 0, 0, false
	}
	switch e := e.(type) {
	case *expr.Const:
		lo, ok = e.Val.(int64)
		hi = lo
	case *expr.Col:
		lo, hi, ok = scanBounds(n, e.ID, st)
	case *expr.Cast:
		lo, hi, ok = IntRange(e.Arg, n, st)
	case *expr.Call:
		if len(e.Args) != 2 {
			return 0, 0, false
		}
		l0, l1, lok := IntRange(e.Args[0], n, st)
		r0, r1, rok := IntRange(e.Args[1], n, st)
		var first, second bool
		switch e.Op {
		case "+":
			lo, first = checked.Add(l0, r0)
			hi, second = checked.Add(l1, r1)
		case "-":
			lo, first = checked.Sub(l0, r1)
			hi, second = checked.Sub(l1, r0)
		}
		ok = lok && rok && first && second
	}
	return lo, hi, ok && lo >= a && hi <= b
}

// scanBounds returns those of a column that a scan within n reads.
func scanBounds(n plan.Node, id expr.ColID, st Statistics) (lo, hi int64, ok bool) {
	cs, found := scanColumn(n, id, st)
	lo, lok := cs.Min.(int64)
	hi, hok := cs.Max.(int64)
	return lo, hi, found && lok && hok && cs.Bounds
}

// scanColumn returns what is known of a column that a scan within n reads.
func scanColumn(n plan.Node, id expr.ColID, st Statistics) (ColStats, bool) {
	if s, isScan := n.(*plan.Scan); isScan {
		for _, c := range s.Cols {
			if t := st.Table(s.Table); c.ID == id && t != nil {
				return t.Col(c.Num)
			}
		}
	}
	for _, k := range n.Children() {
		if cs, ok := scanColumn(k, id, st); ok {
			return cs, true
		}
	}
	return ColStats{}, false
}
