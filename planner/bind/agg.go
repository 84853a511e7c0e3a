package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// eachCol calls f for the columns e reads, those of its subqueries included.
func (b *binder) eachCol(e expr.Expr, f func(expr.ColID)) {
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col:
			f(x.ID)
		case *expr.Subquery:
			for _, id := range outerCols(x.Plan.(plan.Node)) {
				f(id)
			}
		}
		return true
	})
}

// aggregate binds what decorates an aggregate call and gives it to the level
// it belongs to, or to a window.
func (sc *scope) aggregate(n *ast.FuncCall, call expr.AggCall, p place, pos spot) (expr.Expr, error) {
	b := sc.b
	if n.AggFilter != nil {
		e, err := sc.expr(n.AggFilter, place{name: "FILTER", agg: p.agg && n.Over != nil})
		if err != nil {
			return nil, err
		}
		if call.Filter, err = b.boolean(e, "FILTER", b.spotExpr(n.AggFilter)); err != nil {
			return nil, err
		}
	}
	var err error
	if call.OrderBy, err = sc.sortKeys(items(n.AggOrder), p); err != nil {
		return nil, err
	}
	if label, err := b.enumExtreme(&call); err != nil {
		return nil, err
	} else if label != nil {
		if n.Over != nil {
			return label(sc.windowCall(n.Over, call, p, pos))
		}
		return label(sc.addAggregate(call, p, pos))
	}
	if err := b.enumOrder(&call, pos); err != nil {
		return nil, err
	}
	if n.Over != nil {
		if call.Distinct {
			return nil, pgerr.Unsupported("DISTINCT is not implemented for window functions").At(pos.at())
		}
		if len(call.OrderBy) > 0 {
			return nil, pgerr.Unsupported("aggregate ORDER BY is not implemented for window functions").At(pos.at())
		}
		return sc.windowCall(n.Over, call, p, pos)
	}
	if call.Distinct {
		for _, a := range call.Args {
			if err := b.comparable(a.Type(), false, pos); err != nil {
				return nil, err
			}
		}
		for i, o := range call.OrderBy {
			hit := false
			for _, a := range call.Args {
				hit = hit || equalExpr(stripCast(a), stripCast(o.Expr))
			}
			if !hit {
				return nil, pgerr.New(pgerr.InvalidColumnReference, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list").
					At(b.posExpr(n.AggOrder.Items[i].(*ast.SortBy).Node))
			}
		}
	}
	return sc.addAggregate(call, p, pos)
}

// stripCast looks through a change of carriage.
func stripCast(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Cast); ok && c.Arg.Type().OID == c.Typ.OID {
		return c.Arg
	}
	return e
}

// addAggregate finds the level of an aggregate and leaves its column behind.
func (sc *scope) addAggregate(call expr.AggCall, p place, pos spot) (expr.Expr, error) {
	b := sc.b
	// It belongs to the innermost query whose columns it reads.
	var owner *level
	visit := func(id expr.ColID) {
		if lv := b.st.owner[id]; lv != nil && (owner == nil || lv.depth > owner.depth) {
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
		b.eachCol(e, visit)
	}
	if owner == nil {
		owner = sc.lv
	}
	for _, d := range call.Args[:call.Direct] {
		lower := false
		b.eachCol(d, func(id expr.ColID) {
			lv := b.st.owner[id]
			lower = lower || lv != nil && owner != nil && lv.depth > owner.depth
		})
		if lower {
			return nil, pgerr.New(pgerr.GroupingError, "outer-level aggregate cannot contain a lower-level variable in its direct arguments").At(pos.at())
		}
		parts = append(parts, d)
	}
	// Whether it is allowed is a matter of where it stands in that query.
	for s := sc; s != nil && s.lv != owner; s = s.parent {
		p = s.at
	}
	if owner == nil || !p.agg {
		return nil, pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in %s", p.name).At(pos.at())
	}
	var nested error
	for _, e := range parts {
		b.eachCol(e, func(id expr.ColID) {
			if b.st.owner[id] != owner {
				return
			}
			switch b.st.kind[id] {
			case 'a':
				nested = pgerr.New(pgerr.GroupingError, "aggregate function calls cannot be nested").At(pos.at())
			case 'w':
				nested = pgerr.New(pgerr.GroupingError, "aggregate function calls cannot contain window function calls").At(pos.at())
			case 's':
				nested = pgerr.Unsupported("aggregate function calls cannot contain set-returning function calls").
					WithHint("You might be able to move the set-returning function into a LATERAL FROM item.").At(pos.at())
			}
		})
	}
	if nested != nil {
		return nil, nested
	}
	key := hashAgg(call)
	for _, a := range owner.aggAt[key] {
		if equalAgg(a.item.Call, call) {
			return col(a.item.Col), nil
		}
	}
	c := b.newCol(owner, call.Fn.Name, call.Typ)
	b.st.kind[c.ID] = 'a'
	a := &aggItem{item: plan.AggItem{Col: c, Call: call}}
	owner.aggs = append(owner.aggs, a)
	if owner.aggAt == nil {
		owner.aggAt = map[uint64][]*aggItem{}
	}
	owner.aggAt[key] = append(owner.aggAt[key], a)
	return col(c), nil
}

// orderedSet binds f(direct) WITHIN GROUP (ORDER BY aggregated).
func (sc *scope) orderedSet(n *ast.FuncCall, inv *invocation, p place) (expr.Expr, error) {
	b := sc.b
	keys, err := sc.sortKeys(items(n.AggOrder), p)
	if err != nil {
		return nil, err
	}
	known := false
	var hypothetical bool
	for _, f := range fn.Lookup(inv.name) {
		if f.Kind == fn.Aggregate && f.Ordered {
			known, hypothetical = true, hypothetical || f.Hypothetical
		}
	}
	if !known {
		what := "an ordered-set aggregate"
		if fs := fn.Lookup(inv.name); len(fs) > 0 {
			if fs[0].Kind == fn.Aggregate {
				return nil, pgerr.New(pgerr.WrongObjectType, "%s is not %s, so it cannot have WITHIN GROUP", inv.name, what).At(inv.pos.at())
			}
			return nil, pgerr.New(pgerr.WrongObjectType, "WITHIN GROUP specified, but %s is not an aggregate function", inv.name).At(inv.pos.at())
		}
	}
	if n.AggDistinct {
		return nil, pgerr.New(pgerr.SyntaxError, "cannot use DISTINCT with WITHIN GROUP").At(inv.pos.at())
	}
	if n.Over != nil {
		return nil, pgerr.Unsupported("OVER is not supported for ordered-set aggregate %s", inv.name).At(inv.pos.at())
	}
	direct := len(inv.args)
	for _, k := range keys {
		inv.args, inv.names = append(inv.args, k.Expr), append(inv.names, "")
	}
	pos := inv.pos
	call := expr.AggCall{Direct: direct}
	if hypothetical {
		if direct != len(keys) {
			return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", b.signature(inv.name, inv.args, nil)).
				WithHint("To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %d) must match the number of ordering columns (here %d).",
					inv.name, direct, len(keys)).At(inv.pos.at())
		}
		// Each direct argument is compared with its sort key.
		for i := range keys {
			pair, _, err := b.unify("WITHIN GROUP", []expr.Expr{inv.args[i], inv.args[direct+i]}, inv.pos)
			if err != nil {
				return nil, err
			}
			inv.args[i], inv.args[direct+i] = pair[0], pair[1]
		}
		for _, f := range fn.Lookup(inv.name) {
			if f.Kind == fn.Aggregate && f.Hypothetical {
				call.Fn = f
			}
		}
		call.Args, call.Typ = inv.args, types.Type{OID: call.Fn.Ret, Mod: -1}
	} else {
		var cands []cand
		in := oidsOf(inv.args)
		for _, f := range fn.Lookup(inv.name) {
			if f.Kind != fn.Aggregate || !f.Ordered || len(f.Args) != len(in) {
				continue
			}
			c := cand{f: f, args: f.Args}
			if b.fits(in, &c) {
				cands = append(cands, c)
			}
		}
		if cands = b.pick(in, cands); len(cands) != 1 {
			return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", b.signature(inv.name, inv.args, nil)).
				WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(inv.pos.at())
		}
		call.Fn = cands[0].f
		if call.Args, call.Typ, err = b.arguments(call.Fn, call.Fn.Args, inv.args, inv.pos); err != nil {
			return nil, err
		}
	}
	label, err := b.enumOrdered(&call, pos)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		k.Expr = call.Args[direct+i]
		call.OrderBy = append(call.OrderBy, k)
	}
	if n.AggFilter != nil {
		e, err := sc.expr(n.AggFilter, inFilter)
		if err != nil {
			return nil, err
		}
		if call.Filter, err = b.boolean(e, "FILTER", b.spotExpr(n.AggFilter)); err != nil {
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
func (sc *scope) sortKeys(list []ast.Node, p place) ([]expr.Order, error) {
	var out []expr.Order
	for _, n := range list {
		s := n.(*ast.SortBy)
		e, err := sc.expr(s.Node, p)
		if err != nil {
			return nil, err
		}
		if e, err = sc.b.known(e); err != nil {
			return nil, err
		}
		o, err := sc.b.order(e, s)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// order is a sort key with the direction written.
func (b *binder) order(e expr.Expr, s *ast.SortBy) (expr.Order, error) {
	o := expr.Order{Expr: e}
	switch s.SortbyDir {
	case ast.SORTBY_DESC:
		o.Desc = true
	case ast.SORTBY_USING:
		switch opName(s.UseOp) {
		case "<":
		case ">":
			o.Desc = true
		default:
			return o, pgerr.New(pgerr.WrongObjectType, "operator %s is not a valid ordering operator", opName(s.UseOp)).
				WithHint("Ordering operators must be \"<\" or \">\" members of btree operator families.").At(b.posOp(opName(s.UseOp)))
		}
	}
	if err := b.comparable(e.Type(), true, b.spotExpr(s.Node)); err != nil {
		return o, err
	}
	switch s.SortbyNulls {
	case ast.SORTBY_NULLS_FIRST:
		o.NullsFirst = true
	case ast.SORTBY_NULLS_DEFAULT:
		o.NullsFirst = o.Desc
	}
	return o, nil
}
