package eval

import (
	"slices"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// harmless reports whether an expression may be computed for rows that do not need it, whatever they hold: it has no
// effect but its result and no value makes it fail. Unlike what is cheap it may take long.
func harmless(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col, *expr.Const, *expr.Param, *expr.IsNull, *expr.BoolTest, *expr.And, *expr.Or, *expr.Not,
			*expr.Case, *expr.Coalesce, *expr.MinMax:
		case *expr.In:
			ok = ok && !x.Eq.CanFail
		case *expr.Cast:
			ok = ok && widens(x.Arg.Type(), x.Typ)
		case *expr.Call:
			if total(x) {
				return false // so are its arguments
			}
			ok = ok && x.Fn.Vol == fn.Immutable && (!x.Fn.CanFail || partOfTime(x))
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// widens reports whether every number of one type is, perhaps rounded, one of another.
func widens(from, to types.Type) bool {
	switch {
	case to.OID == types.Float8OID:
		return from.IsInteger() || from.IsFloat() || from.IsFixed()
	case to.IsInteger():
		return from.IsInteger() && from.Form().Width() <= to.Form().Width()
	}
	return false
}

// partOfTime reports whether a call takes a part that every timestamp has.
func partOfTime(e *expr.Call) bool {
	if e.Fn.ID != "extract(text,timestamp)" && e.Fn.ID != "date_part(text,timestamp)" {
		return false
	}
	c, ok := e.Args[0].(*expr.Const)
	if !ok {
		return false
	}
	part, _ := c.Val.(string)
	return slices.Contains([]string{"year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "hour", "minute", "second", "epoch"}, part)
}

// a leaf is as fast for all rows as for some.
func leaf(n node) bool {
	switch n.(type) {
	case *colNode, *constNode, *paramNode:
		return true
	}
	return false
}

// optional is an expression whose rows are to be chosen: those that need it or, where that is harmless, all.
type optional struct {
	node
	harmless, light bool // light: choosing rows takes longer than computing the rest
}

func newOptional(n node, e expr.Expr) optional {
	return optional{node: n, harmless: harmless(e), light: leaf(n) || cheap(e)}
}

// whole reports whether to compute all rows of n where some are needed.
func (o *optional) whole(some, n int) bool {
	return o.harmless && (o.light || some > n/2)
}

// null reports whether it is NULL for all rows.
func (o *optional) null() bool {
	c, ok := o.node.(*constNode)
	return ok && c.v.AllNull()
}

// fixedWidth reports whether values of a kind lie side by side, each as wide as the others.
func fixedWidth(k vector.Kind) bool {
	switch k {
	case vector.Bool, vector.I16, vector.I32, vector.I64, vector.U32, vector.F32, vector.F64:
		return true
	}
	return false
}
