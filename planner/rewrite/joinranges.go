package rewrite

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// JoinRange is a condition of a join by which its right rows can be found in an order: a right value is at least, or at
// most, a left one.
type JoinRange struct {
	Cond        expr.Expr
	Left, Right *expr.Col
	AtLeast     bool
}

// RangeSides reads a comparison of an expression over right columns with one over left ones, of types in whose order rows
// can be found.
func RangeSides(cond expr.Expr, l, r plan.ColSet) (op string, right, left expr.Expr, ok bool) {
	op, a, b, ok := Comparison(cond)
	if !ok || op == "=" {
		return "", nil, nil, false
	}
	over := func(e expr.Expr, of plan.ColSet) bool {
		cols := ColumnsOf(e)
		return len(cols) > 0 && Subset(cols, of)
	}
	if !over(a, r) {
		op, a, b = Mirrored[op], b, a
	}
	return op, a, b, over(a, r) && over(b, l) && orderedAlike(b.Type(), a.Type())
}

// LongLists is how many right rows of a key there must be on average for ranges to find them in an order.
const LongLists = 8

// JoinRanges returns those of a join's conditions that are ranges of a right column in left ones.
func JoinRanges(j *plan.Join) (out []JoinRange) {
	if j.Kind == plan.Mark {
		return nil // whose NULLs come from pairs that do not match
	}
	l, r := plan.Emits(j.L), plan.Emits(j.R)
	for _, cond := range slices.Concat(j.Residual, j.On) {
		op, a, b, ok := RangeSides(cond, l, r)
		right, plain := AsColumn(a)
		left, both := AsColumn(b)
		if ok && plain && both {
			out = append(out, JoinRange{cond, left, right, op[0] == '>'})
		}
	}
	return out
}

// orderedAlike reports whether columns of two types are numbers of 64 bits at most, which compare as the values do.
func orderedAlike(a, b types.Type) bool {
	switch {
	case a.IsInteger() && b.IsInteger(), a.IsFloat() && b.IsFloat():
		return true
	case a.IsFixed():
		return a.SamePhysical(b)
	}
	switch a.OID {
	case types.DateOID, types.TimestampOID, types.TimestamptzOID, types.TimeOID:
		return a.OID == b.OID
	}
	return false
}
