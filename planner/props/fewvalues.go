package props

import (
	"math"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// fieldValues are how many values a field of a time has, those of the year aside.
var fieldValues = map[string]float64{
	"quarter": 4, "month": 12, "week": 53, "doy": 366, "day": 31, "dow": 7, "isodow": 7, "hour": 24, "minute": 60,
}

// unitDays are the lengths of the units that date_trunc knows.
var unitDays = map[string]float64{
	"hour": 1. / 24, "minute": 1. / 1440, "second": 1. / 86400, "day": 1, "week": 7, "month": 365. / 12, "quarter": 365. / 4,
	"year": 366, "decade": 3653, "century": 36525,
}

// most returns how many values a function at most has that folds many values to few; all rows where it is not known.
func (r *Relation) most(c *expr.Call) float64 {
	if c.Fn == nil || len(c.Args) == 0 {
		return r.Rows
	}
	var k types.Datum
	constant := func(i int) bool {
		x, ok := c.Args[i].(*expr.Const)
		if ok {
			k = x.Val
		}
		return ok && k != nil
	}
	switch {
	case len(c.Args) == 2 && (c.Fn.Name == "extract" || c.Fn.Name == "date_part") && constant(0):
		field, _ := k.(string)
		field = strings.ToLower(field)
		if n := fieldValues[field]; n > 0 {
			return n
		}
		if days := unitDays[field]; days >= unitDays["year"] {
			if n := r.units(c.Args[1], days); n < r.Rows {
				return n
			}
			return 10
		}
	case len(c.Args) == 2 && c.Fn.Name == "date_trunc" && constant(0):
		unit, _ := k.(string)
		if days := unitDays[strings.ToLower(unit)]; days > 0 {
			return r.units(c.Args[1], days)
		}
	case c.Op == "%" && len(c.Args) == 2 && constant(1):
		if by, ok := k.(int64); ok && by != 0 {
			return math.Abs(float64(by))
		}
	case c.Op == "/" && len(c.Args) == 2 && c.Typ.IsInteger() && constant(1):
		if by, ok := k.(int64); ok && by != 0 {
			return r.steps(c.Args[0], math.Abs(float64(by)))
		}
	case c.Fn.Name == "floor" || c.Fn.Name == "ceil" || c.Fn.Name == "ceiling" || c.Fn.Name == "round" || c.Fn.Name == "trunc":
		if len(c.Args) > 1 {
			break
		}
		step, e := 1.0, c.Args[0]
		if q, ok := e.(*expr.Call); ok && q.Op == "/" && len(q.Args) == 2 {
			by, ok := q.Args[1].(*expr.Const)
			if !ok || by.Val == nil {
				break
			}
			size, known := scalar(by.Val)
			if step = math.Abs(size); known && step > 0 {
				e = q.Args[0]
			}
		}
		return r.steps(e, step)
	}
	return r.Rows
}

// units returns how many units of some days a column of times has at most.
func (r *Relation) units(e expr.Expr, days float64) float64 {
	c, _, ok := r.col(e)
	if c.typ.OID != types.DateOID {
		days *= float64(datetime.MicrosPerDay)
	}
	lo, hi, known := bounds(c)
	if !ok || !known {
		return r.Rows
	}
	return math.Floor((hi-lo)/days) + 1
}

// steps returns how many multiples of step lie within a column's bounds.
func (r *Relation) steps(e expr.Expr, step float64) float64 {
	c, _, ok := r.col(e)
	lo, hi, known := bounds(c)
	if !ok || !known || !(step > 0) {
		return r.Rows
	}
	return math.Floor((hi-lo)/step) + 1
}

func bounds(c Column) (lo, hi float64, ok bool) {
	lo, ok1 := scalar(c.min)
	hi, ok2 := scalar(c.max)
	return lo, hi, ok1 && ok2
}
