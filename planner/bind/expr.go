package bind

import (
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// place says where an expression stands: the clause's name in messages and
// what may be called there.
type place struct {
	name          string
	agg, win, srf bool
	inAgg, inWin  bool   // within the arguments of one
	inside        string // a construct that allows no set-returning function
}

// The places.
var (
	inSelect    = place{name: "SELECT", agg: true, win: true, srf: true}
	inWhere     = place{name: "WHERE"}
	inHaving    = place{name: "HAVING", agg: true}
	inOrderBy   = place{name: "ORDER BY", agg: true, win: true, srf: true}
	inGroupBy   = place{name: "GROUP BY", srf: true}
	inDistinct  = place{name: "DISTINCT ON", agg: true, win: true, srf: true}
	inLimit     = place{name: "LIMIT"}
	inOffset    = place{name: "OFFSET"}
	inJoin      = place{name: "JOIN conditions"}
	inFrom      = place{name: "functions in FROM", srf: true}
	inValues    = place{name: "VALUES", agg: false, srf: true}
	inUpdate    = place{name: "UPDATE"}
	inReturning = place{name: "RETURNING"}
	inFilter    = place{name: "FILTER"}
	inWindow    = place{name: "window definitions", agg: true}
	inDefault   = place{name: "DEFAULT expressions"}
	inCheck     = place{name: "check constraints"}
	inGenerated = place{name: "column generation expressions"}
	inIndex     = place{name: "index expressions"}
	inMergeWhen = place{name: "MERGE WHEN conditions"}
)

// expr binds an expression.
func (sc *scope) expr(n ast.Node, p place) (expr.Expr, error) {
	b := sc.b
	switch n := n.(type) {
	case *ast.ParenExpr:
		return sc.expr(n.Expr, p)
	case *ast.ColumnRef:
		names, rest := splitFields(n)
		if len(rest) > 0 {
			if _, ok := rest[len(rest)-1].(*ast.A_Star); ok && len(rest) == 1 {
				return sc.starRow(names)
			}
		}
		e, err := sc.columnRef(names)
		if err != nil {
			return nil, err
		}
		return sc.indirect(e, rest, p)
	case *ast.A_Const:
		return b.constant(n)
	case *ast.String: // the field of EXTRACT
		return &expr.Const{Val: n.SVal, Typ: types.Text}, nil
	case *ast.ParamRef:
		return b.param(n.Number)
	case *ast.A_Expr:
		return sc.aExpr(n, p)
	case *ast.BoolExpr:
		return sc.boolExpr(n, p)
	case *ast.NullTest:
		e, err := sc.expr(n.Arg, p)
		if err != nil {
			return nil, err
		}
		return &expr.IsNull{Arg: e, Not: n.Nulltesttype == ast.IS_NOT_NULL}, nil
	case *ast.BooleanTest:
		return sc.booleanTest(n, p)
	case *ast.TypeCast:
		return sc.cast(n, p)
	case *ast.CaseExpr:
		return sc.caseExpr(n, p)
	case *ast.CoalesceExpr:
		es, err := sc.exprs(items(n.Args), p.within("COALESCE"))
		if err != nil {
			return nil, err
		}
		es, t, err := b.unify("COALESCE", es, b.spotWord("coalesce"))
		if err != nil {
			return nil, err
		}
		return &expr.Coalesce{Args: es, Typ: t}, nil
	case *ast.MinMaxExpr:
		name := "GREATEST"
		if n.Op == ast.IS_LEAST {
			name = "LEAST"
		}
		es, err := sc.exprs(items(n.Args), p)
		if err != nil {
			return nil, err
		}
		es, t, err := b.unify(name, es, b.spotWord(name))
		if err != nil {
			return nil, err
		}
		if err := b.comparable(t, true, b.spotWord(name)); err != nil {
			return nil, err
		}
		return &expr.MinMax{Args: es, Greatest: n.Op == ast.IS_GREATEST, Typ: t}, nil
	case *ast.ArrayExpr:
		return sc.array(items(n.Elements), nil, p)
	case *ast.A_ArrayExpr:
		return sc.array(items(n.Elements), nil, p)
	case *ast.RowExpr:
		es, err := sc.rowItems(items(n.Args), p)
		if err != nil {
			return nil, err
		}
		return b.row(es)
	case *ast.SubLink:
		return sc.subLink(n, p)
	case *ast.FuncCall:
		return sc.funcCall(n, p)
	case *ast.A_Indirection:
		e, err := sc.expr(n.Arg, p)
		if err != nil {
			return nil, err
		}
		return sc.indirect(e, items(n.Indirection), p)
	case *ast.CollateClause:
		return sc.collate(n, p)
	case *ast.SQLValueFunction:
		return b.valueFunction(n)
	case *ast.GroupingFunc:
		return sc.grouping(n, p)
	case *ast.SetToDefault:
		return nil, pgerr.New(pgerr.SyntaxError, "DEFAULT is not allowed in this context").At(b.posWord("default"))
	case *ast.NamedArgExpr:
		return nil, pgerr.New(pgerr.SyntaxError, "named notation is not allowed here")
	case *ast.CurrentOfExpr:
		return nil, pgerr.Unsupported("WHERE CURRENT OF is not supported").At(b.posWord("current"))
	case *ast.MultiAssignRef:
		return nil, pgerr.New(pgerr.SyntaxError, "multiple assignment is not allowed here")
	case nil:
		return nil, pgerr.Internal("an expression is missing")
	}
	return nil, pgerr.Unsupported("this expression is not supported: %s", n.SqlString())
}

// within is p inside a construct that evaluates its parts conditionally.
func (p place) within(construct string) place {
	p.inside = construct
	return p
}

func (sc *scope) exprs(ns []ast.Node, p place) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(ns))
	for i, n := range ns {
		e, err := sc.expr(n, p)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

// again binds n a second time if the expression it gave cannot stand twice:
// a subquery's plan has columns of its own.
func (sc *scope) again(e expr.Expr, n ast.Node, p place) (expr.Expr, error) {
	if !hasSubquery(e) {
		return e, nil
	}
	return sc.expr(n, p)
}

func hasSubquery(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if _, ok := x.(*expr.Subquery); ok {
			found = true
		}
		return !found
	})
	return found
}

// splitFields parts a column reference into its names and what follows them:
// subscripts, or a star.
func splitFields(n *ast.ColumnRef) (names []string, rest []ast.Node) {
	for i, f := range items(n.Fields) {
		s, ok := f.(*ast.String)
		if !ok {
			return names, n.Fields.Items[i:]
		}
		names = append(names, s.SVal)
	}
	return names, nil
}

// starRow is rel.* as one value.
func (sc *scope) starRow(names []string) (expr.Expr, error) {
	if len(names) == 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "row expansion via \"*\" is not supported here")
	}
	r, err := sc.starRel(names)
	if err != nil {
		return nil, err
	}
	return sc.b.wholeRow(r), nil
}

// starRel finds the FROM item of rel.*.
func (sc *scope) starRel(names []string) (*rel, error) {
	schema := ""
	if len(names) > 1 {
		schema = names[len(names)-2]
	}
	name := names[len(names)-1]
	r, err := sc.relation(schema, name)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, sc.missingFrom(schema, name, names)
	}
	return r, nil
}

// constant binds a literal.
func (b *binder) constant(n *ast.A_Const) (expr.Expr, error) {
	if n.Isnull || n.Val == nil {
		return &expr.Const{Typ: types.Unknown}, nil
	}
	switch v := n.Val.(type) {
	case *ast.Integer:
		return intLit(int64(v.IVal)), nil
	case *ast.Float:
		return b.number(v.FVal)
	case *ast.String:
		return &expr.Const{Val: v.SVal, Typ: types.Unknown}, nil
	case *ast.Boolean:
		return &expr.Const{Val: v.BoolVal, Typ: types.Bool}, nil
	case *ast.BitString:
		s, err := types.ParseBits(v.BSVal)
		if err != nil {
			return nil, err
		}
		return &expr.Const{Val: s, Typ: types.Type{OID: types.BitOID, Mod: int32(len(s))}}, nil
	case *ast.Null:
		return &expr.Const{Typ: types.Unknown}, nil
	}
	return nil, pgerr.Internal("a literal of %T", n.Val)
}

func intLit(v int64) *expr.Const {
	if int64(int32(v)) == v {
		return &expr.Const{Val: v, Typ: types.Int4}
	}
	return &expr.Const{Val: v, Typ: types.Int8}
}

// number binds a number that the grammar did not take for an int4.
func (b *binder) number(s string) (expr.Expr, error) {
	if !strings.ContainsAny(s, ".eE") {
		if v, err := strconv.ParseInt(s, 10, 64); err == nil {
			return intLit(v), nil
		}
	}
	d, err := types.ParseDecimal(s)
	if err != nil {
		return nil, b.at(err, b.spotLit(s))
	}
	return &expr.Const{Val: d, Typ: fixedFor(d)}, nil
}

// negate is -n for a number literal; ok is false for anything else.
func (b *binder) negate(n ast.Node) (expr.Expr, bool, error) {
	switch x := n.(type) {
	case *ast.ParenExpr:
		return b.negate(x.Expr)
	case *ast.A_Const:
		switch v := x.Val.(type) {
		case *ast.Integer:
			return intLit(-int64(v.IVal)), true, nil
		case *ast.Float:
			s := "-" + v.FVal
			if strings.HasPrefix(v.FVal, "-") {
				s = v.FVal[1:]
			}
			e, err := b.number(s)
			return e, true, err
		}
	}
	return nil, false, nil
}

// boolExpr binds AND, OR and NOT; chains become one node.
func (sc *scope) boolExpr(n *ast.BoolExpr, p place) (expr.Expr, error) {
	b := sc.b
	word := map[ast.BoolExprType]string{ast.AND_EXPR: "AND", ast.OR_EXPR: "OR", ast.NOT_EXPR: "NOT"}[n.Boolop]
	var leaves []ast.Node
	if n.Boolop == ast.NOT_EXPR {
		leaves = items(n.Args)
	} else {
		leaves = flatten(n, n.Boolop, nil)
	}
	args := make([]expr.Expr, len(leaves))
	for i, l := range leaves {
		e, err := sc.expr(l, p)
		if err != nil {
			return nil, err
		}
		if e, err = b.boolean(e, word, b.spotExpr(l)); err != nil {
			return nil, err
		}
		args[i] = e
	}
	switch n.Boolop {
	case ast.AND_EXPR:
		return &expr.And{Args: args}, nil
	case ast.OR_EXPR:
		return &expr.Or{Args: args}, nil
	}
	if s, ok := args[0].(*expr.Subquery); ok && (s.Kind == expr.SubExists || s.Kind == expr.SubAny && s.Op == "=") {
		c := *s
		c.Not = !s.Not
		return &c, nil
	}
	return &expr.Not{Arg: args[0]}, nil
}

func flatten(n ast.Node, op ast.BoolExprType, out []ast.Node) []ast.Node {
	inner := n
	for {
		p, ok := inner.(*ast.ParenExpr)
		if !ok {
			break
		}
		inner = p.Expr
	}
	if x, ok := inner.(*ast.BoolExpr); ok && x.Boolop == op {
		for _, a := range items(x.Args) {
			out = flatten(a, op, out)
		}
		return out
	}
	return append(out, n)
}

func (sc *scope) booleanTest(n *ast.BooleanTest, p place) (expr.Expr, error) {
	t := &expr.BoolTest{}
	var word string
	switch n.Booltesttype {
	case ast.IS_TRUE:
		word = "IS TRUE"
	case ast.IS_NOT_TRUE:
		t.Not, word = true, "IS NOT TRUE"
	case ast.IS_FALSE:
		t.Kind, word = expr.IsFalse, "IS FALSE"
	case ast.IS_NOT_FALSE:
		t.Kind, t.Not, word = expr.IsFalse, true, "IS NOT FALSE"
	case ast.IS_UNKNOWN:
		t.Kind, word = expr.IsUnknown, "IS UNKNOWN"
	default:
		t.Kind, t.Not, word = expr.IsUnknown, true, "IS NOT UNKNOWN"
	}
	e, err := sc.expr(n.Arg, p)
	if err != nil {
		return nil, err
	}
	t.Arg, err = sc.b.boolean(e, word, sc.b.spotExpr(n.Arg))
	if err != nil {
		return nil, err
	}
	return t, nil
}

// cast binds CAST(x AS t) and x::t.
func (sc *scope) cast(n *ast.TypeCast, p place) (expr.Expr, error) {
	b := sc.b
	t, err := b.resolveType(n.TypeName)
	if err != nil {
		return nil, err
	}
	arg := n.Arg
	for {
		x, ok := arg.(*ast.ParenExpr)
		if !ok {
			break
		}
		arg = x.Expr
	}
	if a, ok := arrayNode(arg); ok {
		if el, ok := b.elem(t); ok {
			return sc.array(a, &el, p)
		}
	}
	e, err := sc.expr(arg, p)
	if err != nil {
		return nil, err
	}
	pos := b.spotExpr(n.Arg)
	from := e.Type()
	if !b.canCoerce(from.OID, t.OID, fn.ExplicitCast) {
		return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", b.typeName(from), b.typeName(t)).At(b.posCast(n))
	}
	return b.coerce(e, t, fn.ExplicitCast, pos)
}

// posCast is where PostgreSQL points for a cast it refuses.
func (b *binder) posCast(n *ast.TypeCast) int {
	if p := b.posWord("cast"); p > 0 {
		return p
	}
	return b.posOp("::")
}

func arrayNode(n ast.Node) ([]ast.Node, bool) {
	switch n := n.(type) {
	case *ast.ArrayExpr:
		return items(n.Elements), true
	case *ast.A_ArrayExpr:
		return items(n.Elements), true
	}
	return nil, false
}

// array binds ARRAY[…]; to is the element type that a cast asks for, or nil.
func (sc *scope) array(elems []ast.Node, to *types.Type, p place) (expr.Expr, error) {
	b := sc.b
	pos := b.spotWord("array")
	if len(elems) == 0 && to == nil {
		return nil, pgerr.New(pgerr.IndeterminateDatatype, "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].").At(pos.at())
	}
	es := make([]expr.Expr, len(elems))
	for i, n := range elems {
		e, err := sc.expr(n, p)
		if err != nil {
			return nil, err
		}
		if b.isArray(e.Type()) {
			return nil, pgerr.Unsupported("multidimensional arrays are not supported").At(pos.at())
		}
		es[i] = e
	}
	var t types.Type
	var err error
	if to != nil {
		t = *to
		for i := range es {
			if !b.canCoerce(es[i].Type().OID, t.OID, fn.ExplicitCast) {
				return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", b.typeName(es[i].Type()), b.typeName(t)).At(pos.at())
			}
			if es[i], err = b.coerce(es[i], t, fn.ExplicitCast, spot{}); err != nil {
				return nil, err
			}
		}
		if es, t, err = b.unifyTo("ARRAY", es, t, pos); err != nil {
			return nil, err
		}
		t.Mod = to.Mod
	} else if es, t, err = b.unify("ARRAY", es, pos); err != nil {
		return nil, err
	}
	a, ok := b.arrayOf(t)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.typeName(t)).At(pos.at())
	}
	return &expr.ArrayCtor{Elems: es, Typ: a}, nil
}

// rowItems binds the fields of a row; t.* among them is spread.
func (sc *scope) rowItems(ns []ast.Node, p place) ([]expr.Expr, error) {
	var out []expr.Expr
	for _, n := range ns {
		if cols, ok, err := sc.star(n, p); err != nil {
			return nil, err
		} else if ok {
			for _, c := range cols {
				out = append(out, c.e)
			}
			continue
		}
		e, err := sc.expr(n, p)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// row makes a record value; its fields are named f1, f2, ….
func (b *binder) row(es []expr.Expr) (expr.Expr, error) {
	rec := &types.Record{}
	for i := range es {
		e, err := b.known(es[i])
		if err != nil {
			return nil, err
		}
		es[i] = e
		rec.Fields = append(rec.Fields, types.Field{Name: "f" + itoa(i+1), Type: e.Type()})
	}
	t := types.RecordT
	t.Rec = rec
	return &expr.RowCtor{Elems: es, Typ: t}, nil
}

// star expands *, rel.* and (record).* where they may be expanded.
func (sc *scope) star(n ast.Node, p place) ([]relCol, bool, error) {
	for {
		x, ok := n.(*ast.ParenExpr)
		if !ok {
			break
		}
		n = x.Expr
	}
	switch n := n.(type) {
	case *ast.ColumnRef:
		names, rest := splitFields(n)
		if len(rest) != 1 {
			return nil, false, nil
		}
		if _, ok := rest[0].(*ast.A_Star); !ok {
			return nil, false, nil
		}
		if len(names) > 0 {
			r, err := sc.starRel(names)
			if err != nil {
				return nil, false, err
			}
			return sc.b.expand([]*rel{r}), true, nil
		}
		var open []*rel
		for _, r := range sc.rels {
			if r.open && !r.blocked {
				open = append(open, r)
			}
		}
		if len(open) == 0 {
			return nil, false, pgerr.New(pgerr.SyntaxError, "SELECT * with no tables specified is not valid").At(sc.b.posOp("*"))
		}
		return sc.b.expand(open), true, nil
	case *ast.A_Indirection:
		ind := items(n.Indirection)
		if _, ok := ind[len(ind)-1].(*ast.A_Star); !ok {
			return nil, false, nil
		}
		e, err := sc.expr(n.Arg, p)
		if err != nil {
			return nil, false, err
		}
		if e, err = sc.indirect(e, ind[:len(ind)-1], p); err != nil {
			return nil, false, err
		}
		t := e.Type()
		if t.OID != types.RecordOID {
			return nil, false, pgerr.New(pgerr.WrongObjectType, "type %s is not composite", sc.b.typeName(t))
		}
		if t.Rec == nil {
			return nil, false, pgerr.New(pgerr.UndefinedFunction, "record type has not been registered")
		}
		out := make([]relCol, len(t.Rec.Fields))
		for i, f := range t.Rec.Fields {
			if i > 0 && hasSubquery(e) { // its plan may stand once only
				if e, err = sc.expr(n.Arg, p); err != nil {
					return nil, false, err
				}
				if e, err = sc.indirect(e, ind[:len(ind)-1], p); err != nil {
					return nil, false, err
				}
			}
			out[i] = relCol{name: f.Name, e: fieldOf(e, i, f.Type)}
		}
		return out, true, nil
	}
	return nil, false, nil
}

// expand lists the columns of FROM items and notes that they are read.
func (b *binder) expand(rels []*rel) []relCol {
	var out []relCol
	for _, r := range rels {
		for i := range r.cols {
			b.use(found{r, &r.cols[i]})
		}
		out = append(out, r.cols...)
	}
	return out
}

func fieldOf(e expr.Expr, i int, t types.Type) expr.Expr {
	if r, ok := e.(*expr.RowCtor); ok {
		return r.Elems[i]
	}
	return &expr.Field{Arg: e, Index: i, Typ: t}
}

// indirect applies field names and subscripts.
func (sc *scope) indirect(e expr.Expr, ind []ast.Node, p place) (expr.Expr, error) {
	b := sc.b
	subscripted := false
	for _, n := range ind {
		switch n := n.(type) {
		case *ast.String:
			t := e.Type()
			if t.OID != types.RecordOID {
				return nil, pgerr.New(pgerr.WrongObjectType, "column notation .%s applied to type %s, which is not a composite type", n.SVal, b.typeName(t)).At(b.posIdent(n.SVal))
			}
			i := -1
			if t.Rec != nil {
				for k, f := range t.Rec.Fields {
					if f.Name == n.SVal {
						i = k
						break
					}
				}
			}
			if i < 0 {
				return nil, pgerr.New(pgerr.UndefinedColumn, "could not identify column \"%s\" in record data type", n.SVal).At(b.posIdent(n.SVal))
			}
			e, subscripted = fieldOf(e, i, t.Rec.Fields[i].Type), false
		case *ast.A_Indices:
			x, err := sc.subscript(e, n, subscripted, p)
			if err != nil {
				return nil, err
			}
			e, subscripted = x, !n.IsSlice
		case *ast.A_Star:
			return nil, pgerr.New(pgerr.SyntaxError, "row expansion via \"*\" is not supported here")
		}
	}
	return e, nil
}

// subscript binds e[i] and e[l:u].
func (sc *scope) subscript(e expr.Expr, n *ast.A_Indices, nested bool, p place) (expr.Expr, error) {
	b := sc.b
	e, err := b.known(e)
	if err != nil {
		return nil, err
	}
	t := e.Type()
	bound := func(x ast.Node) (expr.Expr, error) {
		if x == nil {
			return nil, nil
		}
		i, err := sc.expr(x, p)
		if err != nil {
			return nil, err
		}
		if !b.canCoerce(i.Type().OID, types.Int4OID, fn.AssignmentCast) {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "array subscript must have type integer").At(b.posExpr(x))
		}
		return b.coerce(i, types.Int4, fn.AssignmentCast, spot{})
	}
	if t.OID == types.JSONBOID {
		if n.IsSlice {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "jsonb subscript does not support slices")
		}
		key, err := sc.expr(n.Uidx, p)
		if err != nil {
			return nil, err
		}
		return b.operator("->", e, key, spot{})
	}
	el, ok := b.elem(t)
	if !ok {
		if nested {
			// One more subscript than the array has dimensions gives NULL.
			return &expr.Const{Typ: t}, nil
		}
		return nil, pgerr.New(pgerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", b.typeName(t)).At(0)
	}
	lo, err := bound(n.Lidx)
	if err != nil {
		return nil, err
	}
	hi, err := bound(n.Uidx)
	if err != nil {
		return nil, err
	}
	if n.IsSlice {
		return &expr.Subscript{Array: e, Index: lo, Upper: hi, Slice: true, Typ: t}, nil
	}
	if hi == nil {
		hi = lo
	}
	return &expr.Subscript{Array: e, Index: hi, Typ: el}, nil
}

// caseExpr binds both forms of CASE to the searched one.
func (sc *scope) caseExpr(n *ast.CaseExpr, p place) (expr.Expr, error) {
	b := sc.b
	p = p.within("CASE")
	var arg expr.Expr
	var err error
	if n.Arg != nil {
		if arg, err = sc.expr(n.Arg, p); err != nil {
			return nil, err
		}
		if arg, err = b.known(arg); err != nil {
			return nil, err
		}
	}
	c := &expr.Case{}
	var conds, results []expr.Expr
	for i, w := range items(n.Args) {
		w := w.(*ast.CaseWhen)
		cond, err := sc.expr(w.Expr, p)
		if err != nil {
			return nil, err
		}
		if arg != nil {
			a := arg
			if i > 0 {
				if a, err = sc.again(arg, n.Arg, p); err != nil {
					return nil, err
				}
			}
			if cond, err = b.operator("=", a, cond, b.spotExpr(w.Expr)); err != nil {
				return nil, err
			}
		}
		if cond, err = b.boolean(cond, "CASE/WHEN", b.spotExpr(w.Expr)); err != nil {
			return nil, err
		}
		res, err := sc.expr(w.Result, p)
		if err != nil {
			return nil, err
		}
		conds, results = append(conds, cond), append(results, res)
	}
	var def expr.Expr = &expr.Const{Typ: types.Unknown}
	if n.Defresult != nil {
		if def, err = sc.expr(n.Defresult, p); err != nil {
			return nil, err
		}
	}
	// PostgreSQL looks at ELSE first when it chooses the type.
	all, t, err := b.unify("CASE", append([]expr.Expr{def}, results...), b.spotWord("case"))
	if err != nil {
		return nil, err
	}
	c.Typ = t
	if n.Defresult != nil {
		c.Else = all[0]
	}
	for i := range conds {
		c.Whens = append(c.Whens, expr.When{Cond: conds[i], Then: all[i+1]})
	}
	return c, nil
}

// collate accepts the collations that order as this server does: by bytes.
func (sc *scope) collate(n *ast.CollateClause, p place) (expr.Expr, error) {
	b := sc.b
	e, err := sc.expr(n.Arg, p)
	if err != nil {
		return nil, err
	}
	if err := b.collation(n); err != nil {
		return nil, err
	}
	if c := b.category(e.Type().OID); !isUnknown(e) && c != 'S' && c != 'A' {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s", b.typeName(e.Type())).At(b.posExpr(n.Arg))
	}
	return e, nil
}

func (b *binder) collation(n *ast.CollateClause) error {
	schema, name := qualified(n.Collname)
	switch name {
	case "C", "POSIX", "default", "ucs_basic", "C.UTF-8", "C.utf8":
		if schema == "" || schema == "pg_catalog" {
			return nil
		}
	}
	return pgerr.New(pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", dotted(strs(n.Collname))).At(b.posIdent(name))
}

// valueFunction binds CURRENT_DATE and its kin to the functions behind them.
func (b *binder) valueFunction(n *ast.SQLValueFunction) (expr.Expr, error) {
	call := func(name string) (expr.Expr, error) { return b.callByName(name, nil, spot{}) }
	moment := func(t types.Type) (expr.Expr, error) {
		now, err := call("now")
		if err != nil {
			return nil, err
		}
		if n.TypeMod >= 0 {
			t.Mod = int32(min(n.TypeMod, 6))
		}
		return b.coerce(now, t, fn.ExplicitCast, spot{})
	}
	switch n.Op {
	case ast.SVFOP_CURRENT_DATE:
		return moment(types.Date)
	case ast.SVFOP_CURRENT_TIME, ast.SVFOP_CURRENT_TIME_N:
		return moment(types.Timetz)
	case ast.SVFOP_CURRENT_TIMESTAMP, ast.SVFOP_CURRENT_TIMESTAMP_N:
		return moment(types.Timestamptz)
	case ast.SVFOP_LOCALTIME, ast.SVFOP_LOCALTIME_N:
		return moment(types.Time)
	case ast.SVFOP_LOCALTIMESTAMP, ast.SVFOP_LOCALTIMESTAMP_N:
		return moment(types.Timestamp)
	case ast.SVFOP_SESSION_USER:
		return call("session_user")
	case ast.SVFOP_CURRENT_CATALOG:
		return call("current_database")
	case ast.SVFOP_CURRENT_SCHEMA:
		return call("current_schema")
	}
	return call("current_user")
}

// grouping binds GROUPING(…) to a column that the level's aggregation fills.
func (sc *scope) grouping(n *ast.GroupingFunc, p place) (expr.Expr, error) {
	b := sc.b
	if !p.agg || sc.lv == nil {
		return nil, pgerr.New(pgerr.GroupingError, "grouping operations are not allowed in %s", p.name).At(b.posWord("grouping"))
	}
	if len(items(n.Args)) > 31 {
		return nil, pgerr.New(pgerr.TooManyArguments, "GROUPING must have fewer than 32 arguments").At(b.posWord("grouping"))
	}
	args, err := sc.exprs(items(n.Args), inGroupBy)
	if err != nil {
		return nil, err
	}
	owner := sc.lv
	var inner *level
	for _, a := range args {
		b.eachCol(a, func(id expr.ColID) {
			if lv := b.st.owner[id]; lv != nil && (inner == nil || lv.depth > inner.depth) {
				inner = lv
			}
		})
	}
	if inner != nil {
		owner = inner
	}
	c := b.newCol(owner, "grouping", types.Int4)
	owner.groupings = append(owner.groupings, &groupingItem{col: c, args: args})
	return col(c), nil
}

// columnsOf are the columns of a plan as expressions.
func columnsOf(cols []plan.Column) []expr.Expr {
	out := make([]expr.Expr, len(cols))
	for i, c := range cols {
		out[i] = col(c)
	}
	return out
}
