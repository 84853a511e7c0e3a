package props

import (
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// Filled returns statistics that know the rows of buffers, too.
func Filled(st Statistics, buffers map[int]*Buffer) Statistics {
	if len(buffers) == 0 {
		return st
	}
	return filled{st, buffers}
}

type filled struct {
	Statistics
	buffers map[int]*Buffer
}

// valueBounds returns the least and the greatest value that e over columns of n may have, NULL apart, where it is of integers,
// dates or timestamps; false where it may fail or be infinite, or where the bounds are not known. All that it knows of grows
// or falls with its columns.
func valueBounds(e expr.Expr, n plan.Node, st Statistics) (lo, hi int64, ok bool) {
	switch e := e.(type) {
	case *expr.Const:
		lo, ok = e.Val.(int64)
		hi = lo
	case *expr.Col:
		lo, hi, ok = columnBounds(n, e.ID, st)
	case *expr.Cast:
		lo, hi, ok = castBounds(e, n, st)
	case *expr.Call:
		lo, hi, ok = callBounds(e, n, st)
	}
	t := e.Type()
	valid := func(int64) bool { return false }
	switch a, b, isInt := t.IntRange(); {
	case isInt:
		valid = func(v int64) bool { return v >= a && v <= b }
	case t.OID == types.DateOID:
		valid = datetime.ValidDate
	case t.OID == types.TimestampOID, t.OID == types.TimestamptzOID:
		valid = datetime.ValidTimestamp
	}
	return lo, hi, ok && valid(lo) && valid(hi)
}

func castBounds(e *expr.Cast, n plan.Node, st Statistics) (lo, hi int64, ok bool) {
	from, to := e.Arg.Type(), e.Typ
	if lo, hi, ok = valueBounds(e.Arg, n, st); !ok {
		return 0, 0, false
	}
	switch {
	case from.IsInteger() && to.IsInteger():
		return lo, hi, true
	case from.OID == types.TimestampOID && to.OID == types.DateOID:
		return datetime.TimestampToDate(lo), datetime.TimestampToDate(hi), true
	case from.OID == types.DateOID && to.OID == types.TimestampOID && to.Mod < 0:
		return both(lo, hi, datetime.DateToTimestamp)
	}
	return 0, 0, false
}

// both applies a function that grows to two bounds.
func both(lo, hi int64, f func(int64) (int64, error)) (a, b int64, ok bool) {
	a, err := f(lo)
	if err != nil {
		return 0, 0, false
	}
	b, err = f(hi)
	return a, b, err == nil
}

func callBounds(e *expr.Call, n plan.Node, st Statistics) (lo, hi int64, ok bool) {
	if len(e.Args) != 2 {
		return 0, 0, false
	}
	x, y := e.Args[0], e.Args[1]
	switch e.Fn.ID {
	case "interval_pl_date(interval,date)", "interval_pl_timestamp(interval,timestamp)":
		x, y = y, x
		fallthrough
	case "date_pl_interval(date,interval)", "date_mi_interval(date,interval)", "timestamp_pl_interval(timestamp,interval)",
		"timestamp_mi_interval(timestamp,interval)", "timestamptz_pl_interval(timestamptz,interval)", "timestamptz_mi_interval(timestamptz,interval)":
		return shifted(x, y, e, n, st)
	case "date_trunc(text,timestamp)":
		k, isConst := x.(*expr.Const)
		if !isConst {
			return 0, 0, false
		}
		unit, isText := k.Val.(string)
		if lo, hi, ok = valueBounds(y, n, st); !ok || !isText {
			return 0, 0, false
		}
		return both(lo, hi, func(v int64) (int64, error) { return datetime.DateTrunc(unit, v, nil) })
	}
	if whole := func(t types.Type) bool { return t.IsInteger() || t.OID == types.DateOID }; !whole(x.Type()) || !whole(y.Type()) || !whole(e.Typ) {
		return 0, 0, false
	}
	l0, l1, lok := valueBounds(x, n, st)
	r0, r1, rok := valueBounds(y, n, st)
	var first, second bool
	op := e.Op
	switch e.Fn.ID {
	case "date_pli(date,int4)", "integer_pl_date(int4,date)":
		op = "+"
	case "date_mii(date,int4)", "date_mi(date,date)":
		op = "-"
	}
	switch op {
	case "+":
		lo, first = checked.Add(l0, r0)
		hi, second = checked.Add(l1, r1)
	case "-":
		lo, first = checked.Sub(l0, r1)
		hi, second = checked.Sub(l1, r0)
	}
	return lo, hi, lok && rok && first && second
}

// shifted returns the bounds of x, a date or a timestamp, plus or minus a constant interval, whatever the session's time
// zone: days and months of a timestamptz would depend on it.
func shifted(x, y expr.Expr, e *expr.Call, n plan.Node, st Statistics) (lo, hi int64, ok bool) {
	k, isConst := y.(*expr.Const)
	if !isConst {
		return 0, 0, false
	}
	by, isInterval := k.Val.(datetime.Interval)
	if lo, hi, ok = valueBounds(x, n, st); !ok || !isInterval || x.Type().OID == types.TimestamptzOID && (by.Days != 0 || by.Months != 0) {
		return 0, 0, false
	}
	return both(lo, hi, func(v int64) (int64, error) {
		if x.Type().OID == types.DateOID {
			var err error
			if v, err = datetime.DateToTimestamp(v); err != nil {
				return 0, err
			}
		}
		if strings.Contains(e.Fn.Name, "_mi_") {
			return datetime.TimestampSubInterval(v, by, nil)
		}
		return datetime.TimestampAddInterval(v, by, nil)
	})
}

// columnBounds returns those of a column that n emits or reads, where it is made.
func columnBounds(n plan.Node, id expr.ColID, st Statistics) (lo, hi int64, ok bool) {
	switch n := n.(type) {
	case *plan.Scan:
		cs, found := scanColumn(n, id, st)
		lo, lok := cs.Min.(int64)
		hi, hok := cs.Max.(int64)
		return lo, hi, found && lok && hok && cs.Bounds
	case *plan.Project:
		for _, it := range n.Items {
			if it.Col.ID == id {
				return valueBounds(it.Expr, n.Input, st)
			}
		}
	case *plan.Aggregate:
		for _, g := range n.Groups {
			if g.Col.ID == id {
				return valueBounds(g.Expr, n.Input, st)
			}
		}
		for _, a := range n.Aggs {
			if f := a.Call.Fn.Name; a.Col.ID == id && n.Phase == plan.AggSingle && (f == "min" || f == "max") {
				return valueBounds(a.Call.Args[0], n.Input, st)
			}
		}
	case *plan.SetOp:
		return setBounds(n, id, st)
	case *plan.Buffer:
		f, _ := st.(filled)
		b := f.buffers[n.ID]
		for i, c := range n.Cols {
			if c.ID == id && b != nil && b.Root != nil {
				return columnBounds(b.Root, b.Root.Schema()[i].ID, st)
			}
		}
	case *plan.FuncScan:
		for _, c := range n.Calls {
			if len(c.Cols) == 1 && c.Cols[0].ID == id {
				return seriesBounds(c, n, st)
			}
		}
	}
	for _, k := range n.Children() {
		if lo, hi, ok = columnBounds(k, id, st); ok {
			return lo, hi, true
		}
	}
	return 0, 0, false
}

// setBounds is columnBounds of a column of a set operation.
func setBounds(n *plan.SetOp, id expr.ColID, st Statistics) (lo, hi int64, ok bool) {
	for at, c := range n.Cols {
		if c.ID != id {
			continue
		}
		for i, in := range n.Inputs {
			a, b, known := columnBounds(in, in.Schema()[at].ID, st)
			if !known {
				return 0, 0, false
			}
			if i == 0 {
				lo, hi = a, b
			}
			lo, hi = min(lo, a), max(hi, b)
		}
		return lo, hi, true
	}
	return 0, 0, false
}

// seriesBounds returns those of generate_series() of constants: its values are between the first two.
func seriesBounds(c plan.SetCall, n plan.Node, st Statistics) (lo, hi int64, ok bool) {
	if c.Fn.Name != "generate_series" || len(c.Args) < 2 {
		return 0, 0, false
	}
	a, _, first := valueBounds(c.Args[0], n, st)
	b, _, last := valueBounds(c.Args[1], n, st)
	return min(a, b), max(a, b), first && last
}
