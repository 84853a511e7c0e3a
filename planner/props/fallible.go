package props

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Fallible reports whether computing e for the rows of n may fail: then it must not be computed for
// rows for which the statement does not.
func Fallible(e expr.Expr, n plan.Node, st Statistics) bool {
	bad := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col, *expr.Const, *expr.Param, *expr.Case, *expr.Coalesce, *expr.And, *expr.Or, *expr.Not, *expr.IsNull, *expr.BoolTest:
		case *expr.Call:
			bad = bad || (x.Fn.Vol != fn.Immutable || x.Fn.CanFail && !bounded(x, n) && !differenceFits(x, n, st) && !floatFits(x, n, st)) && !fits(x, n, st)
		case *expr.Cast:
			bad = bad || !Widens(x.Arg.Type(), x.Typ) && !(x.Arg.Type().OID == types.TimestampOID && x.Typ.OID == types.DateOID) && !fits(x, n, st)
		default:
			bad = true
		}
		return !bad
	})
	return bad
}

// bounded reports whether arithmetic is of numerics of so few digits that none is too large,
// a quotient by a constant being one.
func bounded(c *expr.Call, n plan.Node) bool {
	if slices.ContainsFunc(c.Args, func(e expr.Expr) bool { return !e.Type().IsFixed() && !averaged(e, n) }) {
		return false
	}
	switch c.Fn.Name {
	case "numeric_add", "numeric_sub", "numeric_mul", "abs":
		return true
	case "numeric_div":
		by, ok := c.Args[1].(*expr.Const)
		return ok && !zero(by)
	}
	return false
}

func zero(c *expr.Const) bool {
	d, ok := c.Val.(number.Decimal)
	return !ok || d.Sign() == 0
}

// averaged reports whether e is an average of numerics of few digits, as a node within n computes
// it.
func averaged(e expr.Expr, n plan.Node) bool {
	c, ok := rewrite.AsColumn(e)
	if !ok {
		return false
	}
	switch n := n.(type) {
	case *plan.Aggregate:
		return slices.ContainsFunc(n.Aggs, func(a plan.AggItem) bool {
			return a.Col.ID == c.ID && a.Call.Fn.Name == "avg" && a.Call.Args[0].Type().IsFixed()
		})
	case *plan.Project:
		return slices.ContainsFunc(n.Items, func(it plan.Item) bool { return it.Col.ID == c.ID && averaged(it.Expr, n.Input) })
	case *plan.Filter, *plan.Join, *plan.Sort, *plan.Limit:
		return slices.ContainsFunc(n.Children(), func(k plan.Node) bool { return plan.Emits(k)[c.ID] && averaged(e, k) })
	}
	return false
}

// Widens reports whether each value of a has one of b.
func Widens(a, b types.Type) bool {
	if a.OID == types.NumericOID {
		return b.OID == types.NumericOID && b.Mod < 0
	}
	return a.Rank() > 0 && a.Rank() <= b.Rank() && (b.OID != types.NumericOID || b.Mod < 0)
}
