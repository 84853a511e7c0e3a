package deparse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

func (d *deparser) operation(x *ast.A_Expr, want types.Type) (fragment, error) {
	name, ok := x.Name.Items[len(x.Name.Items)-1].(*ast.String)
	if !ok || len(x.Name.Items) > 1 {
		return fragment{}, errForm
	}
	e, err := d.bound(x)
	if err != nil {
		return fragment{}, err
	}
	switch x.Kind {
	case ast.AEXPR_OP, ast.AEXPR_LIKE, ast.AEXPR_ILIKE:
		if c, ok := bare(x.Rexpr).(*ast.A_Const); ok && x.Lexpr == nil && name.SVal == "-" && !c.Isnull {
			if _, text := literal(c); text {
				return fragment{}, errForm
			}
			t := types.Type{OID: e.Type().OID, Mod: -1}
			return d.as(plain(numberText("-"+c.SqlString(), d.typeName(t))), t, want), nil
		}
		if l, ok := bare(x.Lexpr).(*ast.RowExpr); ok {
			if r, ok := bare(x.Rexpr).(*ast.RowExpr); ok {
				return d.rows(name.SVal, l, r, e)
			}
			return fragment{}, errForm
		}
		c, ok := uncast(e).(*expr.Call)
		if !ok {
			return fragment{}, errForm
		}
		p, err := d.operator(name.SVal, c, x.Lexpr, x.Rexpr)
		return d.as(p, types.Type{OID: e.Type().OID, Mod: -1}, want), err
	case ast.AEXPR_SIMILAR:
		c, ok := uncast(e).(*expr.Call)
		if !ok {
			return fragment{}, errForm
		}
		op := name.SVal
		return d.operator(op, c, x.Lexpr, x.Rexpr)
	case ast.AEXPR_DISTINCT, ast.AEXPR_NOT_DISTINCT:
		return d.distinct(x)
	case ast.AEXPR_NULLIF:
		t, err := d.typed(x.Lexpr)
		if err != nil {
			return fragment{}, err
		}
		pair, err := d.list(ast.NewNodeList(x.Lexpr, x.Rexpr), t)
		return d.as(plain("NULLIF("+pair+")"), t, want), err
	case ast.AEXPR_BETWEEN, ast.AEXPR_NOT_BETWEEN:
		return d.between(x, e)
	case ast.AEXPR_IN:
		return d.in(x, name.SVal, e)
	case ast.AEXPR_OP_ANY, ast.AEXPR_OP_ALL:
		return d.anyAll(x, name.SVal, e)
	}
	return fragment{}, errForm
}

// operator writes an operator between its operands, cast to the types of its function's arguments.
func (d *deparser) operator(op string, c *expr.Call, l, r ast.Node) (fragment, error) {
	if len(c.Args) > 2 || (l == nil) != (len(c.Args) == 1) {
		return fragment{}, errForm
	}
	right, err := d.expr(r, argument(c, len(c.Args)-1))
	if err != nil {
		return fragment{}, err
	}
	s := op + " " + d.within(right, formOp, op, l == nil)
	if l != nil {
		left, err := d.expr(l, argument(c, 0))
		if err != nil {
			return fragment{}, err
		}
		s = d.within(left, formOp, op, true) + " " + s
	}
	return d.enclose(s, formOp, op), nil
}

// rows writes a comparison of row constructors: = and <> compare each pair of fields with the
// operator of their types.
func (d *deparser) rows(op string, l, r *ast.RowExpr, e expr.Expr) (fragment, error) {
	n := len(l.Args.Items)
	if op == "=" || op == "<>" {
		var calls []expr.Expr
		word := "AND"
		switch e := e.(type) {
		case *expr.And:
			calls = e.Args
		case *expr.Or:
			calls, word = e.Args, "OR"
		}
		if len(calls) != n || len(r.Args.Items) != n {
			return fragment{}, errForm
		}
		var parts []fragment
		for i := range calls {
			c, ok := uncast(calls[i]).(*expr.Call)
			if !ok {
				return fragment{}, errForm
			}
			p, err := d.operator(op, c, l.Args.Items[i], r.Args.Items[i])
			if err != nil {
				return fragment{}, err
			}
			parts = append(parts, p)
		}
		return d.chain(word, parts), nil
	}
	return d.order(op, l, r)
}

// order writes <, <=, > and >= of rows, each pair of fields converted to one type.
func (d *deparser) order(op string, l, r *ast.RowExpr) (fragment, error) {
	var sides [2][]string
	for i := range l.Args.Items {
		a, b := l.Args.Items[i], r.Args.Items[i]
		t, err := d.typed(a)
		if err != nil {
			return fragment{}, err
		}
		u, err := d.typed(b)
		if err != nil {
			return fragment{}, err
		}
		if t.OID != u.OID && fn.Category(t.OID) == 'N' && fn.Category(u.OID) == 'N' {
			if t = u; u.OID == types.Int4OID || u.OID == types.Int2OID || u.OID == types.Int8OID {
				t, _ = d.typed(a)
			}
		} else if t.OID != u.OID && u.OID != types.UnknownOID {
			return fragment{}, errForm
		}
		for k, n := range []ast.Node{a, b} {
			p, err := d.expr(n, t)
			if err != nil {
				return fragment{}, err
			}
			sides[k] = append(sides[k], p.s)
		}
	}
	return fragment{s: "(ROW(" + strings.Join(sides[0], ", ") + ") " + op + " ROW(" + strings.Join(sides[1], ", ") + "))", form: formOther}, nil
}

func (d *deparser) distinct(x *ast.A_Expr) (fragment, error) {
	t, err := d.typed(x.Lexpr)
	if err != nil {
		return fragment{}, err
	}
	if u, err := d.typed(x.Rexpr); err != nil || u.OID != t.OID && u.OID != types.UnknownOID || t.OID == types.UnknownOID {
		return fragment{}, errForm
	}
	l, err := d.expr(x.Lexpr, t)
	if err != nil {
		return fragment{}, err
	}
	r, err := d.expr(x.Rexpr, t)
	if err != nil {
		return fragment{}, err
	}
	p := d.enclose(d.within(l, formTest, "", true)+" IS DISTINCT FROM "+d.within(r, formTest, "", false), formTest, "")
	if x.Kind == ast.AEXPR_NOT_DISTINCT {
		p = d.enclose("NOT "+d.within(p, formBool, "NOT", false), formBool, "NOT")
	}
	return p, nil
}

func (d *deparser) between(x *ast.A_Expr, e expr.Expr) (fragment, error) {
	bounds, ok := x.Rexpr.(*ast.NodeList)
	if not, is := e.(*expr.Not); is {
		e = not.Arg
	}
	and, is := e.(*expr.And)
	if !ok || !is || len(bounds.Items) != 2 || len(and.Args) != 2 {
		return fragment{}, errForm
	}
	var sides []fragment
	ops, word := [2]string{">=", "<="}, "AND"
	if x.Kind == ast.AEXPR_NOT_BETWEEN {
		ops, word = [2]string{"<", ">"}, "OR"
	}
	for i, op := range ops {
		c, ok := uncast(and.Args[i]).(*expr.Call)
		if !ok {
			return fragment{}, errForm
		}
		p, err := d.operator(op, c, x.Lexpr, bounds.Items[i])
		if err != nil {
			return fragment{}, err
		}
		sides = append(sides, p)
	}
	return d.chain(word, sides), nil
}

// in writes IN (constants) as PostgreSQL keeps it: = ANY (ARRAY[…]).
func (d *deparser) in(x *ast.A_Expr, op string, e expr.Expr) (fragment, error) {
	list, ok := x.Rexpr.(*ast.NodeList)
	if !ok {
		return fragment{}, errForm
	}
	in, ok := uncast(e).(*expr.In)
	if !ok || len(in.List) != len(list.Items) {
		return fragment{}, errForm
	}
	if len(list.Items) == 1 {
		return d.operator(op, &expr.Call{Fn: in.Eq, Args: []expr.Expr{in.Arg, in.List[0]}}, x.Lexpr, list.Items[0])
	}
	for _, n := range list.Items {
		if _, ok := bare(n).(*ast.A_Const); !ok {
			return fragment{}, errForm // a list with columns is printed otherwise
		}
	}
	elem := types.Type{OID: in.List[0].Type().OID, Mod: -1}
	takes := types.Type{OID: in.Eq.ArgType(0), Mod: -1}
	items, err := d.list(list, elem)
	if err != nil {
		return fragment{}, err
	}
	array := plain("ARRAY[" + items + "]")
	if takes.OID.IsPolymorphic() {
		takes = elem
	}
	if takes.OID != elem.OID {
		s := d.within(array, formCast, "", false)
		if !d.pretty {
			s = "(" + s + ")"
		}
		of := array
		array = fragment{s: s + "::" + d.typeName(takes) + "[]", form: formCast, arg: &of}
	}
	left, err := d.expr(x.Lexpr, takes)
	if err != nil {
		return fragment{}, err
	}
	word := " = ANY ("
	if op == "<>" {
		word = " <> ALL ("
	}
	return d.enclose(d.within(left, formTest, "", true)+word+d.within(array, formTest, "", false)+")", formOther, ""), nil
}

// anyAll writes an operator over the elements of an array.
func (d *deparser) anyAll(x *ast.A_Expr, op string, e expr.Expr) (fragment, error) {
	a, ok := uncast(e).(*expr.AnyAll)
	if !ok || a.Fn.ArgType(0).IsPolymorphic() {
		return fragment{}, errForm
	}
	left, err := d.expr(x.Lexpr, types.Type{OID: a.Fn.ArgType(0), Mod: -1})
	if err != nil {
		return fragment{}, err
	}
	right, err := d.expr(x.Rexpr, types.Type{OID: a.Array.Type().OID, Mod: -1})
	if err != nil {
		return fragment{}, err
	}
	word := " ANY ("
	if a.All {
		word = " ALL ("
	}
	return d.enclose(d.within(left, formTest, "", true)+" "+op+word+d.within(right, formTest, "", false)+")", formOther, ""), nil
}

// chain writes AND and OR.
func (d *deparser) chain(word string, parts []fragment) fragment {
	var out []string
	for _, p := range parts {
		out = append(out, d.within(p, formBool, word, false))
	}
	return d.enclose(strings.Join(out, " "+word+" "), formBool, word)
}

func (d *deparser) logic(x *ast.BoolExpr) (fragment, error) {
	var parts []fragment
	for _, a := range flat(x) {
		p, err := d.expr(a, types.Bool)
		if err != nil {
			return fragment{}, err
		}
		parts = append(parts, p)
	}
	switch x.Boolop {
	case ast.AND_EXPR:
		return d.chain("AND", parts), nil
	case ast.OR_EXPR:
		return d.chain("OR", parts), nil
	}
	return d.enclose("NOT "+d.within(parts[0], formBool, "NOT", false), formBool, "NOT"), nil
}

// flat returns the arguments of a chain, whose beginning the parser may have
// nested: a AND b AND c is one.
func flat(x *ast.BoolExpr) []ast.Node {
	first, ok := bare(x.Args.Items[0]).(*ast.BoolExpr)
	if !ok || x.Boolop == ast.NOT_EXPR || first.Boolop != x.Boolop {
		return x.Args.Items
	}
	return append(flat(first), x.Args.Items[1:]...)
}
