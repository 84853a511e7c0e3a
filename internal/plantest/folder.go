package plantest

import (
	"errors"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Folder folds the few constant expressions that the goldens use; the engine's
// evaluator is not available in this layer.
type Folder struct{}

var errNotConstant = errors.New("not a constant that the test knows")

func (Folder) Fold(e expr.Expr) (types.Datum, error) {
	switch e := e.(type) {
	case *expr.Const:
		return e.Val, nil
	case *expr.Cast:
		c, ok := e.Arg.(*expr.Const)
		if !ok {
			return nil, errNotConstant
		}
		return castDatum(c.Val, c.Typ, e.Typ)
	case *expr.Call:
		args := make([]types.Datum, len(e.Args))
		ts := make([]types.Type, len(e.Args))
		for i, a := range e.Args {
			c, ok := a.(*expr.Const)
			if !ok {
				return nil, errNotConstant
			}
			args[i], ts[i] = c.Val, c.Typ
		}
		return callDatum(e.Fn.Name, e.Op, args, ts, e.Typ)
	}
	return nil, errNotConstant
}

func castDatum(v types.Datum, from, to types.Type) (types.Datum, error) {
	if v == nil {
		return nil, nil
	}
	switch to.Class() {
	case types.ClassNumeric:
		switch x := v.(type) {
		case number.Decimal:
			return types.ApplyMod(to, x, true)
		case int64:
			return number.DecimalFromInt64(x, 0), nil
		}
	case types.ClassFloat:
		switch x := v.(type) {
		case number.Decimal:
			return x.Float64(), nil
		case int64:
			return float64(x), nil
		}
	case types.ClassTimestamp:
		if d, ok := v.(int64); ok && from.OID == types.DateOID {
			return d * microsPerDay, nil
		}
	}
	if to.OID == from.OID || from.IsInteger() && to.IsInteger() || from.IsString() && to.IsString() {
		return v, nil
	}
	return nil, errNotConstant
}

func callDatum(name, op string, args []types.Datum, ts []types.Type, ret types.Type) (types.Datum, error) {
	if len(args) != 2 {
		return nil, errNotConstant
	}
	if args[0] == nil || args[1] == nil {
		return nil, nil
	}
	switch op {
	case "=", "<>", "<", "<=", ">", ">=":
		c := types.Compare(ts[0], args[0], args[1])
		return map[string]bool{"=": c == 0, "<>": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[op], nil
	}
	if iv, ok := args[1].(datetime.Interval); ok {
		d, ok := args[0].(int64)
		if !ok || op != "+" && op != "-" {
			return nil, errNotConstant
		}
		if op == "-" {
			iv = datetime.Interval{Months: -iv.Months, Days: -iv.Days, Micros: -iv.Micros}
		}
		var rest int64
		if ts[0].OID != types.DateOID {
			d, rest = d/microsPerDay, d%microsPerDay
		}
		y, m, day := datetime.DateToYMD(d)
		m += int(iv.Months) - 1
		y, m = y+floorDiv(m, 12), m-12*floorDiv(m, 12)
		d = datetime.YMDToDate(y, m+1, day) + int64(iv.Days)
		return d*microsPerDay + rest + iv.Micros, nil
	}
	switch x := args[0].(type) {
	case int64:
		y, ok := args[1].(int64)
		if !ok {
			return nil, errNotConstant
		}
		switch op {
		case "+":
			return x + y, nil
		case "-":
			return x - y, nil
		case "*":
			return x * y, nil
		case "%":
			if y != 0 {
				return x % y, nil
			}
		case "/":
			if y != 0 {
				return x / y, nil
			}
			return nil, errors.New("division by zero")
		}
	case number.Decimal:
		y, ok := args[1].(number.Decimal)
		if !ok {
			return nil, errNotConstant
		}
		var z number.Decimal
		var err error
		switch op {
		case "+":
			z, err = x.Add(y)
		case "-":
			z, err = x.Sub(y)
		case "*":
			z, err = x.Mul(y)
		case "/":
			z, err = x.Div(y)
		default:
			return nil, errNotConstant
		}
		return z, err
	}
	return nil, errNotConstant
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

const microsPerDay = 24 * 3600 * 1_000_000
