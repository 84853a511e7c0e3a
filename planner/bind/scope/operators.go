package scope

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// aExpr binds operators and the predicates with a syntax of their own.
func (sc *Scope) aExpr(n *ast.A_Expr, p Place) (expr.Expr, error) {
	b := sc.Binder
	_, op, err := b.ObjectName(n.Name, b.SpotOp)
	if err != nil {
		return nil, err
	}
	switch n.Kind {
	case ast.AEXPR_OP_ANY, ast.AEXPR_OP_ALL:
		return sc.anyAll(n, op, p)
	case ast.AEXPR_DISTINCT, ast.AEXPR_NOT_DISTINCT:
		return sc.distinct(n, p)
	case ast.AEXPR_NULLIF:
		return sc.nullIf(n, p)
	case ast.AEXPR_IN:
		return sc.in(n, p)
	case ast.AEXPR_BETWEEN, ast.AEXPR_NOT_BETWEEN, ast.AEXPR_BETWEEN_SYM, ast.AEXPR_NOT_BETWEEN_SYM:
		return sc.between(n, p)
	}
	if n.Lexpr == nil {
		if op == "-" {
			if e, ok, err := b.Negate(n.Rexpr); ok || err != nil {
				return e, err
			}
		}
		r, err := sc.Expr(n.Rexpr, p)
		if err != nil {
			return nil, err
		}
		return b.Operator(op, nil, r, typing.Position{})
	}
	lrow, _ := typing.Unparen(n.Lexpr).(*ast.RowExpr)
	rrow, _ := typing.Unparen(n.Rexpr).(*ast.RowExpr)
	if lrow != nil {
		if sub, ok := typing.Unparen(n.Rexpr).(*ast.SubLink); ok && sub.SubLinkType == ast.EXPR_SUBLINK {
			return b.Stmt.Nested.RowSubquery(sc, op, lrow, sub, p)
		}
		if rrow != nil {
			return sc.rowCompare(op, lrow, rrow, p)
		}
	}
	l, err := sc.Expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	r, err := sc.Expr(n.Rexpr, p)
	if err != nil {
		return nil, err
	}
	return b.Operator(op, l, r, typing.Position{})
}

// rowCompare compares two row constructors field by field.
func (sc *Scope) rowCompare(op string, l, r *ast.RowExpr, p Place) (expr.Expr, error) {
	ls, err := sc.RowItems(typing.Items(l.Args), p)
	if err != nil {
		return nil, err
	}
	rs, err := sc.RowItems(typing.Items(r.Args), p)
	if err != nil {
		return nil, err
	}
	return sc.Binder.CompareRows(op, ls, rs)
}

// anyAll binds x op ANY|ALL (array).
func (sc *Scope) anyAll(n *ast.A_Expr, op string, p Place) (expr.Expr, error) {
	b := sc.Binder
	l, err := sc.Expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	r, err := sc.Expr(n.Rexpr, p)
	if err != nil {
		return nil, err
	}
	pos := b.SpotOp(op)
	rt := r.Type()
	var el types.Type
	if rt.OID == types.UnknownOID {
		el = types.Unknown
	} else if e, ok := b.Elem(rt); ok {
		el = e
	} else {
		return nil, pgerr.New(pgerr.WrongObjectType, "op ANY/ALL (array) requires array on right side").At(pos.At())
	}
	// A NULL of the element's type stands for an element.
	probe := &expr.Const{Typ: el}
	call, err := b.Operator(op, l, probe, pos)
	if err != nil {
		return nil, err
	}
	c := call.(*expr.Call)
	if c.Typ.OID != types.BoolOID {
		return nil, pgerr.New(pgerr.WrongObjectType, "op ANY/ALL (array) requires operator to yield boolean").At(pos.At())
	}
	want := c.Args[1].Type()
	if typing.TextLike(el.OID) && typing.TextLike(want.OID) {
		want = el
	}
	at, ok := b.ArrayOf(want)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.TypeName(want)).At(pos.At())
	}
	if r, err = b.Coerce(r, at, fn.ImplicitCast, typing.Position{}); err != nil {
		return nil, err
	}
	r = b.AsPhysical(r, at)
	return &expr.AnyAll{Arg: c.Args[0], Array: r, Fn: c.Fn, All: n.Kind == ast.AEXPR_OP_ALL, Op: op}, nil
}

// distinct binds IS [NOT] DISTINCT FROM.
func (sc *Scope) distinct(n *ast.A_Expr, p Place) (expr.Expr, error) {
	b := sc.Binder
	not := n.Kind == ast.AEXPR_NOT_DISTINCT
	lrow, _ := typing.Unparen(n.Lexpr).(*ast.RowExpr)
	rrow, _ := typing.Unparen(n.Rexpr).(*ast.RowExpr)
	pos := b.SpotWord("distinct")
	if lrow != nil && rrow != nil {
		ls, err := sc.RowItems(typing.Items(lrow.Args), p)
		if err != nil {
			return nil, err
		}
		rs, err := sc.RowItems(typing.Items(rrow.Args), p)
		if err != nil {
			return nil, err
		}
		if len(ls) != len(rs) {
			return nil, pgerr.New(pgerr.SyntaxError, "unequal number of entries in row expressions").At(pos.At())
		}
		var args []expr.Expr
		for i := range ls {
			e, err := b.DistinctFrom(ls[i], rs[i], not, pos)
			if err != nil {
				return nil, err
			}
			args = append(args, e)
		}
		switch {
		case len(args) == 1:
			return args[0], nil
		case len(args) == 0:
			return &expr.Const{Val: not, Typ: types.Bool}, nil
		case not:
			return &expr.And{Args: args}, nil
		}
		return &expr.Or{Args: args}, nil
	}
	l, err := sc.Expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	r, err := sc.Expr(n.Rexpr, p)
	if err != nil {
		return nil, err
	}
	return b.DistinctFrom(l, r, not, pos)
}

// nullIf is CASE WHEN a = b THEN NULL ELSE a END.
func (sc *Scope) nullIf(n *ast.A_Expr, p Place) (expr.Expr, error) {
	l, err := sc.Expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	r, err := sc.Expr(n.Rexpr, p)
	if err != nil {
		return nil, err
	}
	e, err := sc.Binder.Operator("=", l, r, sc.Binder.SpotWord("nullif"))
	if err != nil {
		return nil, err
	}
	// The value has the type in which it is compared, but its own number of digits: digits that the
	// comparison adds must not be visible.
	res, err := sc.Rebind(l, n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	if compared := e.(*expr.Call).Args[0].Type(); res.Type().OID != compared.OID {
		if res, err = sc.Binder.Coerce(res, types.Type{OID: compared.OID, Mod: -1}, fn.ImplicitCast, typing.Position{}); err != nil {
			return nil, err
		}
	}
	return &expr.Case{Whens: []expr.When{{Cond: e, Then: &expr.Const{Typ: res.Type()}}}, Else: res, Typ: res.Type()}, nil
}

// between binds the four BETWEENs to comparisons.
func (sc *Scope) between(n *ast.A_Expr, p Place) (expr.Expr, error) {
	b := sc.Binder
	list, ok := n.Rexpr.(*ast.NodeList)
	if !ok || len(list.Items) != 2 {
		return nil, pgerr.Internal("BETWEEN without two bounds")
	}
	pos := b.SpotWord("between")
	pair := func(lo, hi ast.Node) (expr.Expr, error) {
		var out [2]expr.Expr
		row, _ := typing.Unparen(n.Lexpr).(*ast.RowExpr)
		for i, bound := range []ast.Node{lo, hi} {
			op := []string{">=", "<="}[i]
			if other, ok := typing.Unparen(bound).(*ast.RowExpr); ok && row != nil {
				e, err := sc.rowCompare(op, row, other, p)
				if err != nil {
					return nil, err
				}
				out[i] = e
				continue
			}
			l, err := sc.Expr(n.Lexpr, p)
			if err != nil {
				return nil, err
			}
			r, err := sc.Expr(bound, p)
			if err != nil {
				return nil, err
			}
			if out[i], err = b.Operator(op, l, r, pos); err != nil {
				return nil, err
			}
		}
		return &expr.And{Args: out[:]}, nil
	}
	e, err := pair(list.Items[0], list.Items[1])
	if err != nil {
		return nil, err
	}
	if n.Kind == ast.AEXPR_BETWEEN_SYM || n.Kind == ast.AEXPR_NOT_BETWEEN_SYM {
		f, err := pair(list.Items[1], list.Items[0])
		if err != nil {
			return nil, err
		}
		e = &expr.Or{Args: []expr.Expr{e, f}}
	}
	if n.Kind == ast.AEXPR_NOT_BETWEEN || n.Kind == ast.AEXPR_NOT_BETWEEN_SYM {
		return &expr.Not{Arg: e}, nil
	}
	return e, nil
}

// in binds x [NOT] IN (list).
func (sc *Scope) in(n *ast.A_Expr, p Place) (expr.Expr, error) {
	b := sc.Binder
	not := typing.OpName(n.Name) == "<>"
	list, ok := n.Rexpr.(*ast.NodeList)
	if !ok {
		return nil, pgerr.Internal("IN without a list")
	}
	pos := b.SpotWord("in")
	if row, ok := typing.Unparen(n.Lexpr).(*ast.RowExpr); ok {
		return sc.rowIn(row, list, not, p)
	}
	l, err := sc.Expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	es, err := sc.Exprs(list.Items, p)
	if err != nil {
		return nil, err
	}
	ts := []types.Type{l.Type()}
	for _, e := range es {
		ts = append(ts, e.Type())
	}
	t, err := b.CommonType("IN", ts, pos)
	if err != nil || t.OID == types.RecordOID {
		return sc.inAsOr(l, n.Lexpr, es, not, pos, p)
	}
	for i := range es {
		if !b.CanCoerce(es[i].Type().OID, t.OID, fn.ImplicitCast) {
			return sc.inAsOr(l, n.Lexpr, es, not, pos, p)
		}
		if es[i], err = b.Coerce(es[i], t, fn.ImplicitCast, typing.Position{}); err != nil {
			return nil, err
		}
	}
	eq, arg, _, err := b.Equality(l, &expr.Const{Typ: t}, pos)
	if err != nil {
		return nil, err
	}
	if arg.Type().OID == types.NumericOID {
		// All values need one representation: that of the argument if it can represent the list.
		at := arg.Type()
		for _, e := range es {
			c, ok := e.(*expr.Const)
			d, isDec := number.Decimal{}, false
			if ok && c.Val != nil {
				d, isDec = c.Val.(number.Decimal)
			}
			if ok && c.Val == nil || isDec && at.Prec > 0 && d.IsFinite() && d.Scale() <= int32(at.Scale) {
				continue
			}
			at = typing.CommonPhysical(types.Numeric, []types.Type{at, e.Type()})
		}
		arg = b.AsPhysical(arg, at)
		for i := range es {
			es[i] = b.AsPhysical(es[i], at)
		}
	}
	return &expr.In{Arg: arg, List: es, Eq: eq, Not: not}, nil
}

// inAsOr compares with each item separately, for lists without a common type.
func (sc *Scope) inAsOr(l expr.Expr, ln ast.Node, es []expr.Expr, not bool, pos typing.Position, p Place) (expr.Expr, error) {
	op := "="
	if not {
		op = "<>"
	}
	args := make([]expr.Expr, len(es))
	for i, e := range es {
		if i > 0 {
			var err error
			if l, err = sc.Rebind(l, ln, p); err != nil {
				return nil, err
			}
		}
		c, err := sc.Binder.Operator(op, l, e, pos)
		if err != nil {
			return nil, err
		}
		args[i] = c
	}
	if len(args) == 1 {
		return args[0], nil
	}
	if not {
		return &expr.And{Args: args}, nil
	}
	return &expr.Or{Args: args}, nil
}

func (sc *Scope) rowIn(row *ast.RowExpr, list *ast.NodeList, not bool, p Place) (expr.Expr, error) {
	op := "="
	if not {
		op = "<>"
	}
	var args []expr.Expr
	for _, it := range list.Items {
		other, ok := typing.Unparen(it).(*ast.RowExpr)
		if !ok {
			l, err := sc.Expr(row, p)
			if err != nil {
				return nil, err
			}
			r, err := sc.Expr(it, p)
			if err != nil {
				return nil, err
			}
			e, err := sc.Binder.Operator(op, l, r, typing.Position{})
			if err != nil {
				return nil, err
			}
			args = append(args, e)
			continue
		}
		e, err := sc.rowCompare(op, row, other, p)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	if len(args) == 1 {
		return args[0], nil
	}
	if not {
		return &expr.And{Args: args}, nil
	}
	return &expr.Or{Args: args}, nil
}
