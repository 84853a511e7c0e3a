package scope

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Place is where an expression stands: the clause's name in messages and what may be called there.
type Place struct {
	Name          string
	agg, win, srf bool
	inside        string // a construct that allows no set-returning function
}

// The places.
var (
	InSelect    = Place{Name: "SELECT", agg: true, win: true, srf: true}
	InWhere     = Place{Name: "WHERE"}
	InHaving    = Place{Name: "HAVING", agg: true}
	InOrderBy   = Place{Name: "ORDER BY", agg: true, win: true, srf: true}
	InGroupBy   = Place{Name: "GROUP BY", srf: true}
	InDistinct  = Place{Name: "DISTINCT ON", agg: true, win: true, srf: true}
	InLimit     = Place{Name: "LIMIT"}
	InOffset    = Place{Name: "OFFSET"}
	InValues    = Place{Name: "VALUES", agg: false, srf: true}
	InUpdate    = Place{Name: "UPDATE"}
	InReturning = Place{Name: "RETURNING"}
	inFilter    = Place{Name: "FILTER"}
	InDefault   = Place{Name: "DEFAULT expressions"}
	InFunctions = Place{Name: "functions in FROM"}
	InCheck     = Place{Name: "check constraints"}
	InGenerated = Place{Name: "column generation expressions"}
	InIndex     = Place{Name: "index expressions"}
	InPredicate = Place{Name: "index predicates"}
	InUsing     = Place{Name: "transform expressions"}
	InMergeWhen = Place{Name: "MERGE WHEN conditions"}
)

// value binds an expression by its form.
func (sc *Scope) value(n ast.Node, p Place) (expr.Expr, error) {
	b := sc.Binder
	if err := b.Poll(); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *ast.ParenExpr:
		return sc.Expr(n.Expr, p)
	case *ast.ColumnRef:
		names, rest := typing.SplitFields(n)
		if _, except, ok := parse.Star(typing.Items(n.Fields)); ok && except != nil {
			return nil, pgerr.New(pgerr.SyntaxError, "a row without some columns is not supported here").At(b.PosIdent(except[0])).
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
		return b.Constant(n)
	case *ast.String: // the field of EXTRACT
		return &expr.Const{Val: n.SVal, Typ: types.Text}, nil
	case *ast.ParamRef:
		if b.In != nil {
			return b.argument(n.Number)
		}
		return b.Param(n.Number)
	case *ast.A_Expr:
		return sc.aExpr(n, p)
	case *ast.BoolExpr:
		return sc.boolExpr(n, p)
	case *ast.NullTest:
		e, err := sc.Expr(n.Arg, p)
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
		es, err := sc.Exprs(typing.Items(n.Args), p.within("COALESCE"))
		if err != nil {
			return nil, err
		}
		es, t, err := b.Unify("COALESCE", es, b.SpotWord("coalesce"))
		if err != nil {
			return nil, err
		}
		return &expr.Coalesce{Args: es, Typ: t}, nil
	case *ast.MinMaxExpr:
		name := "GREATEST"
		if n.Op == ast.IS_LEAST {
			name = "LEAST"
		}
		es, err := sc.Exprs(typing.Items(n.Args), p)
		if err != nil {
			return nil, err
		}
		es, t, err := b.Unify(name, es, b.SpotWord(name))
		if err != nil {
			return nil, err
		}
		if _, lacks := b.Lacks("<", t); lacks {
			return nil, pgerr.New(pgerr.UndefinedFunction, "could not identify a comparison function for type %s", b.TypeName(t)).At(b.PosWord(name))
		}
		return &expr.MinMax{Args: es, Greatest: n.Op == ast.IS_GREATEST, Typ: t}, nil
	case *ast.ArrayExpr:
		return sc.array(typing.Items(n.Elements), nil, p)
	case *ast.A_ArrayExpr:
		return sc.array(typing.Items(n.Elements), nil, p)
	case *ast.RowExpr:
		es, err := sc.RowItems(typing.Items(n.Args), p)
		if err != nil {
			return nil, err
		}
		return b.Row(es)
	case *ast.SubLink:
		return b.Stmt.Nested.Subquery(sc, n, p)
	case *ast.FuncCall:
		return sc.funcCall(n, p)
	case *ast.A_Indirection:
		e, err := sc.Expr(n.Arg, p)
		if err != nil {
			return nil, err
		}
		return sc.indirect(e, typing.Items(n.Indirection), p)
	case *ast.CollateClause:
		return sc.collate(n, p)
	case *ast.SQLValueFunction:
		if r := b.State.Role(b.Runs); r != nil && (n.Op == ast.SVFOP_CURRENT_USER || n.Op == ast.SVFOP_CURRENT_ROLE || n.Op == ast.SVFOP_USER) {
			return &expr.Const{Val: r.Name, Typ: types.Type{OID: types.NameOID, Mod: -1}}, nil
		}
		return b.ValueFunction(n)
	case *ast.GroupingFunc:
		return sc.grouping(n, p)
	case *ast.SetToDefault:
		return nil, pgerr.New(pgerr.SyntaxError, "DEFAULT is not allowed in this context").At(b.PosWord("default"))
	case *ast.NamedArgExpr:
		return nil, pgerr.New(pgerr.SyntaxError, "named notation is not allowed here")
	case *ast.CurrentOfExpr:
		return nil, pgerr.Unsupported("WHERE CURRENT OF is not supported").At(b.PosWord("current"))
	case *ast.MultiAssignRef:
		return nil, pgerr.New(pgerr.SyntaxError, "multiple assignment is not allowed here")
	case nil:
		return nil, pgerr.Internal("an expression is missing")
	}
	return nil, pgerr.Unsupported("this expression is not supported: %s", n.SqlString())
}

// argument is $N in the text of a function.
func (b *Binder) argument(n int) (expr.Expr, error) {
	if n < 1 || n > len(b.Args) {
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", n)
	}
	return b.Args[n-1], nil
}

// within returns p inside a construct that evaluates its parts conditionally.
func (p Place) within(construct string) Place {
	p.inside = construct
	return p
}

func (sc *Scope) Exprs(ns []ast.Node, p Place) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(ns))
	for i, n := range ns {
		e, err := sc.Expr(n, p)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

// Rebind binds n a second time if its expression e must not occur twice: a subquery's plan has
// columns of its own.
func (sc *Scope) Rebind(e expr.Expr, n ast.Node, p Place) (expr.Expr, error) {
	if !HasSubquery(e) {
		return e, nil
	}
	return sc.Expr(n, p)
}

func HasSubquery(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if _, ok := x.(*expr.Subquery); ok {
			found = true
		}
		return !found
	})
	return found
}

// starRow binds rel.* as one value.
func (sc *Scope) starRow(names []string) (expr.Expr, error) {
	if len(names) == 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "row expansion via \"*\" is not supported here")
	}
	r, err := sc.starRel(names)
	if err != nil {
		return nil, err
	}
	return sc.Binder.wholeRow(r), nil
}

// starRel finds the FROM item of rel.*.
func (sc *Scope) starRel(names []string) (*Item, error) {
	full, err := sc.Binder.ColumnName(append(names[:len(names):len(names)], "*"))
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
func (sc *Scope) boolExpr(n *ast.BoolExpr, p Place) (expr.Expr, error) {
	b := sc.Binder
	word := map[ast.BoolExprType]string{ast.AND_EXPR: "AND", ast.OR_EXPR: "OR", ast.NOT_EXPR: "NOT"}[n.Boolop]
	var leaves []ast.Node
	if n.Boolop == ast.NOT_EXPR {
		leaves = typing.Items(n.Args)
	} else {
		leaves = flatten(n, n.Boolop, nil)
	}
	args := make([]expr.Expr, len(leaves))
	for i, l := range leaves {
		e, err := sc.Expr(l, p)
		if err != nil {
			return nil, err
		}
		if e, err = b.Boolean(e, word, b.SpotExpr(l)); err != nil {
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
		for _, a := range typing.Items(x.Args) {
			out = flatten(a, op, out)
		}
		return out
	}
	return append(out, n)
}

func (sc *Scope) booleanTest(n *ast.BooleanTest, p Place) (expr.Expr, error) {
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
	e, err := sc.Expr(n.Arg, p)
	if err != nil {
		return nil, err
	}
	t.Arg, err = sc.Binder.Boolean(e, word, sc.Binder.SpotExpr(n.Arg))
	if err != nil {
		return nil, err
	}
	return t, nil
}

// cast binds CAST(x AS t) and x::t.
func (sc *Scope) cast(n *ast.TypeCast, p Place) (expr.Expr, error) {
	b := sc.Binder
	t, err := b.ResolveType(n.TypeName)
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
		if el, ok := b.Elem(t); ok {
			return sc.array(a, &el, p)
		}
	}
	e, err := sc.Expr(arg, p)
	if err != nil {
		return nil, err
	}
	pos := b.SpotExpr(n.Arg)
	from := e.Type()
	if !b.CanCoerce(from.OID, t.OID, fn.ExplicitCast) {
		return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", b.TypeName(from), b.TypeName(t)).At(b.PosCast(n))
	}
	if e, err = b.Coerce(e, t, fn.ExplicitCast, pos); err != nil {
		return nil, err
	}
	if is := e.Type(); is.OID == t.OID && t.Mod < 0 && is.Mod >= 0 && is.OID != types.BpcharOID {
		// A cast to the plain type removes the modifier and keeps the value; for a character(n) it would
		// lose the blanks.
		is.Mod = -1
		return &expr.Cast{Arg: e, Typ: is, Explicit: true}, nil
	}
	return e, nil
}

// caseExpr binds both forms of CASE to the searched one.
func (sc *Scope) caseExpr(n *ast.CaseExpr, p Place) (expr.Expr, error) {
	b := sc.Binder
	p = p.within("CASE")
	var arg expr.Expr
	var err error
	if n.Arg != nil {
		if arg, err = sc.Expr(n.Arg, p); err != nil {
			return nil, err
		}
		if arg, err = b.ResolveUnknown(arg); err != nil {
			return nil, err
		}
	}
	c := &expr.Case{}
	var conds, results []expr.Expr
	for i, w := range typing.Items(n.Args) {
		w := w.(*ast.CaseWhen)
		cond, err := sc.Expr(w.Expr, p)
		if err != nil {
			return nil, err
		}
		if arg != nil {
			a := arg
			if i > 0 {
				if a, err = sc.Rebind(arg, n.Arg, p); err != nil {
					return nil, err
				}
			}
			if cond, err = b.Operator("=", a, cond, b.SpotExpr(w.Expr)); err != nil {
				return nil, err
			}
		}
		if cond, err = b.Boolean(cond, "CASE/WHEN", b.SpotExpr(w.Expr)); err != nil {
			return nil, err
		}
		res, err := sc.Expr(w.Result, p)
		if err != nil {
			return nil, err
		}
		conds, results = append(conds, cond), append(results, res)
	}
	var def expr.Expr = &expr.Const{Typ: types.Unknown}
	if n.Defresult != nil {
		if def, err = sc.Expr(n.Defresult, p); err != nil {
			return nil, err
		}
	}
	// PostgreSQL considers ELSE first when it chooses the type.
	all, t, err := b.Unify("CASE", append([]expr.Expr{def}, results...), b.SpotWord("case"))
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
func (sc *Scope) grouping(n *ast.GroupingFunc, p Place) (expr.Expr, error) {
	b := sc.Binder
	if !p.agg || sc.Level == nil {
		return nil, pgerr.New(pgerr.GroupingError, "grouping operations are not allowed in %s", p.Name).At(b.PosWord("grouping"))
	}
	if len(typing.Items(n.Args)) > 31 {
		return nil, pgerr.New(pgerr.TooManyArguments, "GROUPING must have fewer than 32 arguments").At(b.PosWord("grouping"))
	}
	args, err := sc.Exprs(typing.Items(n.Args), InGroupBy)
	if err != nil {
		return nil, err
	}
	owner := sc.Level
	var inner *Level
	for _, a := range args {
		b.EachCol(a, func(id expr.ColID) {
			if lv := b.Stmt.Owner[id]; lv != nil && (inner == nil || lv.Depth > inner.Depth) {
				inner = lv
			}
		})
	}
	if inner != nil {
		owner = inner
	}
	c := b.NewCol(owner, "grouping", types.Int4)
	owner.Groupings = append(owner.Groupings, &groupingItem{Col: c, Args: args})
	return Col(c), nil
}

// ColumnsOf returns the columns of a plan as expressions.
func ColumnsOf(cols []plan.Column) []expr.Expr {
	out := make([]expr.Expr, len(cols))
	for i, c := range cols {
		out[i] = Col(c)
	}
	return out
}

// collate accepts the collations that have this server's order: by bytes.
func (sc *Scope) collate(n *ast.CollateClause, p Place) (expr.Expr, error) {
	b := sc.Binder
	e, err := sc.Expr(n.Arg, p)
	if err != nil {
		return nil, err
	}
	if err := b.Collation(n); err != nil {
		return nil, err
	}
	if c := b.Category(e.Type().OID); !typing.IsUnknown(e) && c != 'S' && c != 'A' {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s", b.TypeName(e.Type())).At(b.PosExpr(n.Arg))
	}
	return e, nil
}
