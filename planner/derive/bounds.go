package derive

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// bounded derives conditions on a side of a join by a comparison with the other, whose conditions are known:
//
//	b.t <= a.t + '2 hours'  and  a.t < '15 March'      so  b.t <= '15 March 02:00'
//
// The right side of the comparison must grow with its column. have are conditions that are there already.
func bounded(r *rule.Run, c expr.Expr, side plan.ColSet, known, have []expr.Expr) []expr.Expr {
	op, x, e, ok := rewrite.Comparison(c)
	if !ok || op == "=" {
		return nil
	}
	if rewrite.Intersects(rewrite.ColumnsOf(e), side) {
		op, x, e = rewrite.Mirrored[op], e, x
	}
	if _, ok := rewrite.AsColumn(x); !ok || !rewrite.Subset(rewrite.ColumnsOf(x), side) || rewrite.Intersects(rewrite.ColumnsOf(e), side) {
		return nil
	}
	y, ok := growsWith(e)
	if !ok {
		return nil
	}
	var out rewrite.ExprSet
	all := rewrite.SetOf(have)
	f := &rule.Constants{R: r}
	for _, k := range known {
		limit, ok := limitOf(k, y, op[0])
		if !ok {
			continue
		}
		at, ok := f.Expr(rewrite.Subst(e, map[expr.ColID]expr.Expr{y.ID: limit})).(*expr.Const)
		if !ok || at.Val == nil {
			continue // beyond its type, perhaps: the comparison itself will tell
		}
		if d := rewrite.Compare(op, x, at); d != nil && !all.Has(d) {
			out.Add(d)
		}
	}
	return out.List
}

// growsWith returns the column with which e grows: a column, or one plus or minus a constant.
func growsWith(e expr.Expr) (*expr.Col, bool) {
	if c, ok := rewrite.AsColumn(e); ok {
		return c, ordinal(c.Typ)
	}
	call, ok := e.(*expr.Call)
	if !ok || len(call.Args) != 2 || call.Op != "+" && call.Op != "-" {
		return nil, false
	}
	c, ok := rewrite.AsColumn(call.Args[0])
	k, isConst := call.Args[1].(*expr.Const)
	if !ok || !isConst || k.Val == nil || !ordinal(c.Typ) {
		return nil, false
	}
	if d, ok := k.Val.(datetime.Interval); ok && c.Typ.OID == types.TimestamptzOID && (d.Months != 0 || d.Days != 0) {
		return nil, false // a day later in a zone is not always later: clocks are put back
	}
	return c, true
}

// ordinal reports whether values of a type are numbers, dates or times.
func ordinal(t types.Type) bool {
	switch t.OID {
	case types.DateOID, types.TimestampOID, types.TimestamptzOID, types.NumericOID:
		return true
	}
	return t.IsInteger() || t.IsFloat()
}

// limitOf reads a condition as an upper limit ('<') or a lower one ('>') of a column.
func limitOf(c expr.Expr, of *expr.Col, side byte) (*expr.Const, bool) {
	op, x, k, ok := rewrite.Comparison(c)
	if !ok {
		return nil, false
	}
	if rewrite.IsConstant(x) {
		op, x, k = rewrite.Mirrored[op], k, x
	}
	col, ok := rewrite.AsColumn(x)
	limit, isConst := k.(*expr.Const)
	if !ok || !isConst || col.ID != of.ID || limit.Val == nil {
		return nil, false
	}
	if limit.Typ.IsInteger() && of.Typ.OID == types.Int8OID {
		limit = &expr.Const{Val: limit.Val, Typ: of.Typ}
	}
	if !limit.Typ.SamePhysical(of.Typ) || limit.Typ.OID != of.Typ.OID {
		return nil, false
	}
	return limit, op == "=" || op[0] == side
}
