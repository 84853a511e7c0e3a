package deparse

import (
	"errors"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// deparser writes kept expressions as PostgreSQL does (its ruleutils.c): each operation in
// parentheses, constants with their types, implicit conversions as casts. The tree is the
// parser's, the types the binder's.
type deparser struct {
	h    function.Host
	bind *bind.Session
	over *catalog.Relation // whose columns the expression reads; nil for none

	trace  *bind.Trace // of a query: what the binder resolved its names to
	levels []*level    // the queries around, innermost last
	names  *qualifier
	pretty bool // only the parentheses that precedence requires
	wrap   int  // width at which lists go on in another line; below 0 never
	indent int
}

// errForm says that an expression has a form that is not written here.
var errForm = errors.New("not written")

// ShowExpr returns a kept expression over the columns of a relation, which may be
// nil, as PostgreSQL shows it. A conversion to the type of a default's column is not
// shown. An expression of a form that is not known here is shown as it is kept.
func ShowExpr(h function.Host, over *catalog.Relation, text string, pretty bool) string {
	list, err := parse.Parse("SELECT "+text, parse.Postgres)
	if err != nil || len(list) != 1 || h == nil {
		return text
	}
	sel, ok := list[0].Node.(*ast.SelectStmt)
	if !ok || sel.TargetList == nil || len(sel.TargetList.Items) != 1 {
		return text
	}
	target, ok := sel.TargetList.Items[0].(*ast.ResTarget)
	if !ok {
		return text
	}
	d := &deparser{h: h, over: over, pretty: pretty, bind: &bind.Session{Names: bind.Names{State: h.Catalog(), TempSchema: h.Session().Temp, Role: h.Session().User}}}
	for _, o := range h.Session().Path {
		if s := h.Catalog().Schema(o); s != nil {
			d.bind.SearchPath = append(d.bind.SearchPath, s.Name)
		}
	}
	n := bare(target.Val)
	p, err := d.expr(n, types.Type{})
	if err != nil {
		switch n.(type) {
		case *ast.A_Expr, *ast.BoolExpr, *ast.NullTest, *ast.BooleanTest:
			return parenthesised(text)
		}
		return text
	}
	return lines(p.s)
}

// bare strips written parentheses.
func bare(n ast.Node) ast.Node {
	for {
		p, ok := n.(*ast.ParenExpr)
		if !ok {
			return n
		}
		n = p.Expr
	}
}

// literal returns a string constant, whose type is what it is used for.
func literal(n ast.Node) (string, bool) {
	if c, ok := n.(*ast.A_Const); ok && !c.Isnull {
		if s, ok := c.Val.(*ast.String); ok {
			return s.SVal, true
		}
	}
	return "", false
}

func (d *deparser) bound(n ast.Node) (expr.Expr, error) {
	if d.trace != nil {
		if e := d.trace.Exprs[n]; e != nil {
			return e, nil
		}
		return nil, errForm
	}
	e, _, err := bind.Scalar(d.bind, n, d.over, bind.ForUsing)
	return e, err
}

// typed is a node's type by itself.
func (d *deparser) typed(n ast.Node) (types.Type, error) {
	e, err := d.bound(n)
	if err != nil {
		return types.Type{}, err
	}
	t := e.Type()
	return types.Type{OID: t.OID, Mod: -1}, nil
}

func (d *deparser) typeName(t types.Type) string {
	if t.OID == types.BpcharOID && t.Mod < 0 {
		return "bpchar"
	}
	s, _ := objname.TypeName(d.h, t.OID, t.Mod)
	return s
}

// as writes what is of type have for a place of type want.
func (d *deparser) as(p fragment, have, want types.Type) fragment {
	if want.OID == 0 || want.OID == have.OID || want.OID.IsPolymorphic() || want.OID == types.AnyOID {
		return p
	}
	return d.convert(p, types.Type{OID: want.OID, Mod: -1})
}

// convert writes a conversion.
func (d *deparser) convert(p fragment, t types.Type) fragment {
	s := d.within(p, formCast, "", false)
	if !d.pretty {
		s = "(" + s + ")"
	}
	return fragment{s: s + "::" + d.typeName(t), form: formCast, arg: &p}
}

// constant writes a string constant of a type, in the type's own form.
func (d *deparser) constant(s string, t types.Type) (string, error) {
	if t.OID == 0 || t.OID == types.UnknownOID || t.OID.IsPolymorphic() || t.OID == types.AnyOID {
		t = types.Text
	}
	base := types.Type{OID: t.OID, Mod: -1}
	v := s
	if t.OID == types.RegclassOID {
		oid, err := objname.RegIn(d.h, t.OID, s)
		if err != nil {
			return "", err
		}
		if r := d.h.Catalog().RelationByOID(oid); r != nil {
			v = objname.Qualified(d.h, r.Schema, r.Name, objname.FindRelation(d.h, []string{r.Name}) == oid)
		}
	} else if t.OID < types.FirstUserOID {
		val, err := types.ParseText(base, s, &types.Env{})
		if err != nil {
			return "", err
		}
		v = types.TextOf(base, val, &types.Env{})
	}
	switch {
	case t.Class() == types.ClassBool:
		return map[string]string{"t": "true", "f": "false"}[v], nil
	case t.Form() == types.FormInt32 && t.IsInteger():
		return numberText(v, "integer"), nil
	case t.Class() == types.ClassNumeric:
		if strings.Contains(v, ".") && t.Mod < 0 {
			return numberText(v, "numeric"), nil
		}
	}
	return lex.QuoteLiteral(v) + "::" + d.typeName(t), nil
}

// numberText writes a number without quotes, but a negative one as a quoted constant with a cast,
// because -1 would read back as an operator and a number.
func numberText(v, typ string) string {
	if strings.HasPrefix(v, "-") {
		return "'" + v + "'::" + typ
	}
	return v
}

// expr writes a node where a value of type want stands; of OID 0 for any.
func (d *deparser) expr(n ast.Node, want types.Type) (fragment, error) {
	n = bare(n)
	if s, ok := literal(n); ok {
		s, err := d.constant(s, want)
		return plain(s), err
	}
	switch x := n.(type) {
	case *ast.A_Const:
		if x.Isnull {
			if want.OID == 0 || want.OID.IsPolymorphic() {
				want = types.Text
			}
			return plain("NULL::" + d.typeName(want)), nil
		}
		t, err := d.typed(n)
		if err != nil {
			return fragment{}, err
		}
		s := x.SqlString()
		switch t.Class() {
		case types.ClassBool:
			s = strings.ToLower(s)
		case types.ClassInteger:
			if t.Form() != types.FormInt64 {
				s = numberText(s, d.typeName(t))
				break
			}
			s = "'" + s + "'::bigint"
		default:
			s = numberText(s, d.typeName(t))
		}
		return d.as(plain(s), t, want), nil
	case *ast.ColumnRef:
		t, err := d.typed(n)
		if err != nil {
			return fragment{}, err
		}
		name, err := d.columnName(x)
		return d.as(plain(name), t, want), err
	case *ast.TypeCast:
		return d.cast(x, want)
	case *ast.FuncCall:
		return d.call(x, want)
	case *ast.SQLValueFunction:
		t, err := d.typed(n)
		if err != nil {
			return fragment{}, err
		}
		return d.as(plain(strings.ToUpper(x.SqlString())), t, want), nil
	case *ast.A_Expr:
		return d.operation(x, want)
	case *ast.BoolExpr:
		return d.logic(x)
	case *ast.NullTest:
		word := " IS NOT NULL"
		if x.Nulltesttype == ast.IS_NULL {
			word = " IS NULL"
		}
		return d.test(x.Arg, types.Type{}, word)
	case *ast.BooleanTest:
		return d.test(x.Arg, types.Bool, " IS "+truths[x.Booltesttype])
	case *ast.CaseExpr:
		return d.caseOf(x, want)
	case *ast.CoalesceExpr:
		return d.choice("COALESCE", n, x.Args, want)
	case *ast.MinMaxExpr:
		if x.Op == ast.IS_GREATEST {
			return d.choice("GREATEST", n, x.Args, want)
		}
		return d.choice("LEAST", n, x.Args, want)
	case *ast.A_ArrayExpr:
		return d.array(n, x.Elements, want)
	case *ast.ArrayExpr:
		return d.array(n, x.Elements, want)
	case *ast.SubLink:
		return d.subquery(x, want)
	}
	return fragment{}, errForm
}

func (d *deparser) array(n ast.Node, elements *ast.NodeList, want types.Type) (fragment, error) {
	t, err := d.typed(n)
	elem, ok := t.Elem()
	if err != nil || !ok || elements == nil {
		return fragment{}, errForm
	}
	items, err := d.list(elements, types.Type{OID: elem.OID, Mod: -1})
	return d.as(plain("ARRAY["+items+"]"), t, want), err
}

// columnName writes a reference to a column.
func (d *deparser) columnName(x *ast.ColumnRef) (string, error) {
	if d.trace != nil {
		names := d.trace.Names[x]
		if len(names) != 1 {
			return "", errForm
		}
		return d.reference(names[0])
	}
	last, ok := x.Fields.Items[len(x.Fields.Items)-1].(*ast.String)
	if !ok {
		return "", errForm
	}
	return lex.QuoteName(last.SVal), nil
}

func (d *deparser) test(arg ast.Node, want types.Type, word string) (fragment, error) {
	p, err := d.expr(arg, want)
	return d.enclose(d.within(p, formTest, "", false)+word, formTest, ""), err
}

var truths = map[ast.BoolTestType]string{ast.IS_TRUE: "TRUE", ast.IS_NOT_TRUE: "NOT TRUE", ast.IS_FALSE: "FALSE", ast.IS_NOT_FALSE: "NOT FALSE",
	ast.IS_UNKNOWN: "UNKNOWN", ast.IS_NOT_UNKNOWN: "NOT UNKNOWN"}

// caseOf writes a CASE, a line for each of its parts.
func (d *deparser) caseOf(x *ast.CaseExpr, want types.Type) (fragment, error) {
	t, err := d.typed(x)
	if err != nil {
		return fragment{}, err
	}
	s := d.line("CASE", 0, indentItem, 0)
	var on types.Type
	if x.Arg != nil {
		p, err := d.expr(x.Arg, types.Type{})
		if err == nil {
			on, err = d.typed(x.Arg)
		}
		if err != nil {
			return fragment{}, err
		}
		if on.OID == types.UnknownOID {
			return fragment{}, errForm
		}
		s += " " + p.s
	}
	for _, w := range x.Args.Items {
		when, ok := w.(*ast.CaseWhen)
		if !ok {
			return fragment{}, errForm
		}
		s += d.line("WHEN ", 0, 0, 0)
		to := types.Bool
		if x.Arg != nil {
			if have, err := d.typed(when.Expr); err != nil || have.OID != on.OID && have.OID != types.UnknownOID {
				return fragment{}, errForm
			}
			to = on
		}
		cond, err := d.expr(when.Expr, to)
		if err != nil {
			return fragment{}, err
		}
		then, err := d.expr(when.Result, t)
		if err != nil {
			return fragment{}, err
		}
		s += cond.s + " THEN " + then.s
	}
	other := plain("NULL::" + d.typeName(t))
	s += d.line("ELSE ", 0, 0, 0)
	if x.Defresult != nil {
		if other, err = d.expr(x.Defresult, t); err != nil {
			return fragment{}, err
		}
	}
	s += other.s + d.line("END", -indentItem, 0, 0)
	return d.as(plain(s), t, want), nil
}

// choice writes COALESCE, GREATEST and LEAST, whose arguments are all converted to the type of the
// result.
func (d *deparser) choice(word string, n ast.Node, args *ast.NodeList, want types.Type) (fragment, error) {
	t, err := d.typed(n)
	if err != nil {
		return fragment{}, err
	}
	list, err := d.list(args, t)
	return d.as(plain(word+"("+list+")"), t, want), err
}

func (d *deparser) list(l *ast.NodeList, want types.Type) (string, error) {
	var out []string
	for _, n := range l.Items {
		p, err := d.expr(n, want)
		if err != nil {
			return "", err
		}
		out = append(out, p.s)
	}
	return strings.Join(out, ", "), nil
}

func (d *deparser) cast(x *ast.TypeCast, want types.Type) (fragment, error) {
	t, err := bind.TypeName(d.bind, x.TypeName)
	if err != nil {
		return fragment{}, err
	}
	arg := bare(x.Arg)
	if s, ok := literal(arg); ok {
		s, err := d.constant(s, t)
		return d.as(plain(s), t, want), err
	}
	if c, ok := arg.(*ast.A_Const); ok && c.Isnull {
		return d.as(plain("NULL::"+d.typeName(t)), t, want), nil
	}
	p, err := d.expr(arg, types.Type{})
	if err != nil {
		return fragment{}, err
	}
	have, err := d.typed(arg)
	if err != nil {
		return fragment{}, err
	}
	if have.OID != t.OID || have.Mod != t.Mod {
		p = d.convert(p, t)
	}
	return d.as(p, t, want), nil
}

// parenthesised puts an expression in parentheses, as PostgreSQL prints
// conditions and expressions of indexes, unless it has them.
func parenthesised(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "(") {
		depth, quoted := 0, false
		for i := 0; i < len(s); i++ {
			switch c := s[i]; {
			case c == '\'':
				quoted = !quoted
			case quoted:
			case c == '(':
				depth++
			case c == ')':
				depth--
				if depth == 0 && i < len(s)-1 {
					return "(" + s + ")"
				}
			}
		}
		return s
	}
	return "(" + s + ")"
}
