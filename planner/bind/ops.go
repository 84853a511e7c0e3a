package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// unparen takes the parentheses off; PostgreSQL's tree has none.
func unparen(n ast.Node) ast.Node {
	for {
		p, ok := n.(*ast.ParenExpr)
		if !ok {
			return n
		}
		n = p.Expr
	}
}

// aExpr binds operators and the predicates with a syntax of their own.
func (sc *scope) aExpr(n *ast.A_Expr, p place) (expr.Expr, error) {
	b := sc.b
	_, op, err := b.objectName(n.Name, b.spotOp)
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
			if e, ok, err := b.negate(n.Rexpr); ok || err != nil {
				return e, err
			}
		}
		r, err := sc.expr(n.Rexpr, p)
		if err != nil {
			return nil, err
		}
		return b.operator(op, nil, r, spot{})
	}
	lrow, _ := unparen(n.Lexpr).(*ast.RowExpr)
	rrow, _ := unparen(n.Rexpr).(*ast.RowExpr)
	if lrow != nil {
		if sub, ok := unparen(n.Rexpr).(*ast.SubLink); ok && sub.SubLinkType == ast.EXPR_SUBLINK {
			return sc.rowSubquery(op, lrow, sub, p)
		}
		if rrow != nil {
			return sc.rowCompare(op, lrow, rrow, p)
		}
	}
	l, err := sc.expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	r, err := sc.expr(n.Rexpr, p)
	if err != nil {
		return nil, err
	}
	return b.operator(op, l, r, spot{})
}

// rowCompare compares two row constructors field by field.
func (sc *scope) rowCompare(op string, l, r *ast.RowExpr, p place) (expr.Expr, error) {
	ls, err := sc.rowItems(items(l.Args), p)
	if err != nil {
		return nil, err
	}
	rs, err := sc.rowItems(items(r.Args), p)
	if err != nil {
		return nil, err
	}
	return sc.b.compareRows(op, ls, rs)
}

func (b *binder) compareRows(op string, ls, rs []expr.Expr) (expr.Expr, error) {
	pos := b.spotOp(op)
	if len(ls) != len(rs) {
		return nil, pgerr.New(pgerr.SyntaxError, "unequal number of entries in row expressions").At(pos.at())
	}
	if len(ls) == 0 {
		return nil, pgerr.Unsupported("cannot compare rows of zero length").At(pos.at())
	}
	each := func(op string, i int) (expr.Expr, error) {
		e, err := b.operator(op, ls[i], rs[i], pos)
		if err != nil {
			return nil, err
		}
		if e.Type().OID != types.BoolOID {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "row comparison operator must yield type boolean, not type %s", b.typeName(e.Type())).At(pos.at())
		}
		return e, nil
	}
	if len(ls) == 1 {
		return each(op, 0)
	}
	switch op {
	case "=", "<>":
		args := make([]expr.Expr, len(ls))
		for i := range ls {
			e, err := each(op, i)
			if err != nil {
				return nil, err
			}
			args[i] = e
		}
		if op == "=" {
			return &expr.And{Args: args}, nil
		}
		return &expr.Or{Args: args}, nil
	case "<", "<=", ">", ">=":
		// a < x OR (a = x AND (b < y OR …)); only the last keeps the equality.
		n := len(ls) - 1
		out, err := each(op, n)
		if err != nil {
			return nil, err
		}
		for i := n - 1; i >= 0; i-- {
			strict, err := each(op[:1], i)
			if err != nil {
				return nil, err
			}
			eq, err := each("=", i)
			if err != nil {
				return nil, err
			}
			out = &expr.Or{Args: []expr.Expr{strict, &expr.And{Args: []expr.Expr{eq, out}}}}
		}
		return out, nil
	}
	return nil, pgerr.Unsupported("could not determine interpretation of row comparison operator %s", op).
		WithHint("Row comparison operators must be associated with btree operator families.").At(pos.at())
}

// anyAll binds x op ANY|ALL (array).
func (sc *scope) anyAll(n *ast.A_Expr, op string, p place) (expr.Expr, error) {
	b := sc.b
	l, err := sc.expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	r, err := sc.expr(n.Rexpr, p)
	if err != nil {
		return nil, err
	}
	pos := b.spotOp(op)
	rt := r.Type()
	var el types.Type
	if rt.OID == types.UnknownOID {
		el = types.Unknown
	} else if e, ok := b.elem(rt); ok {
		el = e
	} else {
		return nil, pgerr.New(pgerr.WrongObjectType, "op ANY/ALL (array) requires array on right side").At(pos.at())
	}
	// A NULL of the element's type stands for an element.
	probe := &expr.Const{Typ: el}
	call, err := b.operator(op, l, probe, pos)
	if err != nil {
		return nil, err
	}
	c := call.(*expr.Call)
	if c.Typ.OID != types.BoolOID {
		return nil, pgerr.New(pgerr.WrongObjectType, "op ANY/ALL (array) requires operator to yield boolean").At(pos.at())
	}
	want := c.Args[1].Type()
	if stringCarried(el.OID) && stringCarried(want.OID) {
		want = el
	}
	at, ok := b.arrayOf(want)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.typeName(want)).At(pos.at())
	}
	if r, err = b.coerce(r, at, fn.ImplicitCast, spot{}); err != nil {
		return nil, err
	}
	r = b.recarry(r, at)
	return &expr.AnyAll{Arg: c.Args[0], Array: r, Fn: c.Fn, All: n.Kind == ast.AEXPR_OP_ALL, Op: op}, nil
}

// distinct binds IS [NOT] DISTINCT FROM.
func (sc *scope) distinct(n *ast.A_Expr, p place) (expr.Expr, error) {
	b := sc.b
	not := n.Kind == ast.AEXPR_NOT_DISTINCT
	lrow, _ := unparen(n.Lexpr).(*ast.RowExpr)
	rrow, _ := unparen(n.Rexpr).(*ast.RowExpr)
	pos := b.spotWord("distinct")
	if lrow != nil && rrow != nil {
		ls, err := sc.rowItems(items(lrow.Args), p)
		if err != nil {
			return nil, err
		}
		rs, err := sc.rowItems(items(rrow.Args), p)
		if err != nil {
			return nil, err
		}
		if len(ls) != len(rs) {
			return nil, pgerr.New(pgerr.SyntaxError, "unequal number of entries in row expressions").At(pos.at())
		}
		var args []expr.Expr
		for i := range ls {
			e, err := b.distinctFrom(ls[i], rs[i], not, pos)
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
	l, err := sc.expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	r, err := sc.expr(n.Rexpr, p)
	if err != nil {
		return nil, err
	}
	return b.distinctFrom(l, r, not, pos)
}

func (b *binder) distinctFrom(l, r expr.Expr, not bool, pos spot) (expr.Expr, error) {
	if isNullConst(r) {
		return &expr.IsNull{Arg: l, Not: !not}, nil
	}
	if isNullConst(l) {
		return &expr.IsNull{Arg: r, Not: !not}, nil
	}
	eq, l, r, err := b.equality(l, r, pos)
	if err != nil {
		return nil, err
	}
	return &expr.Distinct{L: l, R: r, Eq: eq, Not: not}, nil
}

func isNullConst(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return ok && c.Val == nil
}

// nullIf is CASE WHEN a = b THEN NULL ELSE a END.
func (sc *scope) nullIf(n *ast.A_Expr, p place) (expr.Expr, error) {
	l, err := sc.expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	r, err := sc.expr(n.Rexpr, p)
	if err != nil {
		return nil, err
	}
	e, err := sc.b.operator("=", l, r, sc.b.spotWord("nullif"))
	if err != nil {
		return nil, err
	}
	// The value has the type it is compared in, but keeps its own digits: those the
	// comparison adds are not seen.
	res, err := sc.again(l, n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	if compared := e.(*expr.Call).Args[0].Type(); res.Type().OID != compared.OID {
		if res, err = sc.b.coerce(res, types.Type{OID: compared.OID, Mod: -1}, fn.ImplicitCast, spot{}); err != nil {
			return nil, err
		}
	}
	return &expr.Case{Whens: []expr.When{{Cond: e, Then: &expr.Const{Typ: res.Type()}}}, Else: res, Typ: res.Type()}, nil
}

// between binds the four BETWEENs to comparisons.
func (sc *scope) between(n *ast.A_Expr, p place) (expr.Expr, error) {
	b := sc.b
	list, ok := n.Rexpr.(*ast.NodeList)
	if !ok || len(list.Items) != 2 {
		return nil, pgerr.Internal("BETWEEN without two bounds")
	}
	pos := b.spotWord("between")
	pair := func(lo, hi ast.Node) (expr.Expr, error) {
		var out [2]expr.Expr
		row, _ := unparen(n.Lexpr).(*ast.RowExpr)
		for i, bound := range []ast.Node{lo, hi} {
			op := []string{">=", "<="}[i]
			if other, ok := unparen(bound).(*ast.RowExpr); ok && row != nil {
				e, err := sc.rowCompare(op, row, other, p)
				if err != nil {
					return nil, err
				}
				out[i] = e
				continue
			}
			l, err := sc.expr(n.Lexpr, p)
			if err != nil {
				return nil, err
			}
			r, err := sc.expr(bound, p)
			if err != nil {
				return nil, err
			}
			if out[i], err = b.operator(op, l, r, pos); err != nil {
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
func (sc *scope) in(n *ast.A_Expr, p place) (expr.Expr, error) {
	b := sc.b
	not := opName(n.Name) == "<>"
	list, ok := n.Rexpr.(*ast.NodeList)
	if !ok {
		return nil, pgerr.Internal("IN without a list")
	}
	pos := b.spotWord("in")
	if row, ok := unparen(n.Lexpr).(*ast.RowExpr); ok {
		return sc.rowIn(row, list, not, p)
	}
	l, err := sc.expr(n.Lexpr, p)
	if err != nil {
		return nil, err
	}
	es, err := sc.exprs(list.Items, p)
	if err != nil {
		return nil, err
	}
	ts := []types.Type{l.Type()}
	for _, e := range es {
		ts = append(ts, e.Type())
	}
	t, err := b.commonType("IN", ts, pos)
	if err != nil || t.OID == types.RecordOID {
		return sc.inAsOr(l, n.Lexpr, es, not, pos, p)
	}
	for i := range es {
		if !b.canCoerce(es[i].Type().OID, t.OID, fn.ImplicitCast) {
			return sc.inAsOr(l, n.Lexpr, es, not, pos, p)
		}
		if es[i], err = b.coerce(es[i], t, fn.ImplicitCast, spot{}); err != nil {
			return nil, err
		}
	}
	eq, arg, _, err := b.equality(l, &expr.Const{Typ: t}, pos)
	if err != nil {
		return nil, err
	}
	if arg.Type().OID == types.NumericOID {
		// All of one carriage: that of the argument where it holds the list.
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
			at = commonCarriage(types.Numeric, []types.Type{at, e.Type()})
		}
		arg = b.recarry(arg, at)
		for i := range es {
			es[i] = b.recarry(es[i], at)
		}
	}
	return &expr.In{Arg: arg, List: es, Eq: eq, Not: not}, nil
}

// inAsOr compares with each item apart, for lists without a common type.
func (sc *scope) inAsOr(l expr.Expr, ln ast.Node, es []expr.Expr, not bool, pos spot, p place) (expr.Expr, error) {
	op := "="
	if not {
		op = "<>"
	}
	args := make([]expr.Expr, len(es))
	for i, e := range es {
		if i > 0 {
			var err error
			if l, err = sc.again(l, ln, p); err != nil {
				return nil, err
			}
		}
		c, err := sc.b.operator(op, l, e, pos)
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

func (sc *scope) rowIn(row *ast.RowExpr, list *ast.NodeList, not bool, p place) (expr.Expr, error) {
	op := "="
	if not {
		op = "<>"
	}
	var args []expr.Expr
	for _, it := range list.Items {
		other, ok := unparen(it).(*ast.RowExpr)
		if !ok {
			l, err := sc.expr(row, p)
			if err != nil {
				return nil, err
			}
			r, err := sc.expr(it, p)
			if err != nil {
				return nil, err
			}
			e, err := sc.b.operator(op, l, r, spot{})
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
