package eval

import (
	"errors"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// deparser writes kept expressions as PostgreSQL does (its ruleutils.c): each
// operation in parentheses, constants with their types, conversions that were
// implied as casts. The tree is the parser's; the binder tells the types.
type deparser struct {
	h    Host
	bind *bind.Session
	over *catalog.Relation // whose columns the expression reads; nil for none
}

// errForm says that an expression has a form that is not written here.
var errForm = errors.New("not written")

// ShowExpr gives a kept expression as PostgreSQL shows it. want is the type of
// the column whose default it is, of OID 0 for other expressions. What has a
// form not known here is shown as it is kept.
func ShowExpr(h Host, over *catalog.Relation, text string, want types.Type) string {
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
	d := &deparser{h: h, over: over, bind: &bind.Session{State: h.Catalog(), TempSchema: h.Session().Temp, Role: h.Session().User}}
	for _, o := range h.Session().Path {
		if s := h.Catalog().Schema(o); s != nil {
			d.bind.SearchPath = append(d.bind.SearchPath, s.Name)
		}
	}
	n := bare(target.Val)
	if _, ok := literal(n); !ok {
		want = types.Type{} // the conversion to the column's type is not shown
	}
	s, err := d.expr(n, want)
	if err != nil {
		switch n.(type) {
		case *ast.A_Expr, *ast.BoolExpr, *ast.NullTest, *ast.BooleanTest:
			return parenthesised(text)
		}
		return text
	}
	return s
}

// bare takes written parentheses off.
func bare(n ast.Node) ast.Node {
	for {
		p, ok := n.(*ast.ParenExpr)
		if !ok {
			return n
		}
		n = p.Expr
	}
}

// literal gives a string constant, whose type is what it is used for.
func literal(n ast.Node) (string, bool) {
	if c, ok := n.(*ast.A_Const); ok && !c.Isnull {
		if s, ok := c.Val.(*ast.String); ok {
			return s.SVal, true
		}
	}
	return "", false
}

func (d *deparser) bound(n ast.Node) (expr.Expr, error) {
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
	s, _ := typeName(d.h, t.OID, t.Mod)
	return s
}

// as writes what is of type have for a place of type want.
func (d *deparser) as(s string, have, want types.Type) string {
	if want.OID == 0 || want.OID == have.OID || fn.IsPolymorphic(want.OID) || want.OID == types.AnyOID {
		return s
	}
	return "(" + s + ")::" + d.typeName(types.Type{OID: want.OID, Mod: -1})
}

// constant writes a string constant of a type, in the type's own form.
func (d *deparser) constant(s string, t types.Type) (string, error) {
	if t.OID == 0 || t.OID == types.UnknownOID || fn.IsPolymorphic(t.OID) || t.OID == types.AnyOID {
		t = types.Text
	}
	base := types.Type{OID: t.OID, Mod: -1}
	v := s
	if t.OID == types.RegclassOID {
		oid, err := RegIn(d.h, t.OID, s)
		if err != nil {
			return "", err
		}
		if r := d.h.Catalog().RelationByOID(oid); r != nil {
			v = qualified(d.h, r.Schema, r.Name, findRelation(d.h, []string{r.Name}) == oid)
		}
	} else if t.OID < types.FirstUserOID {
		val, err := types.ParseText(base, s, &types.Env{})
		if err != nil {
			return "", err
		}
		v = types.TextOf(base, val, &types.Env{})
	}
	switch t.OID {
	case types.BoolOID:
		return map[string]string{"t": "true", "f": "false"}[v], nil
	case types.Int4OID:
		return number(v, "integer"), nil
	case types.NumericOID:
		if strings.Contains(v, ".") && t.Mod < 0 {
			return number(v, "numeric"), nil
		}
	}
	return parse.QuoteLiteral(v) + "::" + d.typeName(t), nil
}

// number writes a number bare, but for a sign, which could be an operator.
func number(v, typ string) string {
	if strings.HasPrefix(v, "-") {
		return "'" + v + "'::" + typ
	}
	return v
}

// expr writes a node where a value of type want stands; of OID 0 for any.
func (d *deparser) expr(n ast.Node, want types.Type) (string, error) {
	n = bare(n)
	if s, ok := literal(n); ok {
		return d.constant(s, want)
	}
	switch x := n.(type) {
	case *ast.A_Const:
		if x.Isnull {
			if want.OID == 0 || fn.IsPolymorphic(want.OID) {
				want = types.Text
			}
			return "NULL::" + d.typeName(want), nil
		}
		t, err := d.typed(n)
		if err != nil {
			return "", err
		}
		s := x.SqlString()
		if t.OID == types.BoolOID {
			s = strings.ToLower(s)
		} else if t.OID == types.Int8OID {
			return d.as("'"+s+"'::bigint", t, want), nil
		} else {
			s = number(s, d.typeName(t))
		}
		return d.as(s, t, want), nil
	case *ast.ColumnRef:
		t, err := d.typed(n)
		if err != nil {
			return "", err
		}
		last, ok := x.Fields.Items[len(x.Fields.Items)-1].(*ast.String)
		if !ok {
			return "", errForm
		}
		return d.as(parse.QuoteName(last.SVal), t, want), nil
	case *ast.TypeCast:
		return d.cast(x, want)
	case *ast.FuncCall:
		return d.call(x, want)
	case *ast.SQLValueFunction:
		t, err := d.typed(n)
		if err != nil {
			return "", err
		}
		return d.as(strings.ToUpper(x.SqlString()), t, want), nil
	case *ast.A_Expr:
		return d.operation(x, want)
	case *ast.BoolExpr:
		return d.logic(x)
	case *ast.NullTest:
		s, err := d.expr(x.Arg, types.Type{})
		if x.Nulltesttype == ast.IS_NULL {
			return "(" + s + " IS NULL)", err
		}
		return "(" + s + " IS NOT NULL)", err
	case *ast.BooleanTest:
		s, err := d.expr(x.Arg, types.Bool)
		return "(" + s + " IS " + truths[x.Booltesttype] + ")", err
	case *ast.CoalesceExpr:
		return d.choice("COALESCE", n, x.Args, want)
	case *ast.MinMaxExpr:
		if x.Op == ast.IS_GREATEST {
			return d.choice("GREATEST", n, x.Args, want)
		}
		return d.choice("LEAST", n, x.Args, want)
	case *ast.A_ArrayExpr:
		t, err := d.typed(n)
		elem, ok := t.Elem()
		if err != nil || !ok || x.Elements == nil {
			return "", errForm
		}
		items, err := d.list(x.Elements, types.Type{OID: elem.OID, Mod: -1})
		return d.as("ARRAY["+items+"]", t, want), err
	}
	return "", errForm
}

var truths = map[ast.BoolTestType]string{ast.IS_TRUE: "TRUE", ast.IS_NOT_TRUE: "NOT TRUE", ast.IS_FALSE: "FALSE", ast.IS_NOT_FALSE: "NOT FALSE",
	ast.IS_UNKNOWN: "UNKNOWN", ast.IS_NOT_UNKNOWN: "NOT UNKNOWN"}

// choice writes COALESCE and its kin, whose arguments have the type of all.
func (d *deparser) choice(word string, n ast.Node, args *ast.NodeList, want types.Type) (string, error) {
	t, err := d.typed(n)
	if err != nil {
		return "", err
	}
	list, err := d.list(args, t)
	return d.as(word+"("+list+")", t, want), err
}

func (d *deparser) list(l *ast.NodeList, want types.Type) (string, error) {
	var out []string
	for _, n := range l.Items {
		s, err := d.expr(n, want)
		if err != nil {
			return "", err
		}
		out = append(out, s)
	}
	return strings.Join(out, ", "), nil
}

func (d *deparser) cast(x *ast.TypeCast, want types.Type) (string, error) {
	t, err := bind.TypeName(d.bind, x.TypeName)
	if err != nil {
		return "", err
	}
	arg := bare(x.Arg)
	if s, ok := literal(arg); ok {
		s, err := d.constant(s, t)
		return d.as(s, t, want), err
	}
	s, err := d.expr(arg, types.Type{})
	if err != nil {
		return "", err
	}
	have, err := d.typed(arg)
	if err != nil {
		return "", err
	}
	if c, ok := arg.(*ast.A_Const); ok && c.Isnull {
		return d.as("NULL::"+d.typeName(t), t, want), nil
	} else if have.OID != t.OID || !ok {
		s = "(" + s + ")"
	}
	if have.OID != t.OID || t.Mod >= 0 {
		s += "::" + d.typeName(t)
	}
	return d.as(s, t, want), nil
}

// call writes a function's call by its name.
func (d *deparser) call(x *ast.FuncCall, want types.Type) (string, error) {
	name, ok := x.Funcname.Items[len(x.Funcname.Items)-1].(*ast.String)
	if !ok || x.Over != nil || x.AggFilter != nil || x.AggOrder != nil || x.AggStar || x.AggDistinct || x.FuncVariadic {
		return "", errForm
	}
	e, err := d.bound(x)
	if fs := fn.Lookup(name.SVal); err != nil && len(fs) == 1 { // nextval() of a name that only the host resolves
		e, err = &expr.Call{Fn: fs[0], Args: make([]expr.Expr, len(fs[0].Args)), Typ: types.Type{OID: fs[0].Ret, Mod: -1}}, nil
	}
	if err != nil {
		return "", err
	}
	c, ok := uncast(e).(*expr.Call)
	var args []ast.Node
	if x.Args != nil {
		args = x.Args.Items
	}
	if !ok || c.Fn.Name != name.SVal || len(args) > len(c.Args) {
		return "", errForm
	}
	if x.Funcformat == ast.COERCE_SQL_SYNTAX {
		return d.syntax(x, c, want)
	}
	var out []string
	for i, a := range args {
		if _, named := a.(*ast.NamedArgExpr); named {
			return "", errForm
		}
		s, err := d.expr(a, argument(c, i))
		if err != nil {
			return "", err
		}
		out = append(out, s)
	}
	return d.as(parse.QuoteName(name.SVal)+"("+strings.Join(out, ", ")+")", e.Type(), want), nil
}

// argument is the type that a call takes at i.
func argument(c *expr.Call, i int) types.Type {
	o := c.Fn.ArgType(i)
	if fn.IsPolymorphic(o) && c.Args[i] != nil {
		o = c.Args[i].Type().OID
	}
	return types.Type{OID: o, Mod: -1}
}

// syntax writes the calls that SQL has words for.
func (d *deparser) syntax(x *ast.FuncCall, c *expr.Call, want types.Type) (string, error) {
	var a []string
	for i, n := range x.Args.Items {
		s, err := d.expr(n, argument(c, i))
		if err != nil {
			return "", err
		}
		a = append(a, s)
	}
	var s string
	switch {
	case c.Fn.Name == "extract" && len(a) == 2:
		field, ok := literal(bare(x.Args.Items[0]))
		if !ok {
			return "", errForm
		}
		s = "EXTRACT(" + field + " FROM " + a[1] + ")"
	case c.Fn.Name == "position" && len(a) == 2:
		s = "POSITION((" + a[1] + ") IN (" + a[0] + "))"
	case c.Fn.Name == "timezone" && len(a) == 2:
		s = "(" + a[1] + " AT TIME ZONE " + a[0] + ")"
	case c.Fn.Name == "substring" && len(a) > 1:
		s = "SUBSTRING(" + a[0] + " FROM " + a[1]
		if len(a) > 2 {
			s += " FOR " + a[2]
		}
		s += ")"
	default:
		word := map[string]string{"btrim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[c.Fn.Name]
		if word == "" {
			return "", errForm
		}
		if s = "TRIM(" + word + " "; len(a) > 1 {
			s += a[1] + " "
		}
		s += "FROM " + a[0] + ")"
	}
	return d.as(s, c.Typ, want), nil
}

// uncast takes off the conversions that the binder put around a call for the
// way its result is carried.
func uncast(e expr.Expr) expr.Expr {
	for {
		c, ok := e.(*expr.Cast)
		if !ok || c.Explicit || c.Typ.OID != c.Arg.Type().OID {
			return e
		}
		e = c.Arg
	}
}

func (d *deparser) operation(x *ast.A_Expr, want types.Type) (string, error) {
	name, ok := x.Name.Items[len(x.Name.Items)-1].(*ast.String)
	if !ok {
		return "", errForm
	}
	switch x.Kind {
	case ast.AEXPR_OP, ast.AEXPR_LIKE, ast.AEXPR_ILIKE:
		if c, ok := bare(x.Rexpr).(*ast.A_Const); ok && x.Lexpr == nil && name.SVal == "-" && !c.Isnull {
			t, err := d.typed(c)
			if _, text := literal(c); err != nil || text {
				return "", errForm
			}
			return d.as(number("-"+c.SqlString(), d.typeName(t)), t, want), nil
		}
	case ast.AEXPR_NULLIF:
		t, err := d.typed(x.Lexpr)
		if err != nil {
			return "", err
		}
		pair, err := d.list(ast.NewNodeList(x.Lexpr, x.Rexpr), t)
		return d.as("NULLIF("+pair+")", t, want), err
	case ast.AEXPR_BETWEEN, ast.AEXPR_NOT_BETWEEN:
		bounds, ok := x.Rexpr.(*ast.NodeList)
		if !ok || len(bounds.Items) != 2 {
			return "", errForm
		}
		var sides [2]string
		ops, word := [2]string{">=", "<="}, " AND "
		if x.Kind == ast.AEXPR_NOT_BETWEEN {
			ops, word = [2]string{"<", ">"}, " OR "
		}
		for i, op := range ops {
			var err error
			one := ast.NewA_Expr(ast.AEXPR_OP, ast.NewNodeList(ast.NewString(op)), x.Lexpr, bounds.Items[i], -1)
			if sides[i], err = d.operation(one, types.Type{}); err != nil {
				return "", err
			}
		}
		return "(" + sides[0] + word + sides[1] + ")", nil
	case ast.AEXPR_IN:
		return d.in(x, name.SVal)
	default:
		return "", errForm
	}
	e, err := d.bound(x)
	if err != nil {
		return "", err
	}
	c, ok := uncast(e).(*expr.Call)
	if !ok || len(c.Args) > 2 || (x.Lexpr == nil) != (len(c.Args) == 1) {
		return "", errForm
	}
	right, err := d.expr(x.Rexpr, argument(c, len(c.Args)-1))
	if err != nil {
		return "", err
	}
	s := "(" + name.SVal + " " + right + ")"
	if x.Lexpr != nil {
		left, err := d.expr(x.Lexpr, argument(c, 0))
		if err != nil {
			return "", err
		}
		s = "(" + left + " " + name.SVal + " " + right + ")"
	}
	return d.as(s, e.Type(), want), nil
}

// in writes IN (constants) as PostgreSQL keeps it: = ANY (ARRAY[…]).
func (d *deparser) in(x *ast.A_Expr, op string) (string, error) {
	list, ok := x.Rexpr.(*ast.NodeList)
	if ok && len(list.Items) == 1 {
		return d.operation(ast.NewA_Expr(ast.AEXPR_OP, x.Name, x.Lexpr, list.Items[0], -1), types.Type{})
	}
	e, err := d.bound(x)
	if err != nil || !ok {
		return "", errForm
	}
	in, ok := uncast(e).(*expr.In)
	if !ok || len(in.List) != len(list.Items) || len(in.List) < 2 {
		return "", errForm
	}
	for _, n := range list.Items {
		if _, ok := bare(n).(*ast.A_Const); !ok {
			return "", errForm // columns among them are kept apart
		}
	}
	elem := types.Type{OID: in.List[0].Type().OID, Mod: -1}
	takes := types.Type{OID: in.Eq.ArgType(0), Mod: -1}
	items, err := d.list(list, elem)
	if err != nil {
		return "", err
	}
	array := "ARRAY[" + items + "]"
	if fn.IsPolymorphic(takes.OID) {
		takes = elem
	}
	if takes.OID != elem.OID {
		array = "(" + array + ")::" + d.typeName(takes) + "[]"
	}
	left, err := d.expr(x.Lexpr, takes)
	if err != nil {
		return "", err
	}
	if op == "<>" {
		return "(" + left + " <> ALL (" + array + "))", nil
	}
	return "(" + left + " = ANY (" + array + "))", nil
}

func (d *deparser) logic(x *ast.BoolExpr) (string, error) {
	var out []string
	for _, a := range x.Args.Items {
		s, err := d.expr(a, types.Bool)
		if err != nil {
			return "", err
		}
		out = append(out, s)
	}
	switch x.Boolop {
	case ast.AND_EXPR:
		return "(" + strings.Join(out, " AND ") + ")", nil
	case ast.OR_EXPR:
		return "(" + strings.Join(out, " OR ") + ")", nil
	}
	return "(NOT " + out[0] + ")", nil
}
