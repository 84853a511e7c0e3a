package deparse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/types"
)

// call writes a function's call by its name.
func (d *deparser) call(x *ast.FuncCall, want types.Type) (fragment, error) {
	name, ok := x.Funcname.Items[len(x.Funcname.Items)-1].(*ast.String)
	if !ok || x.FuncVariadic || x.AggWithinGroup {
		return fragment{}, errForm
	}
	e, c, err := d.called(x, name.SVal)
	if err != nil {
		return fragment{}, err
	}
	var args []ast.Node
	if x.Args != nil {
		args = x.Args.Items
	}
	if c.Fn.Name != name.SVal || len(args) > len(c.Args) {
		return fragment{}, errForm
	}
	// The grammar puts a schema before the names of TRIM and AT TIME ZONE, which distinguishes them from plain calls.
	words := map[string]bool{"btrim": true, "ltrim": true, "rtrim": true, "timezone": true}
	if x.Funcformat == ast.COERCE_SQL_SYNTAX || len(x.Funcname.Items) == 2 && words[name.SVal] {
		return d.syntax(x, c, want)
	}
	var out []string
	for i, a := range args {
		if _, named := a.(*ast.NamedArgExpr); named {
			return fragment{}, errForm
		}
		p, err := d.expr(a, argument(c, i))
		if err != nil {
			return fragment{}, err
		}
		out = append(out, p.s)
	}
	s := strings.Join(out, ", ")
	if x.AggStar {
		s = "*"
	} else if x.AggDistinct {
		s = "DISTINCT " + s
	}
	if x.AggOrder != nil && len(x.AggOrder.Items) > 0 {
		keys, err := d.sortKeys(x.AggOrder, nil)
		if err != nil {
			return fragment{}, err
		}
		s += " ORDER BY " + keys
	}
	shown := lex.QuoteName(name.SVal)
	if u := c.Fn.User; u != nil {
		shown = objname.Qualified(d.h, u.Schema, u.Name, objname.FunctionVisible(d.h, u))
	}
	s = shown + "(" + s + ")"
	if x.AggFilter != nil {
		p, err := d.expr(x.AggFilter, types.Bool)
		if err != nil {
			return fragment{}, err
		}
		s += " FILTER (WHERE " + p.s + ")"
	}
	if x.Over != nil {
		over, err := d.window(x.Over)
		if err != nil {
			return fragment{}, err
		}
		s += " OVER " + over
	}
	return d.as(plain(s), types.Type{OID: e.OID, Mod: -1}, want), nil
}

// called returns the type of a call's value and the function that it calls.
func (d *deparser) called(x *ast.FuncCall, name string) (types.Type, *expr.Call, error) {
	if d.trace != nil {
		c := d.trace.Calls[x]
		if c == nil {
			return types.Type{}, nil, errForm
		}
		return c.Typ, c, nil
	}
	if x.Over != nil || x.AggFilter != nil || x.AggOrder != nil || x.AggStar || x.AggDistinct {
		return types.Type{}, nil, errForm
	}
	e, err := d.bound(x)
	if fs := fn.Lookup(name); err != nil && len(fs) == 1 { // nextval('name'), which cannot be bound here: only the host resolves the sequence's name
		e, err = &expr.Call{Fn: fs[0], Args: make([]expr.Expr, len(fs[0].Args)), Typ: types.Type{OID: fs[0].Ret, Mod: -1}}, nil
	}
	if err != nil {
		return types.Type{}, nil, err
	}
	for _, f := range objname.Overloads(d.h, typing.Strs(x.Funcname)) { // of a user: its body stands in its place
		if n := len(typing.Items(x.Args)); f.User != nil && n <= len(f.Args) && n+len(f.Defaults) >= len(f.Args) {
			return e.Type(), &expr.Call{Fn: f, Args: make([]expr.Expr, len(f.Args)), Typ: e.Type()}, nil
		}
	}
	c, ok := uncast(e).(*expr.Call)
	if !ok {
		return types.Type{}, nil, errForm
	}
	return e.Type(), c, nil
}

// argument is the type that a call takes at i.
func argument(c *expr.Call, i int) types.Type {
	o := c.Fn.ArgType(i)
	if o.IsPolymorphic() && c.Args[i] != nil {
		o = c.Args[i].Type().OID
	}
	return types.Type{OID: o, Mod: -1}
}

// syntax writes the calls that have a syntax of their own in SQL, such as EXTRACT (field FROM d).
func (d *deparser) syntax(x *ast.FuncCall, c *expr.Call, want types.Type) (fragment, error) {
	var a []string
	var ps []fragment
	for i, n := range x.Args.Items {
		p, err := fragment{}, error(nil)
		if _, field := n.(*ast.String); !field {
			p, err = d.expr(n, argument(c, i))
		}
		if err != nil {
			return fragment{}, err
		}
		a, ps = append(a, p.s), append(ps, p)
	}
	var s string
	switch {
	case c.Fn.Name == "extract" && len(a) == 2:
		field, ok := literal(bare(x.Args.Items[0]))
		if str, is := bare(x.Args.Items[0]).(*ast.String); is {
			field, ok = str.SVal, true
		}
		if !ok {
			return fragment{}, errForm
		}
		s = "EXTRACT(" + field + " FROM " + a[1] + ")"
	case c.Fn.Name == "position" && len(a) == 2:
		s = "POSITION((" + a[1] + ") IN (" + a[0] + "))"
	case c.Fn.Name == "timezone" && len(a) == 2:
		return d.as(plain("("+d.within(ps[1], formCast, "", false)+" AT TIME ZONE "+d.within(ps[0], formCast, "", false)+")"), c.Typ, want), nil
	case c.Fn.Name == "substring" && len(a) > 1:
		s = "SUBSTRING(" + a[0] + " FROM " + a[1]
		if len(a) > 2 {
			s += " FOR " + a[2]
		}
		s += ")"
	default:
		word := map[string]string{"btrim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[c.Fn.Name]
		if word == "" {
			return fragment{}, errForm
		}
		if s = "TRIM(" + word + " "; len(a) > 1 {
			s += a[1] + " "
		}
		s += "FROM " + a[0] + ")"
	}
	return d.as(plain(s), c.Typ, want), nil
}

// uncast takes off the conversions that the binder put around a call for the
// way its result is represented.
func uncast(e expr.Expr) expr.Expr {
	for {
		c, ok := e.(*expr.Cast)
		if !ok || c.Explicit || c.Typ.OID != c.Arg.Type().OID {
			return e
		}
		e = c.Arg
	}
}
