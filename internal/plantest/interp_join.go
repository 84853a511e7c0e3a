package plantest

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// call makes a call with its arguments represented as the function wants them.
func call(f *fn.Func, op string, args ...expr.Expr) expr.Expr {
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	ret := types.Bool
	if f.Bind != nil {
		var physical []types.Type
		physical, ret = f.Bind(ts)
		for i, a := range args {
			if t := a.Type(); t.OID == physical[i].OID && (t.IsFixed() != physical[i].IsFixed() || t.Scale != physical[i].Scale) {
				args[i] = &expr.Cast{Arg: a, Typ: physical[i]}
			}
		}
	}
	return &expr.Call{Fn: f, Op: op, Args: args, Typ: ret}
}

// equalKeys is SQL's = of two values.
func equalKeys(t types.Type, a, b types.Datum) types.Datum {
	if a == nil || b == nil {
		return nil
	}
	return types.Compare(t, a, b) == 0
}

// match evaluates a join's condition for a pair: whether its keys are equal, and the
// condition's value.
func (in *Interp) match(n *plan.Join, r Row) (candidate bool, v types.Datum, err error) {
	v, err = in.and(n.On, r)
	if err != nil {
		return false, nil, err
	}
	candidate = true
	var keys types.Datum = true
	for i := range n.LKeys {
		a, err := in.Eval(n.LKeys[i], r)
		if err != nil {
			return false, nil, err
		}
		b, err := in.Eval(n.RKeys[i], r)
		if err != nil {
			return false, nil, err
		}
		var eq types.Datum
		if n.NullSafe[i] {
			eq = (a == nil) == (b == nil) && (a == nil || types.Compare(n.LKeys[i].Type(), a, b) == 0)
		} else {
			eq = equalKeys(n.LKeys[i].Type(), a, b)
		}
		if eq == false {
			keys = false
		} else if eq == nil && keys == true {
			keys = nil
		}
	}
	candidate = keys == true
	if keys == false {
		return false, false, nil
	}
	res, err := in.and(n.Residual, r)
	if err != nil {
		return false, nil, err
	}
	return candidate, and3(and3(v, keys), res), nil
}

func and3(a, b types.Datum) types.Datum {
	switch {
	case a == false || b == false:
		return false
	case a == nil || b == nil:
		return nil
	}
	return true
}

func nulls(n plan.Node) Row {
	r := Row{}
	for _, c := range n.Schema() {
		r[c.ID] = nil
	}
	return r
}

func (in *Interp) join(n *plan.Join, l []Row, right func(Row) ([]Row, error), outer Row) ([]Row, error) {
	var out []Row
	var rights []Row
	matched := map[int]bool{}
	for _, lr := range l {
		rows, err := right(lr)
		if err != nil {
			return nil, err
		}
		rights = rows
		hits := 0
		var mark types.Datum = false
		unknown := false
		one := false
		if n.Kind == plan.Mark {
			one = len(n.LKeys) == 1 && !n.NullSafe[0] && len(n.Residual) == 0
		}
		for i, rr := range rows {
			cand, v, err := in.match(n, merge(outer, lr, rr))
			if err != nil {
				return nil, err
			}
			if v == nil {
				unknown = true
			}
			if n.Kind == plan.Mark && (cand || one || len(n.LKeys) == 0) {
				if v == true {
					mark = true
				} else if v == nil && mark == false {
					mark = nil
				}
			}
			if v != true {
				continue
			}
			hits++
			matched[i] = true
			switch n.Kind {
			case plan.Inner, plan.Left, plan.Right, plan.Full:
				out = append(out, merge(lr, rr))
			case plan.Single:
				if hits > 1 {
					return nil, pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")
				}
				out = append(out, merge(lr, rr))
			}
		}
		switch n.Kind {
		case plan.Left, plan.Full, plan.Single:
			if hits == 0 {
				out = append(out, merge(lr, nulls(n.R)))
			}
		case plan.Semi:
			if hits > 0 {
				out = append(out, lr)
			}
		case plan.Anti:
			if hits == 0 {
				out = append(out, lr)
			}
		case plan.AntiNull:
			if hits == 0 && !unknown {
				out = append(out, lr)
			}
		case plan.Mark:
			m := merge(lr)
			m[n.MarkCol] = mark
			out = append(out, m)
		}
	}
	if n.Kind == plan.Right || n.Kind == plan.Full || n.Kind == plan.RightSemi || n.Kind == plan.RightAnti {
		if len(l) == 0 {
			var err error
			if rights, err = right(nil); err != nil {
				return nil, err
			}
		}
		for i, rr := range rights {
			switch {
			case n.Kind == plan.RightSemi && matched[i], n.Kind == plan.RightAnti && !matched[i]:
				out = append(out, rr)
			case (n.Kind == plan.Right || n.Kind == plan.Full) && !matched[i]:
				out = append(out, merge(nulls(n.L), rr))
			}
		}
	}
	return out, nil
}
