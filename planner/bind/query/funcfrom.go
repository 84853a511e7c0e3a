package query

import (
	"slices"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// tableFunc is a function in FROM: a set-returning call, or a scalar.
type tableFunc struct {
	call   plan.SetCall
	scalar expr.Expr
	cols   []scope.Column // their expressions are set by the caller
	name   string         // for the default alias
	only   bool           // returns one column that has no name of its own
	value  bool           // returns values, not rows
}

// rangeFunction binds functions in FROM: set-returning and scalar ones, the
// sources, and the ml relations.
func rangeFunction(sc *scope.Scope, n *ast.RangeFunction, left []*scope.Item) (scope.FromItem, error) {
	lat := fromScope(sc, left, true)
	funcs := typing.Items(n.Functions)
	if !n.IsRowsFrom && len(funcs) == 1 {
		if fc, ok := typing.Items(funcs[0].(*ast.NodeList))[0].(*ast.FuncCall); ok {
			if it, ok, err := relationFunc(lat, n, fc); ok || err != nil {
				return it, err
			}
			_, name := typing.Qualified(fc.Funcname)
			if name == "unnest" && len(typing.Items(fc.Args)) > 1 {
				// unnest(a, b) is ROWS FROM (unnest(a), unnest(b)).
				funcs = nil
				for _, a := range typing.Items(fc.Args) {
					one := *fc
					one.Args = ast.NewNodeList(a)
					funcs = append(funcs, ast.NewNodeList(&one))
				}
			}
		}
	}
	var tfs []*tableFunc
	for _, f := range funcs {
		parts := typing.Items(f.(*ast.NodeList))
		defs := n.ColDefList
		if len(parts) > 1 {
			defs, _ = parts[1].(*ast.NodeList)
		}
		tf, err := bindFunc(lat, parts[0], typing.Items(defs))
		if err != nil {
			return scope.FromItem{}, err
		}
		tfs = append(tfs, tf)
	}
	return functionScan(sc, n, tfs, len(funcs) > 1 || n.IsRowsFrom)
}

// oneRecord rewrites json_to_record(x), whose columns only its definition list says, to the set-returning
// function over an array of this one object; it returns nil for other calls. For NULL all columns are NULL.
func oneRecord(fc *ast.FuncCall, name string) *ast.FuncCall {
	kind, ok := strings.CutSuffix(name, "_to_record")
	if !ok || kind != "json" && kind != "jsonb" || len(typing.Items(fc.Args)) != 1 {
		return nil
	}
	call := func(name string, arg ast.Node) *ast.FuncCall {
		c := *fc
		c.Funcname, c.Args = ast.NewNodeList(ast.NewString("pg_catalog"), ast.NewString(name)), ast.NewNodeList(arg)
		return &c
	}
	empty := ast.NewTypeCast(ast.NewA_Const(ast.NewString("{}"), 0), ast.NewTypeName([]string{"pg_catalog", kind}), 0)
	or := &ast.CoalesceExpr{Args: ast.NewNodeList(typing.Items(fc.Args)[0], empty)}
	return call(kind+"_to_recordset", call(kind+"_build_array", or))
}

// bindFunc binds one call; defs is its column definition list.
func bindFunc(sc *scope.Scope, n ast.Node, defs []ast.Node) (*tableFunc, error) {
	b := sc.Binder
	fc, ok := n.(*ast.FuncCall)
	if !ok {
		e, err := sc.Expr(n, scope.InFunctions)
		if err != nil {
			return nil, err
		}
		return scalarFunc(b, e, scope.ColumnName(n), defs)
	}
	_, name := typing.Qualified(fc.Funcname)
	if set := oneRecord(fc, name); set != nil && len(defs) > 0 {
		tf, err := bindFunc(sc, set, defs)
		if err == nil {
			tf.name = name
		}
		return tf, err
	}
	var f *fn.Func
	var args []expr.Expr
	var ret types.Type
	set := false
	for _, o := range fn.Lookup(name) {
		set = set || o.Kind == fn.SetReturning
	}
	schema, _ := typing.Qualified(fc.Funcname)
	for _, u := range typing.UserFunctions(&b.Resolver, schema, name) {
		set = set || u.Set && u.Language != catalog.LanguageSQL
	}
	if set {
		inv, err := sc.Invocation(fc, scope.InFunctions)
		if err != nil {
			return nil, err
		}
		c, err := b.Resolve(inv)
		if err != nil {
			return nil, err
		}
		if c.Func != nil {
			f = c.Func
			if err := scope.PlainCall(fc, f, inv.Pos); err != nil {
				return nil, err
			}
			if args, ret, err = b.BindArgs(c, inv); err != nil {
				return nil, err
			}
		}
	}
	if f == nil || f.Kind != fn.SetReturning {
		e, err := sc.Expr(fc, scope.InFunctions)
		if err != nil {
			return nil, err
		}
		return scalarFunc(b, e, name, defs)
	}
	tf := &tableFunc{call: plan.SetCall{Fn: f, Args: args}, name: name}
	add := func(name string, t types.Type) {
		tf.cols = append(tf.cols, scope.Column{Name: name})
		tf.call.Cols = append(tf.call.Cols, plan.Column{Name: name, Type: t})
	}
	switch {
	case ret.Class() == types.ClassRecord && ret.Rec != nil && len(defs) == 0:
		for _, c := range ret.Rec.Fields {
			add(c.Name, c.Type)
		}
	case ret.Class() == types.ClassRecord && ret.Rec == nil:
		if len(defs) == 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"").At(b.PosFunc(name))
		}
		for _, d := range defs {
			cd := d.(*ast.ColumnDef)
			t, err := b.ResolveType(cd.TypeName)
			if err != nil {
				return nil, err
			}
			add(cd.Colname, t)
		}
	case len(defs) > 0:
		return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"").At(b.PosFunc(name))
	case f.OutName != "":
		add(f.OutName, ret)
		tf.value = true
	default:
		add(name, ret)
		tf.only, tf.value = true, true
	}
	return tf, nil
}

// scalarFunc is an ordinary function in FROM: one row.
func scalarFunc(b *scope.Binder, e expr.Expr, name string, defs []ast.Node) (*tableFunc, error) {
	e, err := b.ResolveUnknown(e)
	if err != nil {
		return nil, err
	}
	tf := &tableFunc{scalar: e, name: name}
	t := e.Type()
	if t.OID == types.RecordOID {
		switch {
		case t.Rec == nil && len(defs) > 0:
			return nil, pgerr.Unsupported("a column definition list for function %s is not supported", name).At(b.PosFunc(name))
		case t.Rec == nil:
			return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"").At(b.PosFunc(name))
		}
		for _, f := range t.Rec.Fields {
			tf.cols = append(tf.cols, scope.Column{Name: f.Name})
		}
		return tf, nil
	}
	if len(defs) > 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"").At(b.PosFunc(name))
	}
	tf.cols, tf.only, tf.value = []scope.Column{{Name: name}}, true, true
	return tf, nil
}

// functionScan makes the plan of functions in FROM.
func functionScan(sc *scope.Scope, n *ast.RangeFunction, tfs []*tableFunc, many bool) (scope.FromItem, error) {
	b := sc.Binder
	rl := &scope.Item{Name: tfs[0].name}
	one := len(tfs) == 1 && tfs[0].only
	if one && n.Alias != nil && n.Alias.AliasName != "" {
		tfs[0].cols[0].Name = n.Alias.AliasName // a single column takes the alias
	}
	// jsonb_array_elements(…) AS x has a column value, but x means its value too.
	rl.Scalar = len(tfs) == 1 && tfs[0].value && !n.Ordinality
	empty := &plan.Values{Rows: [][]expr.Expr{{}}}
	if !many && tfs[0].scalar != nil {
		tf := tfs[0]
		p := &plan.Project{Input: empty}
		for i, c := range tf.cols {
			e := tf.scalar
			if t := e.Type(); t.OID == types.RecordOID {
				e = scope.FieldOf(e, i, t.Rec.Fields[i].Type)
			}
			nc := b.NewCol(sc.Level, c.Name, e.Type())
			p.Items = append(p.Items, plan.Item{Col: nc, Expr: e})
			rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(nc)})
		}
		if n.Ordinality {
			nc := b.NewCol(sc.Level, "ordinality", types.Int8)
			p.Items = append(p.Items, plan.Item{Col: nc, Expr: &expr.Const{Val: int64(1), Typ: types.Int8}})
			rl.Cols = append(rl.Cols, scope.Column{Name: "ordinality", Expr: scope.Col(nc)})
		}
		return Finish(sc, p, rl, n.Alias, "table")
	}
	var calls []plan.SetCall
	fixed := true
	for _, tf := range tfs {
		call := tf.call
		if tf.scalar != nil {
			// Beside other functions in ROWS FROM, a scalar is a set of one row.
			a, ok := b.ArrayOf(tf.scalar.Type())
			if !ok || tf.scalar.Type().OID == types.RecordOID {
				return scope.FromItem{}, pgerr.Unsupported("function %s is not supported in ROWS FROM", tf.name).At(b.PosFunc(tf.name))
			}
			arr := &expr.ArrayCtor{Elems: []expr.Expr{b.AsPhysical(tf.scalar, typing.PlainNumeric(tf.scalar.Type()))}, Typ: typing.PlainNumeric(a)}
			call = plan.SetCall{Fn: fn.Lookup("unnest")[0], Args: []expr.Expr{arr}, Cols: []plan.Column{{Type: typing.PlainNumeric(tf.scalar.Type())}}}
		}
		cols := make([]plan.Column, len(call.Cols))
		for i, c := range call.Cols {
			cols[i] = b.NewCol(sc.Level, tf.cols[i].Name, c.Type)
			rl.Cols = append(rl.Cols, scope.Column{Name: tf.cols[i].Name, Expr: scope.Col(cols[i])})
		}
		call.Cols = cols
		calls = append(calls, call)
		for _, a := range call.Args {
			b.EachCol(a, func(expr.ColID) { fixed = false })
			fixed = fixed && !scope.HasSubquery(a)
		}
	}
	var ord plan.Column
	if n.Ordinality {
		ord = b.NewCol(sc.Level, "ordinality", types.Int8)
		rl.Cols = append(rl.Cols, scope.Column{Name: "ordinality", Expr: scope.Col(ord)})
	}
	var node plan.Node
	if fixed {
		node = &plan.FuncScan{Calls: calls, Ordinality: ord.ID, OrdName: ord.Name}
	} else {
		node = &plan.ProjectSet{Input: empty, Calls: calls, Ordinality: ord.ID}
	}
	return Finish(sc, node, rl, n.Alias, "table")
}

// relationFunc binds functions that are relations: the ml relations and the sources. ok is false
// for other names.
func relationFunc(sc *scope.Scope, n *ast.RangeFunction, fc *ast.FuncCall) (scope.FromItem, bool, error) {
	b := sc.Binder
	schema, name, err := b.ObjectName(fc.Funcname, b.SpotFunc)
	if err != nil {
		return scope.FromItem{}, false, err
	}
	if schema == "ml" {
		it, ok, err := b.Stmt.Nested.ModelTable(sc, name, n, fc)
		if ok || err != nil {
			return it, true, err
		}
		if b.Session.Virtual != nil {
			if cols, _, found := b.Session.Virtual.Virtual(schema, name); found {
				v := &plan.Virtual{Schema_: schema, Name: name, Alias: name}
				if args := typing.Items(fc.Args); len(args) > 0 {
					if !b.Session.Virtual.OfModel(schema, name) {
						return it, true, pgerr.New(pgerr.UndefinedFunction, "ml.%s is a table, not a function", name).
							WithHint("Write SELECT … FROM ml.%s WHERE ….", name).At(b.PosFunc(name))
					}
					var keys []plan.Column
					if v.Name, v.Args, keys, err = b.Stmt.Nested.ModelView(sc, name, args); err != nil {
						return it, true, err
					}
					if keys != nil && (name == "trials" || !slices.ContainsFunc(cols, func(c plan.Column) bool { return c.Name == "model" })) {
						cols = append(keys, cols...) // it looks into one model, which has groups
					}
				}
				it, err := Finish(sc, v, virtualCols(sc, v, cols), n.Alias, "table")
				return it, true, err
			}
		}
		return it, false, nil
	}
	if it, ok, err := pastTable(sc, schema, name, n, fc); ok || err != nil {
		return it, ok, err
	}
	if it, ok, err := viewFunc(sc, schema, name, n, fc); ok || err != nil {
		return it, ok, err
	}
	if schema == "" {
		if it, ok, err := aboutQuery(sc, name, n, fc); ok || err != nil {
			return it, ok, err
		}
	}
	if it, ok, err := rangeUser(sc, n, fc, schema, name); ok || err != nil {
		return it, ok, err
	}
	if schema != "" || b.Session.Sources == nil || len(fn.Lookup(name)) > 0 {
		return scope.FromItem{}, false, nil
	}
	args, known, err := sourceArgs(sc, name, fc)
	if err != nil || !known {
		return scope.FromItem{}, known, err
	}
	src, err := b.Session.Sources.Source(name, args)
	if err != nil {
		return scope.FromItem{}, true, b.At(err, b.SpotFunc(name))
	}
	if src == nil {
		return scope.FromItem{}, false, nil
	}
	rl := &scope.Item{Name: name}
	for i, c := range src.Cols {
		nc := b.NewCol(sc.Level, c.Name, c.Type)
		nc.Num = int16(i + 1)
		src.Cols[i] = nc
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(nc)})
	}
	it, err := Finish(sc, src, rl, n.Alias, "table")
	return it, true, err
}

// isSource reports whether name is a table function of the sources, whatever its arguments.
func isSource(b *scope.Binder, name string) bool {
	src, err := b.Session.Sources.Source(name, nil)
	return src != nil || err != nil
}

// sourceArgs binds the arguments of a possible source: constants, and calls of other sources. It
// returns false if name is no source and the arguments cannot be a source's.
func sourceArgs(sc *scope.Scope, name string, fc *ast.FuncCall) ([]plan.Arg, bool, error) {
	b := sc.Binder
	var args []plan.Arg
	named := false
	for _, a := range typing.Items(fc.Args) {
		arg := plan.Arg{}
		val := a
		if na, ok := a.(*ast.NamedArgExpr); ok {
			arg.Name, val, named = na.Name, na.Arg, true
		} else if named {
			return nil, true, pgerr.New(pgerr.SyntaxError, "positional argument cannot follow named argument").At(b.PosExpr(a))
		}
		if inner, ok := val.(*ast.FuncCall); ok {
			schema, called, err := b.ObjectName(inner.Funcname, b.SpotFunc)
			if err != nil {
				return nil, true, err
			}
			if schema == "" && len(fn.Lookup(called)) == 0 && isSource(b, called) {
				if arg.Args, _, err = sourceArgs(sc, called, inner); err != nil {
					return nil, true, err
				}
				arg.Call = called
				args = append(args, arg)
				continue
			}
		}
		e, err := sc.Expr(val, scope.InFunctions)
		if err == nil {
			arg.Val, arg.Type, err = ConstArg(b, e, name, val)
		}
		if err != nil {
			if !isSource(b, name) {
				return nil, false, nil
			}
			return nil, true, err
		}
		args = append(args, arg)
	}
	return args, true, nil
}

func hasParam(e expr.Expr) (found bool) {
	expr.Walk(e, func(x expr.Expr) bool {
		_, param := x.(*expr.Param)
		found = found || param
		return !found
	})
	return found
}

// ConstArg evaluates an argument that must be constant.
func ConstArg(b *scope.Binder, e expr.Expr, name string, n ast.Node) (types.Datum, types.Type, error) {
	if !typing.IsUnknown(e) || typing.IsNullConst(e) {
	} else if _, ok := e.(*expr.Const); ok {
		var err error
		if e, err = b.ResolveUnknown(e); err != nil {
			return nil, types.Type{}, err
		}
	}
	switch x := e.(type) {
	case *expr.Const:
		return x.Val, x.Typ, nil
	case *expr.ArrayCtor:
		a := types.Array{Elem: typing.PlainNumeric(types.Text)}
		if el, ok := b.Elem(x.Typ); ok {
			a.Elem = el
		}
		for _, c := range x.Elems {
			d, _, err := ConstArg(b, c, name, n)
			if err != nil {
				return nil, types.Type{}, err
			}
			a.Elems = append(a.Elems, d)
		}
		return a, x.Typ, nil
	}
	if hasParam(e) {
		return nil, types.Type{}, pgerr.Unsupported("the arguments of %s cannot be parameters", name).
			WithDetail("Which columns it has follows from them, and is told before they are known.").WithHint("Write the value into the statement.").At(b.PosExpr(n))
	}
	local := false
	b.EachCol(e, func(expr.ColID) { local = true })
	if b.Session.Fold != nil && !local && !scope.HasSubquery(e) {
		d, err := b.Session.Fold(e)
		return d, e.Type(), err
	}
	return nil, types.Type{}, pgerr.Unsupported("the arguments of %s must be constants", name).At(b.PosExpr(n))
}

// pastTable binds table_as_of('t', time), to which t FOR SYSTEM_TIME AS OF time is rewritten: the name is looked up at that time,
// and the table of then becomes one of the statement's state, beside those of now. ok is false for other calls.
func pastTable(sc *scope.Scope, schema, name string, n *ast.RangeFunction, fc *ast.FuncCall) (it scope.FromItem, ok bool, err error) {
	b := sc.Binder
	args := typing.Items(fc.Args)
	if schema != "pg_catalog" || name != parse.PastFunction || len(args) != 2 {
		return it, false, nil
	}
	parts, err := catalog.SplitName(parse.ConstText(args[0]))
	if err != nil {
		return it, true, err
	}
	rv := ast.NewRangeVar(parts[len(parts)-1], "", "")
	scan := func(rel *catalog.Relation, schema string) (scope.FromItem, bool, error) {
		scan, rl, err := Scan(sc, rel, schema, rv, b.TableUse(rel, 'r'))
		if err != nil {
			return it, true, err
		}
		it, err = Finish(sc, scan, rl, n.Alias, "table")
		return it, true, err
	}
	if b.Session.Recorded && b.View == nil {
		all := catalog.PastOf(b.Session.State)
		if b.Session.Named >= len(all) {
			return it, true, pgerr.Internal("a table of the past was not recorded")
		}
		b.Session.Named++
		return scan(all[b.Session.Named-1], "")
	}
	at, known, err := timeOf(sc, args[1])
	if err != nil {
		return it, true, err
	}
	if b.Session.Past == nil || b.View != nil {
		return it, true, pgerr.Unsupported("FOR SYSTEM_TIME is not supported here").WithHint("Read the view or the function in a transaction with tributary.as_of.")
	}
	b.Session.Dated = true
	now := b.Session.State
	then := now
	if known {
		if then, err = b.Session.Past(at); err != nil {
			return it, true, b.At(err, b.SpotExpr(args[1]))
		}
	}
	if len(parts) > 1 {
		rv.SchemaName = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		rv.CatalogName = parts[len(parts)-3]
	}
	b.Session.State = then
	hit, err := FindRelation(b, rv)
	b.Session.State = now
	if err != nil {
		return it, true, err
	}
	if hit.Virtual != nil || hit.Rel.Kind != catalog.KindTable && hit.Rel.Kind != catalog.KindMatView {
		return it, true, pgerr.Unsupported("FOR SYSTEM_TIME is supported for tables and materialized views only").At(b.PosIdent(rv.RelName)).
			WithHint("Read other relations in a transaction with tributary.as_of.")
	}
	st, rel := catalog.WithPast(now, then, hit.Rel)
	b.Session.State = st
	return scan(rel, hit.Schema)
}

// timeOf evaluates a time. It is not known where the values of parameters are not.
func timeOf(sc *scope.Scope, n ast.Node) (at time.Time, known bool, err error) {
	b := sc.Binder
	e, err := sc.Expr(n, scope.Place{Name: "FOR SYSTEM_TIME"})
	if err != nil {
		return at, false, err
	}
	if e.Type().OID == types.IntervalOID {
		now, err := b.CallByName("now", nil, typing.Position{})
		if err != nil {
			return at, false, err
		}
		if e, err = b.Operator("+", now, e, b.SpotExpr(n)); err != nil {
			return at, false, err
		}
	}
	if e, err = b.Assign(e, "FOR SYSTEM_TIME", types.Timestamptz, b.SpotExpr(n)); err != nil {
		return at, false, err
	}
	constant := true
	b.EachCol(e, func(expr.ColID) { constant = false })
	if !constant || scope.HasSubquery(e) || b.Session.Fold == nil {
		return at, false, pgerr.Unsupported("the time of FOR SYSTEM_TIME must be a constant").At(b.PosExpr(n))
	}
	if hasParam(e) && !b.Session.HasParams {
		return at, false, nil
	}
	d, err := b.Session.Fold(e)
	if err != nil {
		return at, false, b.At(err, b.SpotExpr(n))
	}
	micros, ok := d.(int64)
	if !ok {
		return at, false, pgerr.New(pgerr.NullValueNotAllowed, "the time of FOR SYSTEM_TIME must not be null").At(b.PosExpr(n))
	}
	return time.UnixMicro(micros).UTC(), true, nil
}
