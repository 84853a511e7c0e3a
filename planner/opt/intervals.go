package opt

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// interval is the condition of an arm of a disjunction that an expression lies between two
// constants. A bound is the comparison that it comes from; nil for none.
type interval struct{ low, high *bound }

type bound struct {
	call *expr.Call
	at   *expr.Const
	open bool // the constant itself is outside
}

// joinIntervals unites arms that are intervals of one expression:
//
//	x BETWEEN 5 AND 10 OR x BETWEEN 1 AND 6     x BETWEEN 1 AND 10
//
// which scans then read as bounds. Arms that meet or overlap are one; nil if none
// are, or if the arms are something else.
func joinIntervals(arms []expr.Expr) expr.Expr {
	var of expr.Expr
	var all []interval
	for _, a := range arms {
		e, i, ok := intervalOf(a)
		if !ok || of != nil && (!rewrite.Same(of, e) || of.Type() != e.Type()) {
			return nil
		}
		of = e
		all = append(all, i)
	}
	slices.SortStableFunc(all, func(a, b interval) int { return compareLow(a.low, b.low) })
	out := all[:1]
	for _, next := range all[1:] {
		if last := &out[len(out)-1]; meets(last.high, next.low) {
			if compareHigh(next.high, last.high) > 0 {
				last.high = next.high
			}
		} else {
			out = append(out, next)
		}
	}
	if len(out) == len(arms) {
		return nil
	}
	var list []expr.Expr
	for _, i := range out {
		var conds []expr.Expr
		for _, b := range []*bound{i.low, i.high} {
			if b != nil {
				conds = append(conds, b.call)
			}
		}
		if len(conds) == 0 {
			return nil // whatever is not NULL
		}
		list = append(list, rewrite.AndOf(conds))
	}
	return rewrite.OrOf(list)
}

// intervalOf reads an arm: at most one bound of each side.
func intervalOf(arm expr.Expr) (of expr.Expr, i interval, ok bool) {
	for _, c := range rewrite.Conjuncts(nil, arm) {
		call, isCall := c.(*expr.Call)
		if !isCall || len(call.Args) != 2 {
			return nil, i, false
		}
		op, e, k := call.Op, call.Args[0], call.Args[1]
		if rewrite.IsConstant(e) {
			op, e, k = rewrite.Mirrored[op], k, e
		}
		at, isConst := k.(*expr.Const)
		if !isConst || at.Val == nil || !ordered(at.Typ) || at.Typ.OID != e.Type().OID || rewrite.IsVolatile(e) || of != nil && !rewrite.Same(of, e) {
			return nil, i, false
		}
		of = e
		b := &bound{call: call, at: at, open: op == "<" || op == ">"}
		switch {
		case (op == ">" || op == ">=") && i.low == nil:
			i.low = b
		case (op == "<" || op == "<=") && i.high == nil:
			i.high = b
		default:
			return nil, i, false
		}
	}
	return of, i, of != nil
}

// ordered reports whether t is one of the types whose constants the planner compares as their operators do.
func ordered(t types.Type) bool { return t.IsNumber() && !t.IsFloat() || t.IsStamp() }

// compareLow orders by where intervals begin; nil is before all.
func compareLow(a, b *bound) int {
	if a == nil || b == nil {
		return none(b) - none(a)
	}
	if c := types.Compare(a.at.Typ, a.at.Val, b.at.Val); c != 0 || a.open == b.open {
		return c
	}
	if a.open {
		return 1
	}
	return -1
}

// compareHigh orders by where intervals end; nil is after all.
func compareHigh(a, b *bound) int {
	if a == nil || b == nil {
		return none(a) - none(b)
	}
	if c := types.Compare(a.at.Typ, a.at.Val, b.at.Val); c != 0 || a.open == b.open {
		return c
	}
	if a.open {
		return -1
	}
	return 1
}

// meets reports whether there is nothing between an end and a beginning.
func meets(high, low *bound) bool {
	if high == nil || low == nil {
		return true
	}
	c := types.Compare(low.at.Typ, low.at.Val, high.at.Val)
	return c < 0 || c == 0 && !(low.open && high.open)
}

func none(b *bound) int {
	if b == nil {
		return 1
	}
	return 0
}
