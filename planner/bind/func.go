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

// invocation is a function call with its arguments bound.
type invocation struct {
	schema, name string
	args         []expr.Expr
	names        []string // per argument, "" for a positional one
	variadic     bool     // the last argument is written VARIADIC
	pos          spot
}

// funcCall binds a call of any kind of function.
func (sc *scope) funcCall(n *ast.FuncCall, p place) (expr.Expr, error) {
	b := sc.b
	schema, name, err := b.objectName(n.Funcname, b.spotFunc)
	if err != nil {
		return nil, err
	}
	if (name == "predict" || name == "predict_proba") && (schema == "" || schema == "ml") {
		return sc.predict(name, items(n.Args), p)
	}
	inv, err := sc.invocation(n, p)
	if err != nil {
		return nil, err
	}
	if n.AggWithinGroup {
		return sc.orderedSet(n, inv, p)
	}
	c, err := b.resolve(inv)
	if err != nil {
		if c, ok := b.typeCall(n, inv); ok {
			return b.coerce(inv.args[0], c, fn.ExplicitCast, spot{})
		}
		if e := functional(inv); e != nil {
			return e, nil
		}
		return nil, err
	}
	if c.f == nil {
		t, _ := b.namedType("", name)
		return b.coerce(inv.args[0], carry(t), fn.ExplicitCast, spot{})
	}
	f := c.f
	if f.Kind != fn.Aggregate && f.Kind != fn.Window {
		if err := plainCall(n, f, inv.pos); err != nil {
			return nil, err
		}
	}
	if e, err := b.ofArray(c, inv); e != nil || err != nil {
		return e, err
	}
	args, ret, err := b.bindArgs(c, inv)
	if err != nil {
		return nil, err
	}
	if t := b.trace(); t != nil {
		t.Calls[n] = &expr.Call{Fn: f, Args: args, Typ: ret}
	}
	switch f.Kind {
	case fn.Aggregate:
		if f.Ordered {
			return nil, pgerr.New(pgerr.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", name).At(inv.pos.at())
		}
		call := expr.AggCall{Fn: f, Args: args, Typ: ret, Distinct: n.AggDistinct, Star: n.AggStar}
		if len(args) == 0 && !n.AggStar {
			return nil, pgerr.New(pgerr.WrongObjectType, "%s(*) must be used to call a parameterless aggregate function", name).At(inv.pos.at())
		}
		return sc.aggregate(n, call, p, inv.pos)
	case fn.Window:
		if n.Over == nil {
			return nil, pgerr.New(pgerr.WrongObjectType, "window function %s requires an OVER clause", name).At(inv.pos.at())
		}
		if n.AggDistinct {
			return nil, pgerr.Unsupported("DISTINCT is not implemented for window functions").At(inv.pos.at())
		}
		if len(items(n.AggOrder)) > 0 {
			return nil, pgerr.Unsupported("aggregate ORDER BY is not implemented for window functions").At(inv.pos.at())
		}
		if n.AggFilter != nil {
			return nil, pgerr.Unsupported("FILTER is not implemented for non-aggregate window functions").At(inv.pos.at())
		}
		return sc.windowCall(n.Over, expr.AggCall{Fn: f, Args: args, Typ: ret}, p, inv.pos)
	case fn.SetReturning:
		return sc.setReturning(f, args, ret, p, inv.pos)
	}
	return &expr.Call{Fn: f, Args: args, Typ: ret}, nil
}

// plainCall refuses the decorations of aggregates on other functions.
func plainCall(n *ast.FuncCall, f *fn.Func, pos spot) error {
	what := ""
	switch {
	case n.AggStar:
		what = f.Name + "(*)"
	case n.AggDistinct:
		what = "DISTINCT"
	case len(items(n.AggOrder)) > 0:
		what = "ORDER BY"
	case n.AggFilter != nil:
		what = "FILTER"
	case n.Over != nil:
		return pgerr.New(pgerr.WrongObjectType, "OVER specified, but %s is not a window function nor an aggregate function", f.Name).At(pos.at())
	default:
		return nil
	}
	return pgerr.New(pgerr.WrongObjectType, "%s specified, but %s is not an aggregate function", what, f.Name).At(pos.at())
}

// invocation binds a call's arguments.
func (sc *scope) invocation(n *ast.FuncCall, p place) (*invocation, error) {
	schema, name := qualified(n.Funcname)
	inv := &invocation{schema: schema, name: name, variadic: n.FuncVariadic, pos: sc.b.spotFunc(name)}
	for _, a := range items(n.Args) {
		arg := ""
		if na, ok := a.(*ast.NamedArgExpr); ok {
			arg, a = na.Name, na.Arg
			for _, had := range inv.names {
				if had == arg {
					return nil, pgerr.New(pgerr.SyntaxError, "argument name \"%s\" used more than once", arg).At(sc.b.posIdent(arg))
				}
			}
		} else if len(inv.names) > 0 && inv.names[len(inv.names)-1] != "" {
			return nil, pgerr.New(pgerr.SyntaxError, "positional argument cannot follow named argument").At(sc.b.posExpr(a))
		}
		e, err := sc.expr(a, p)
		if err != nil {
			return nil, err
		}
		// A parameter that is declared void is no argument: so does JDBC write
		// the place of a call's result.
		if par, ok := e.(*expr.Param); ok && par.Typ.OID == types.VoidOID && !n.AggWithinGroup {
			continue
		}
		inv.args, inv.names = append(inv.args, e), append(inv.names, arg)
	}
	if len(inv.args) > 100 && !variadicName(name) {
		return nil, pgerr.New(pgerr.TooManyArguments, "cannot pass more than 100 arguments to a function").At(inv.pos.at())
	}
	return inv, nil
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
func (b *binder) typeCall(n *ast.FuncCall, inv *invocation) (types.Type, bool) {
	if len(inv.args) != 1 || inv.names[0] != "" || n.AggStar || n.AggDistinct || n.AggFilter != nil || n.Over != nil || n.FuncVariadic {
		return types.Type{}, false
	}
	t, ok := b.namedType(inv.schema, inv.name)
	if !ok || t.OID == types.RecordOID {
		return t, false
	}
	from := inv.args[0].Type().OID
	return t, from != types.RecordOID && b.canCoerce(from, t.OID, fn.ExplicitCast)
}

// functional is f(row) for a field f of the row; nil if it is not that.
func functional(inv *invocation) expr.Expr {
	if len(inv.args) != 1 || inv.schema != "" || inv.args[0].Type().OID != types.RecordOID || inv.args[0].Type().Rec == nil {
		return nil
	}
	for i, f := range inv.args[0].Type().Rec.Fields {
		if f.Name == inv.name {
			return fieldOf(inv.args[0], i, f.Type)
		}
	}
	return nil
}

// callByName binds a call that the binder itself makes.
func (b *binder) callByName(name string, args []expr.Expr, pos spot) (expr.Expr, error) {
	inv := &invocation{name: name, args: args, names: make([]string, len(args)), pos: pos}
	c, err := b.resolve(inv)
	if err != nil {
		return nil, err
	}
	args, ret, err := b.bindArgs(c, inv)
	if err != nil {
		return nil, err
	}
	return &expr.Call{Fn: c.f, Args: args, Typ: ret}, nil
}

// resolve chooses the overload of a call.
func (b *binder) resolve(inv *invocation) (cand, error) {
	var list []*fn.Func
	switch inv.schema {
	case "", "pg_catalog", "information_schema", "ml":
		list = fn.Lookup(inv.name)
	default:
		if b.s.State.SchemaByName(inv.schema) == nil {
			return cand{}, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", inv.schema).At(b.posFunc(inv.name))
		}
	}
	in := oidsOf(inv.args)
	var cands []cand
	for _, f := range list {
		if c, ok := arrange(f, inv); ok {
			cands = append(cands, c)
		}
	}
	var exact *cand
	for i := range cands {
		c := &cands[i]
		if oidsEqual(c.pick(in), c.args) && (exact == nil || exact.variadic && !c.variadic) {
			exact = c
		}
	}
	if exact != nil {
		return *exact, nil
	}
	// A name of a type with one argument is a cast, before any guessing.
	if len(in) == 1 && inv.names[0] == "" && in[0] == types.UnknownOID && !inv.variadic {
		if t, ok := b.namedType(inv.schema, inv.name); ok && t.OID != types.RecordOID {
			return cand{}, nil
		}
	}
	var ok []cand
	for i := range cands {
		if b.fits(cands[i].pick(in), &cands[i]) {
			ok = append(ok, cands[i])
		}
	}
	// Without variadic expansion, and without defaults, is nearer.
	ok = nearest(ok)
	if len(ok) > 1 && ok[0].order == nil {
		ok = b.pick(in, ok)
	}
	switch len(ok) {
	case 1:
		return ok[0], nil
	case 0:
		name := inv.name
		if inv.schema != "" {
			name = inv.schema + "." + name
		}
		return cand{}, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", b.signature(name, inv.args, inv.names)).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(inv.pos.at())
	}
	return cand{}, pgerr.New(pgerr.AmbiguousFunction, "function %s is not unique", b.signature(inv.name, inv.args, inv.names)).
		WithHint("Could not choose a best candidate function. You might need to add explicit type casts.").At(inv.pos.at())
}

// pick arranges the call's types in the order of c's parameters, leaving out
// those that get their default.
func (c *cand) pick(in []types.OID) []types.OID {
	if c.order == nil {
		return in
	}
	out := make([]types.OID, len(c.order))
	for i, k := range c.order {
		out[i] = c.args[i]
		if k >= 0 {
			out[i] = in[k]
		}
	}
	return out
}

// nearest drops variadic and defaulted candidates with the same parameters as
// a plainer one.
func nearest(cands []cand) []cand {
	var out []cand
	for i, c := range cands {
		shadowed := false
		for k, d := range cands {
			if i != k && oidsEqual(c.args, d.args) && (c.variadic && !d.variadic || c.order != nil && d.order == nil) {
				shadowed = true
			}
		}
		if !shadowed {
			out = append(out, c)
		}
	}
	return out
}

// arrange fits a call's arguments to an overload's parameters.
func arrange(f *fn.Func, inv *invocation) (cand, bool) {
	n := len(inv.args)
	named := n > 0 && inv.names[n-1] != ""
	if f.Variadic != 0 && !inv.variadic && !named {
		if n < len(f.Args) {
			return cand{}, false
		}
		c := cand{f: f, variadic: true}
		for i := 0; i < n; i++ {
			c.args = append(c.args, f.ArgType(i))
		}
		return c, true
	}
	if n > len(f.Args) || n+len(f.Defaults) < len(f.Args) {
		return cand{}, false
	}
	if n == len(f.Args) && !named {
		return cand{f: f, args: f.Args}, true
	}
	c := cand{f: f, args: f.Args, order: make([]int, len(f.Args))}
	for i := range c.order {
		c.order[i] = -1
	}
	for i, name := range inv.names {
		at := i
		if name != "" {
			at = -1
			for k, an := range f.ArgNames {
				if an == name {
					at = k
				}
			}
			if at < 0 || c.order[at] >= 0 {
				return cand{}, false
			}
		}
		c.order[at] = i
	}
	for i, k := range c.order {
		if k < 0 && i < len(f.Args)-len(f.Defaults) {
			return cand{}, false
		}
	}
	return c, true
}

// bindArgs puts the arguments of a resolved call in order, with defaults, and
// coerces them.
func (b *binder) bindArgs(c cand, inv *invocation) ([]expr.Expr, types.Type, error) {
	args := inv.args
	if c.order != nil {
		args = make([]expr.Expr, len(c.order))
		for i, k := range c.order {
			if k >= 0 {
				args[i] = inv.args[k]
				continue
			}
			text := c.f.Defaults[i-(len(c.f.Args)-len(c.f.Defaults))]
			e, err := b.textExpr(text, (&scope{b: b}), inDefault)
			if err != nil {
				return nil, types.Type{}, err
			}
			args[i] = e
		}
	}
	if inv.variadic && c.f.Variadic == types.AnyOID {
		// concat(VARIADIC ARRAY[…]) spreads; another array's length is not known.
		elems, ok := spread(args[len(args)-1])
		if !ok {
			return nil, types.Type{}, pgerr.Unsupported("VARIADIC of an array that is no constant and not written as ARRAY[…] is not supported for %s", inv.name).At(inv.pos.at())
		}
		args = append(append([]expr.Expr(nil), args[:len(args)-1]...), elems...)
		for len(c.args) < len(args) {
			c.args = append(append([]types.OID(nil), c.args...), types.AnyOID)
		}
		c.args = c.args[:len(args)]
	}
	return b.arguments(c.f, c.args, args, inv.pos)
}

// spread gives the elements of an array whose length is known.
func spread(e expr.Expr) (elems []expr.Expr, ok bool) {
	switch e := e.(type) {
	case *expr.ArrayCtor:
		return e.Elems, true
	case *expr.Const:
		a, ok := e.Val.(types.Array)
		if !ok {
			return nil, false
		}
		t, _ := e.Typ.Elem()
		for _, d := range a.Elems {
			elems = append(elems, &expr.Const{Val: d, Typ: t})
		}
		return elems, true
	}
	return nil, false
}

// ofArray binds f(…, VARIADIC array) of an array of unknown length as a
// function of the array itself; nil where there is none that does the same.
//
//	num_nonnulls(VARIADIC a)      →  cardinality(array_remove(a, NULL))
//	num_nulls(VARIADIC a)         →  cardinality(a) - cardinality(array_remove(a, NULL))
//	concat(VARIADIC a)            →  array_to_string(a, '')
//	concat_ws(sep, VARIADIC a)    →  array_to_string(a, sep)
func (b *binder) ofArray(c cand, inv *invocation) (expr.Expr, error) {
	if !inv.variadic || c.f.Variadic != types.AnyOID || c.order != nil {
		return nil, nil
	}
	last := inv.args[len(inv.args)-1]
	elem, isArray := b.elem(last.Type())
	if _, known := spread(last); known || !isArray {
		return nil, nil
	}
	call := func(name string, args ...expr.Expr) (expr.Expr, error) { return b.call(name, inv.pos, args...) }
	switch c.f.ID {
	case "num_nonnulls(any)", "num_nulls(any)":
		some, err := call("array_remove", last, &expr.Const{Typ: elem})
		if err != nil {
			return nil, err
		}
		n, err := call("cardinality", some)
		if err != nil || c.f.Name == "num_nonnulls" {
			return n, err
		}
		all, err := call("cardinality", last)
		if err != nil {
			return nil, err
		}
		return b.operator("-", all, n, inv.pos)
	case "concat(any)":
		if len(inv.args) == 1 {
			return call("array_to_string", last, &expr.Const{Val: "", Typ: types.Text})
		}
	case "concat_ws(text,any)":
		if len(inv.args) == 2 {
			return call("array_to_string", last, inv.args[0])
		}
	}
	return nil, nil
}

// call binds a call of one of the catalog's plain functions.
func (b *binder) call(name string, pos spot, args ...expr.Expr) (expr.Expr, error) {
	inv := &invocation{schema: "pg_catalog", name: name, args: args, names: make([]string, len(args)), pos: pos}
	c, err := b.resolve(inv)
	if err != nil {
		return nil, err
	}
	args, ret, err := b.bindArgs(c, inv)
	if err != nil {
		return nil, err
	}
	return &expr.Call{Fn: c.f, Args: args, Typ: ret}, nil
}

// textExpr binds an expression given as SQL text: a default, a check.
func (b *binder) textExpr(text string, sc *scope, p place) (expr.Expr, error) {
	n, err := parseExpr(text)
	if err != nil {
		return nil, err
	}
	inner := *b
	inner.text, inner.plain = nil, true
	s := *sc
	s.b = &inner
	return s.expr(n, p)
}

func parseExpr(text string) (ast.Node, error) {
	list, err := parse.Parse("SELECT "+text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		if sel, ok := list[0].Node.(*ast.SelectStmt); ok {
			if ts := items(sel.TargetList); len(ts) == 1 {
				if rt, ok := ts[0].(*ast.ResTarget); ok {
					return rt.Val, nil
				}
			}
		}
	}
	return nil, pgerr.New(pgerr.SyntaxError, "\"%s\" is not an expression", text)
}

// setReturning leaves a column behind that a ProjectSet of the level fills.
func (sc *scope) setReturning(f *fn.Func, args []expr.Expr, ret types.Type, p place, pos spot) (expr.Expr, error) {
	b := sc.b
	switch {
	case p.inside != "":
		return nil, pgerr.Unsupported("set-returning functions are not allowed in %s", p.inside).
			WithHint("You might be able to move the set-returning function into a LATERAL FROM item.").At(pos.at())
	case !p.srf || sc.lv == nil:
		return nil, pgerr.Unsupported("set-returning functions are not allowed in %s", p.name).At(pos.at())
	}
	it := &srfItem{call: plan.SetCall{Fn: f, Args: args}}
	for _, a := range args {
		b.eachCol(a, func(id expr.ColID) {
			for _, s := range sc.lv.srfs {
				for _, c := range s.call.Cols {
					if c.ID == id {
						it.depth = max(it.depth, s.depth+1)
					}
				}
			}
		})
	}
	add := func(name string, t types.Type) *expr.Col {
		c := b.newCol(sc.lv, name, t)
		b.st.kind[c.ID] = 's'
		it.call.Cols = append(it.call.Cols, c)
		return col(c)
	}
	sc.lv.srfs = append(sc.lv.srfs, it)
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
		return nil, pgerr.Unsupported("function returning record called in context that cannot accept type record").At(pos.at())
	}
	return add(f.Name, ret), nil
}
