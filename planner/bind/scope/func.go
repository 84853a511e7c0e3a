package scope

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Calls that queries of relations over forecasting models make: see the package model.
const (
	SeriesCall = "~series"
	EffectCall = "~effect"
)

// funcCall binds a call of any kind of function.
func (sc *Scope) funcCall(n *ast.FuncCall, p Place) (expr.Expr, error) {
	b := sc.Binder
	schema, name, err := b.ObjectName(n.Funcname, b.SpotFunc)
	if err != nil {
		return nil, err
	}
	if schema == "ml" && (name == SeriesCall || name == EffectCall) || (name == "predict" || name == "predict_proba") && (schema == "" || schema == "ml") {
		return b.Stmt.Nested.Predict(sc, name, typing.Items(n.Args), p)
	}
	if e, err := tryCast(sc, n, schema, name, p); e != nil || err != nil {
		return e, err
	}
	inv, err := sc.Invocation(n, p)
	if err != nil {
		return nil, err
	}
	if n.AggWithinGroup {
		return sc.orderedSet(n, inv, p)
	}
	c, err := b.Resolve(inv)
	if err != nil {
		if c, ok := b.typeCall(n, inv); ok {
			return b.Coerce(inv.Args[0], c, fn.ExplicitCast, typing.Position{})
		}
		if e := functional(inv); e != nil {
			return e, nil
		}
		return nil, err
	}
	if c.Func == nil {
		t, _ := b.NamedType("", name)
		return b.Coerce(inv.Args[0], typing.Physical(t), fn.ExplicitCast, typing.Position{})
	}
	f := c.Func
	if f.User != nil {
		b.Note(f.OID, 0, 'X', b.Runs, false)
	}
	if f.Kind != fn.Aggregate && f.Kind != fn.Window {
		if err := PlainCall(n, f, inv.Pos); err != nil {
			return nil, err
		}
	}
	if e, err := b.OfArray(c, inv); e != nil || err != nil {
		return e, err
	}
	args, ret, err := b.BindArgs(c, inv)
	if err != nil {
		return nil, err
	}
	if f.User != nil {
		ret = typing.Result(&b.Resolver, ret)
	}
	if t := b.Trace(); t != nil {
		t.Calls[n] = &expr.Call{Fn: f, Args: args, Typ: ret}
	}
	if f.User != nil && f.User.Aggregate == nil && f.User.Language == catalog.LanguageSQL {
		return b.Stmt.Nested.Function(sc, f, args, ret, p)
	}
	switch f.Kind {
	case fn.Aggregate:
		if f.Ordered {
			return nil, pgerr.New(pgerr.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", name).At(inv.Pos.At())
		}
		call := expr.AggCall{Fn: f, Args: args, Typ: ret, Distinct: n.AggDistinct, Star: n.AggStar}
		if len(args) == 0 && !n.AggStar {
			return nil, pgerr.New(pgerr.WrongObjectType, "%s(*) must be used to call a parameterless aggregate function", name).At(inv.Pos.At())
		}
		if f.User != nil {
			if call.Machine, err = newMachine(sc, f, args, ret, inv.Pos); err != nil {
				return nil, err
			}
		}
		return sc.aggregate(n, call, p, inv.Pos)
	case fn.Window:
		if n.Over == nil {
			return nil, pgerr.New(pgerr.WrongObjectType, "window function %s requires an OVER clause", name).At(inv.Pos.At())
		}
		if n.AggDistinct {
			return nil, pgerr.Unsupported("DISTINCT is not implemented for window functions").At(inv.Pos.At())
		}
		if len(typing.Items(n.AggOrder)) > 0 {
			return nil, pgerr.Unsupported("aggregate ORDER BY is not implemented for window functions").At(inv.Pos.At())
		}
		if n.AggFilter != nil {
			return nil, pgerr.Unsupported("FILTER is not implemented for non-aggregate window functions").At(inv.Pos.At())
		}
		return sc.windowCall(n.Over, expr.AggCall{Fn: f, Args: args, Typ: ret}, p, inv.Pos)
	case fn.SetReturning:
		return sc.setReturning(f, args, ret, p, inv.Pos)
	}
	return &expr.Call{Fn: f, Args: args, Typ: ret}, nil
}

// PlainCall refuses the decorations of aggregates on other functions.
func PlainCall(n *ast.FuncCall, f *fn.Func, pos typing.Position) error {
	what := ""
	switch {
	case n.AggStar:
		what = f.Name + "(*)"
	case n.AggDistinct:
		what = "DISTINCT"
	case len(typing.Items(n.AggOrder)) > 0:
		what = "ORDER BY"
	case n.AggFilter != nil:
		what = "FILTER"
	case n.Over != nil:
		return pgerr.New(pgerr.WrongObjectType, "OVER specified, but %s is not a window function nor an aggregate function", f.Name).At(pos.At())
	default:
		return nil
	}
	return pgerr.New(pgerr.WrongObjectType, "%s specified, but %s is not an aggregate function", what, f.Name).At(pos.At())
}

// Invocation binds a call's arguments.
func (sc *Scope) Invocation(n *ast.FuncCall, p Place) (*typing.Invocation, error) {
	schema, name := typing.Qualified(n.Funcname)
	if schema == "ml" && len(fn.Lookup(name)) == 0 {
		if err := notOfModels(sc, n, name, p); err != nil {
			return nil, err
		}
	}
	inv := &typing.Invocation{Schema: schema, Name: name, Variadic: n.FuncVariadic, Pos: sc.Binder.SpotFunc(name)}
	inv.Default = func(text string) (expr.Expr, error) {
		return sc.Binder.TextExpr(text, &Scope{Binder: sc.Binder, Level: sc.Level}, Place{Name: "DEFAULT expressions"})
	}
	for _, a := range typing.Items(n.Args) {
		arg := ""
		if na, ok := a.(*ast.NamedArgExpr); ok {
			arg, a = na.Name, na.Arg
			for _, had := range inv.Names {
				if had == arg {
					return nil, pgerr.New(pgerr.SyntaxError, "argument name \"%s\" used more than once", arg).At(sc.Binder.PosIdent(arg))
				}
			}
		} else if len(inv.Names) > 0 && inv.Names[len(inv.Names)-1] != "" {
			return nil, pgerr.New(pgerr.SyntaxError, "positional argument cannot follow named argument").At(sc.Binder.PosExpr(a))
		}
		e, err := sc.Expr(a, p)
		if err != nil {
			return nil, err
		}
		// A parameter that is declared void is no argument: JDBC writes the place of a call's result so.
		if par, ok := e.(*expr.Param); ok && par.Typ.OID == types.VoidOID && !n.AggWithinGroup {
			continue
		}
		inv.Args, inv.Names = append(inv.Args, e), append(inv.Names, arg)
	}
	if len(inv.Args) > 100 && !variadicName(name) && len(typing.UserFunctions(&sc.Binder.Resolver, schema, name)) == 0 {
		return nil, pgerr.New(pgerr.TooManyArguments, "cannot pass more than 100 arguments to a function").At(inv.Pos.At())
	}
	return inv, nil
}

// notOfModels returns the error 42883 for a name that is nothing in the schema ml, and for one of a relation over a query
// where only values may be called: before its arguments are bound, for a query of several columns is no value. nil for
// others.
func notOfModels(sc *Scope, n *ast.FuncCall, name string, p Place) error {
	pos := sc.Binder.SpotFunc(name)
	const far = 4
	best, near := far, ""
	for _, f := range fn.Described() {
		if f.Schema != "ml" {
			continue
		}
		if f.Name == name {
			if f.Kind == fn.SetReturning && p.Name != InFunctions.Name && slices.ContainsFunc(typing.Items(n.Args), isQuery) {
				return pgerr.New(pgerr.UndefinedFunction, "ml.%s is a relation, not a value", name).WithHint("Write SELECT … FROM ml.%s(…).", name).At(pos.At())
			}
			return nil
		}
		if d := distance(name, f.Name, far); d < best && d <= len(name)/2 {
			best, near = d, f.Name
		}
	}
	e := pgerr.New(pgerr.UndefinedFunction, "function ml.%s does not exist", name).At(pos.At())
	switch other := elsewhere[name]; {
	case other != "":
		return e.WithHint("%s", other)
	case near == "":
		return e
	}
	return e.WithHint("Perhaps you meant ml.%s.", near)
}

// isQuery reports whether an argument is a query in parentheses.
func isQuery(arg ast.Node) bool {
	if named, ok := arg.(*ast.NamedArgExpr); ok {
		arg = named.Arg
	}
	sub, ok := arg.(*ast.SubLink)
	return ok && sub.SubLinkType == ast.EXPR_SUBLINK
}

func variadicName(name string) bool {
	for _, f := range fn.Lookup(name) {
		if f.Variadic != 0 {
			return true
		}
	}
	return false
}

// typeCall is a function call that means a cast: date('2020-01-01').
func (b *Binder) typeCall(n *ast.FuncCall, inv *typing.Invocation) (types.Type, bool) {
	if len(inv.Args) != 1 || inv.Names[0] != "" || n.AggStar || n.AggDistinct || n.AggFilter != nil || n.Over != nil || n.FuncVariadic {
		return types.Type{}, false
	}
	t, ok := b.NamedType(inv.Schema, inv.Name)
	if !ok || t.OID == types.RecordOID {
		return t, false
	}
	from := inv.Args[0].Type().OID
	return t, from != types.RecordOID && b.CanCoerce(from, t.OID, fn.ExplicitCast)
}

// functional binds f(row) for a field f of the row; it returns nil if the call is no such.
func functional(inv *typing.Invocation) expr.Expr {
	if len(inv.Args) != 1 || inv.Schema != "" || inv.Args[0].Type().OID != types.RecordOID || inv.Args[0].Type().Rec == nil {
		return nil
	}
	for i, f := range inv.Args[0].Type().Rec.Fields {
		if f.Name == inv.Name {
			return FieldOf(inv.Args[0], i, f.Type)
		}
	}
	return nil
}

// TextExpr binds an expression given as SQL text: a default, a check.
func (b *Binder) TextExpr(text string, sc *Scope, p Place) (expr.Expr, error) {
	n, err := typing.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	inner := *b
	inner.Text, inner.Plain = nil, true
	s := *sc
	s.Binder = &inner
	return s.Expr(n, p)
}

// setReturning returns a column that a ProjectSet of the level computes.
func (sc *Scope) setReturning(f *fn.Func, args []expr.Expr, ret types.Type, p Place, pos typing.Position) (expr.Expr, error) {
	b := sc.Binder
	switch {
	case p.inside != "":
		return nil, pgerr.Unsupported("set-returning functions are not allowed in %s", p.inside).
			WithHint("You might be able to move the set-returning function into a LATERAL FROM item.").At(pos.At())
	case !p.srf || sc.Level == nil:
		return nil, pgerr.Unsupported("set-returning functions are not allowed in %s", p.Name).At(pos.At())
	}
	it := &SetCall{Call: plan.SetCall{Fn: f, Args: args}}
	for _, a := range args {
		b.EachCol(a, func(id expr.ColID) {
			for _, s := range sc.Level.SetCalls {
				for _, c := range s.Call.Cols {
					if c.ID == id {
						it.Depth = max(it.Depth, s.Depth+1)
					}
				}
			}
		})
	}
	add := func(name string, t types.Type) *expr.Col {
		c := b.NewCol(sc.Level, name, t)
		b.Stmt.Kind[c.ID] = 's'
		it.Call.Cols = append(it.Call.Cols, c)
		return Col(c)
	}
	sc.Level.SetCalls = append(sc.Level.SetCalls, it)
	if ret.OID == types.RecordOID && f.Rec != nil {
		if ret.Rec == nil {
			ret.Rec = f.Rec
		}
		row := &expr.RowCtor{Typ: ret}
		for _, fl := range ret.Rec.Fields {
			row.Elems = append(row.Elems, add(fl.Name, fl.Type))
		}
		return row, nil
	}
	if ret.OID == types.RecordOID && ret.Rec == nil {
		return nil, pgerr.Unsupported("function returning record called in context that cannot accept type record").At(pos.At())
	}
	return add(f.Name, ret), nil
}
