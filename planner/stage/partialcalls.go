package stage

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
)

// earlyCall is an aggregate call whose states are made below joins. Only states for which when is
// true are merged (nil: all):
//
//	γ week: sum(CASE WHEN day = 'Sunday' THEN price END), …
//
//	γ final week: s FILTER (WHERE day = 'Sunday'), …
//	└─ ⋈ days
//	   └─ γ partial date: s = sum(price)
type earlyCall struct {
	call expr.AggCall
	when expr.Expr
}

func plainCalls(n *plan.Aggregate) []earlyCall {
	out := make([]earlyCall, len(n.Aggs))
	for i, a := range n.Aggs {
		out[i].call = a.Call
	}
	return out
}

// lateCalls extracts the conditions of aggregates, all of which skip NULLs: a FILTER, and that of a
// CASE that is NULL otherwise. It returns nil where there are none.
func lateCalls(n *plan.Aggregate) []earlyCall {
	out, some := plainCalls(n), false
	for i := range out {
		c := &out[i]
		var conds []expr.Expr
		if c.call.Filter != nil {
			conds, c.call.Filter = append(conds, c.call.Filter), nil
		}
		if len(c.call.Args) == 1 {
			if cond, then := conditional(c.call.Args[0]); cond != nil {
				conds = append(conds, cond)
				c.call.Args = []expr.Expr{then}
			}
		}
		switch len(conds) {
		case 0:
			continue
		case 1:
			c.when = conds[0]
		default:
			c.when = &expr.And{Args: conds}
		}
		some = true
	}
	if !some {
		return nil
	}
	return out
}

// conditional returns the condition under which e is then, where e is NULL otherwise; nil for
// another expression.
func conditional(e expr.Expr) (cond, then expr.Expr) {
	switch e := e.(type) {
	case *expr.Case:
		if len(e.Whens) == 1 && isNull(e.Else) && e.Whens[0].Then.Type().SamePhysical(e.Typ) {
			return e.Whens[0].Cond, e.Whens[0].Then
		}
	case *expr.Cast:
		if !props.Widens(e.Arg.Type(), e.Typ) {
			break
		}
		if cond, then = conditional(e.Arg); cond != nil {
			then = e.With([]expr.Expr{then})
		}
	}
	return cond, then
}

func isNull(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return e == nil || ok && c.Val == nil
}

// sameCall reports whether calls over the same columns have the same states.
func sameCall(a, b expr.AggCall) bool {
	if a.Fn != b.Fn || a.Filter != nil || b.Filter != nil || len(a.Args) != len(b.Args) {
		return false
	}
	for i, x := range a.Args {
		l, lok := x.(*expr.Col)
		r, rok := b.Args[i].(*expr.Col)
		if !lok || !rok || l.ID != r.ID {
			return false
		}
	}
	return true
}
