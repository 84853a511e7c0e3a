package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// place says where an expression stands: the clause's name in messages and
// what may be called there.
type place struct {
	name          string
	agg, win, srf bool
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
	inValues    = place{name: "VALUES", agg: false, srf: true}
	inUpdate    = place{name: "UPDATE"}
	inReturning = place{name: "RETURNING"}
	inFilter    = place{name: "FILTER"}
	inDefault   = place{name: "DEFAULT expressions"}
	inCheck     = place{name: "check constraints"}
	inGenerated = place{name: "column generation expressions"}
	inIndex     = place{name: "index expressions"}
	inMergeWhen = place{name: "MERGE WHEN conditions"}
)

// value binds an expression by its form.
func (sc *scope) value(n ast.Node, p place) (expr.Expr, error) {
	b := sc.b
	if err := b.look(); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *ast.ParenExpr:
		return sc.expr(n.Expr, p)
	case *ast.ColumnRef:
		names, rest := splitFields(n)
		if _, except, ok := parse.Star(items(n.Fields)); ok && except != nil {
			return nil, pgerr.New(pgerr.SyntaxError, "a row without some columns is not supported here").At(b.posIdent(except[0])).
				WithHint("Write a query of them: (SELECT * EXCLUDE (…) FROM …).")
		}
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
		if _, lacks := b.lacking("<", t); lacks {
			return nil, pgerr.New(pgerr.UndefinedFunction, "could not identify a comparison function for type %s", b.typeName(t)).At(b.posWord(name))
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
	full, err := sc.b.columnName(append(names[:len(names):len(names)], "*"))
	if err != nil {
		return nil, err
	}
	names = full[:len(full)-1]
	schema := ""
	if len(names) > 1 {
		schema = names[0]
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
	if e, err = b.coerce(e, t, fn.ExplicitCast, pos); err != nil {
		return nil, err
	}
	if is := e.Type(); is.OID == t.OID && t.Mod < 0 && is.Mod >= 0 && is.OID != types.BpcharOID {
		// A cast to the plain type takes the modifier off and leaves the value, of
		// which the blanks of a character(n) would not be left.
		is.Mod = -1
		return &expr.Cast{Arg: e, Typ: is, Explicit: true}, nil
	}
	return e, nil
}

// posCast is where PostgreSQL points for a cast it refuses.
func (b *binder) posCast(n *ast.TypeCast) int {
	if p := b.posWord("cast"); p > 0 {
		return p
	}
	return b.posOp("::")
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
