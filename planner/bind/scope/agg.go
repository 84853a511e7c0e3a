package scope

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// EachCol calls f for the columns e reads, those of its subqueries included.
func (b *Binder) EachCol(e expr.Expr, f func(expr.ColID)) {
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col:
			f(x.ID)
		case *expr.Subquery:
			for _, id := range OuterCols(x.Plan.(plan.Node)) {
				f(id)
			}
		}
		return true
	})
}

// aggregate binds what decorates an aggregate call and adds it to the level it belongs to, or to a
// window.
func (sc *Scope) aggregate(n *ast.FuncCall, call expr.AggCall, p Place, pos typing.Position) (expr.Expr, error) {
	b := sc.Binder
	if n.AggFilter != nil {
		e, err := sc.Expr(n.AggFilter, Place{Name: "FILTER", agg: p.agg && n.Over != nil})
		if err != nil {
			return nil, err
		}
		if call.Filter, err = b.Boolean(e, "FILTER", b.SpotExpr(n.AggFilter)); err != nil {
			return nil, err
		}
	}
	var err error
	if call.OrderBy, err = sc.sortKeys(typing.Items(n.AggOrder), p); err != nil {
		return nil, err
	}
	if label, err := b.EnumExtreme(&call); err != nil {
		return nil, err
	} else if label != nil {
		if n.Over != nil {
			return label(sc.windowCall(n.Over, call, p, pos))
		}
		return label(sc.addAggregate(call, p, pos))
	}
	if err := b.EnumOrder(&call, pos); err != nil {
		return nil, err
	}
	if n.Over != nil {
		if call.Distinct {
			return nil, pgerr.Unsupported("DISTINCT is not implemented for window functions").At(pos.At())
		}
		if len(call.OrderBy) > 0 {
			return nil, pgerr.Unsupported("aggregate ORDER BY is not implemented for window functions").At(pos.At())
		}
		if call.Machine != nil {
			call.Machine.Arrival = true
		}
		return sc.windowCall(n.Over, call, p, pos)
	}
	if call.Distinct {
		for _, a := range call.Args {
			if err := b.Comparable(a.Type(), false, pos); err != nil {
				return nil, err
			}
		}
		for i, o := range call.OrderBy {
			hit := false
			for _, a := range call.Args {
				hit = hit || EqualExpr(stripCast(a), stripCast(o.Expr))
			}
			if !hit {
				return nil, pgerr.New(pgerr.InvalidColumnReference, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list").
					At(b.PosExpr(n.AggOrder.Items[i].(*ast.SortBy).Node))
			}
		}
	}
	return sc.addAggregate(call, p, pos)
}

// stripCast looks through a change of physical representation.
func stripCast(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Cast); ok && c.Arg.Type().OID == c.Typ.OID {
		return c.Arg
	}
	return e
}

// addAggregate finds the level of an aggregate and leaves its column behind.
func (sc *Scope) addAggregate(call expr.AggCall, p Place, pos typing.Position) (expr.Expr, error) {
	b := sc.Binder
	// It belongs to the innermost query whose columns it reads.
	var owner *Level
	visit := func(id expr.ColID) {
		if lv := b.Stmt.Owner[id]; lv != nil && (owner == nil || lv.Depth > owner.Depth) {
			owner = lv
		}
	}
	parts := append([]expr.Expr(nil), call.Args[call.Direct:]...)
	if call.Filter != nil {
		parts = append(parts, call.Filter)
	}
	for _, o := range call.OrderBy {
		parts = append(parts, o.Expr)
	}
	for _, e := range parts {
		b.EachCol(e, visit)
	}
	if owner == nil {
		owner = sc.Level
	}
	for _, d := range call.Args[:call.Direct] {
		lower := false
		b.EachCol(d, func(id expr.ColID) {
			lv := b.Stmt.Owner[id]
			lower = lower || lv != nil && owner != nil && lv.Depth > owner.Depth
		})
		if lower {
			return nil, pgerr.New(pgerr.GroupingError, "outer-level aggregate cannot contain a lower-level variable in its direct arguments").At(pos.At())
		}
		parts = append(parts, d)
	}
	// Whether it is allowed depends on its place in that query.
	for s := sc; s != nil && s.Level != owner; s = s.Parent {
		p = s.Place
	}
	if owner == nil || !p.agg {
		return nil, pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in %s", p.Name).At(pos.At())
	}
	if err := b.notNested('a', owner, parts, pos); err != nil {
		return nil, err
	}
	key := hashAgg(call)
	for _, a := range owner.aggAt[key] {
		if equalAgg(a.Item.Call, call) {
			return Col(a.Item.Col), nil
		}
	}
	c := b.NewCol(owner, call.Fn.Shown(), call.Typ)
	b.Stmt.Kind[c.ID] = 'a'
	a := &aggItem{Item: plan.AggItem{Col: c, Call: call}}
	owner.Aggs = append(owner.Aggs, a)
	if owner.aggAt == nil {
		owner.aggAt = map[uint64][]*aggItem{}
	}
	owner.aggAt[key] = append(owner.aggAt[key], a)
	return Col(c), nil
}

// orderedSet binds f(direct) WITHIN GROUP (ORDER BY aggregated).
func (sc *Scope) orderedSet(n *ast.FuncCall, inv *typing.Invocation, p Place) (expr.Expr, error) {
	b := sc.Binder
	keys, err := sc.sortKeys(typing.Items(n.AggOrder), p)
	if err != nil {
		return nil, err
	}
	known := false
	var hypothetical bool
	for _, f := range fn.Lookup(inv.Name) {
		if f.Kind == fn.Aggregate && f.Ordered {
			known, hypothetical = true, hypothetical || f.Hypothetical
		}
	}
	if !known {
		what := "an ordered-set aggregate"
		if fs := fn.Lookup(inv.Name); len(fs) > 0 {
			if fs[0].Kind == fn.Aggregate {
				return nil, pgerr.New(pgerr.WrongObjectType, "%s is not %s, so it cannot have WITHIN GROUP", inv.Name, what).At(inv.Pos.At())
			}
			return nil, pgerr.New(pgerr.WrongObjectType, "WITHIN GROUP specified, but %s is not an aggregate function", inv.Name).At(inv.Pos.At())
		}
	}
	if n.AggDistinct {
		return nil, pgerr.New(pgerr.SyntaxError, "cannot use DISTINCT with WITHIN GROUP").At(inv.Pos.At())
	}
	if n.Over != nil {
		return nil, pgerr.Unsupported("OVER is not supported for ordered-set aggregate %s", inv.Name).At(inv.Pos.At())
	}
	direct := len(inv.Args)
	for _, k := range keys {
		inv.Args, inv.Names = append(inv.Args, k.Expr), append(inv.Names, "")
	}
	pos := inv.Pos
	call := expr.AggCall{Direct: direct}
	if hypothetical {
		if direct != len(keys) {
			return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", b.Signature(inv.Name, inv.Args, nil)).
				WithHint("To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %d) must match the number of ordering columns (here %d).",
					inv.Name, direct, len(keys)).At(inv.Pos.At())
		}
		// Each direct argument is compared with its sort key.
		for i := range keys {
			pair, _, err := b.Unify("WITHIN GROUP", []expr.Expr{inv.Args[i], inv.Args[direct+i]}, inv.Pos)
			if err != nil {
				return nil, err
			}
			inv.Args[i], inv.Args[direct+i] = pair[0], pair[1]
		}
		for _, f := range fn.Lookup(inv.Name) {
			if f.Kind == fn.Aggregate && f.Hypothetical {
				call.Fn = f
			}
		}
		call.Args, call.Typ = inv.Args, types.Type{OID: call.Fn.Ret, Mod: -1}
	} else {
		var cands []typing.Candidate
		in := typing.OIDsOf(inv.Args)
		for _, f := range fn.Lookup(inv.Name) {
			if f.Kind != fn.Aggregate || !f.Ordered || len(f.Args) != len(in) {
				continue
			}
			c := typing.Candidate{Func: f, Args: f.Args}
			if b.Fits(in, &c) {
				cands = append(cands, c)
			}
		}
		if cands = b.Pick(in, cands); len(cands) != 1 {
			return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", b.Signature(inv.Name, inv.Args, nil)).
				WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(inv.Pos.At())
		}
		call.Fn = cands[0].Func
		if call.Args, call.Typ, err = b.Arguments(call.Fn, call.Fn.Args, inv.Args, inv.Pos); err != nil {
			return nil, err
		}
	}
	label, err := b.EnumOrdered(&call, pos)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		k.Expr = call.Args[direct+i]
		call.OrderBy = append(call.OrderBy, k)
	}
	if n.AggFilter != nil {
		e, err := sc.Expr(n.AggFilter, inFilter)
		if err != nil {
			return nil, err
		}
		if call.Filter, err = b.Boolean(e, "FILTER", b.SpotExpr(n.AggFilter)); err != nil {
			return nil, err
		}
	}
	if label != nil {
		return label(sc.addAggregate(call, p, pos))
	}
	return sc.addAggregate(call, p, pos)
}

// sortKeys binds an ORDER BY whose items are expressions and nothing else, as
// within aggregates and windows.
func (sc *Scope) sortKeys(list []ast.Node, p Place) ([]expr.Order, error) {
	var out []expr.Order
	for _, n := range list {
		s := n.(*ast.SortBy)
		e, err := sc.Expr(s.Node, p)
		if err != nil {
			return nil, err
		}
		if e, err = sc.Binder.ResolveUnknown(e); err != nil {
			return nil, err
		}
		o, err := sc.Binder.Order(e, s)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// notNested returns an error if the arguments of an aggregate ('a') or of a window function ('w') contain calls that
// the level computes and that may not be there.
func (b *Binder) notNested(kind byte, level *Level, args []expr.Expr, pos typing.Position) (err error) {
	what, code := "aggregate function calls", pgerr.GroupingError
	if kind == 'w' {
		what, code = "window function calls", pgerr.WindowingError
	}
	for _, a := range args {
		b.EachCol(a, func(id expr.ColID) {
			if b.Stmt.Owner[id] != level {
				return
			}
			switch b.Stmt.Kind[id] {
			case kind:
				err = pgerr.New(code, "%s cannot be nested", what).At(pos.At())
			case 'w':
				err = pgerr.New(code, "%s cannot contain window function calls", what).At(pos.At())
			case 's':
				err = pgerr.Unsupported("%s cannot contain set-returning function calls", what).
					WithHint("You might be able to move the set-returning function into a LATERAL FROM item.").At(pos.At())
			}
		})
	}
	return err
}
