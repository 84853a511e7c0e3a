package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// tableFunc is a function in FROM: a set-returning call, or a scalar.
type tableFunc struct {
	call   plan.SetCall
	scalar expr.Expr
	cols   []relCol // their expressions are set by the caller
	name   string   // for the default alias
	only   bool     // gives one column that has no name of its own
	value  bool     // gives values, not rows
}

// rangeFunction binds functions in FROM: set-returning and scalar ones, the
// sources, and the ml relations.
func (sc *scope) rangeFunction(n *ast.RangeFunction, left []*rel) (fromItem, error) {
	lat := sc.beside(left, true)
	funcs := items(n.Functions)
	if !n.IsRowsFrom && len(funcs) == 1 {
		if fc, ok := items(funcs[0].(*ast.NodeList))[0].(*ast.FuncCall); ok {
			if it, ok, err := lat.relationFunc(n, fc); ok || err != nil {
				return it, err
			}
			_, name := qualified(fc.Funcname)
			if name == "unnest" && len(items(fc.Args)) > 1 {
				// unnest(a, b) is ROWS FROM (unnest(a), unnest(b)).
				funcs = nil
				for _, a := range items(fc.Args) {
					one := *fc
					one.Args = ast.NewNodeList(a)
					funcs = append(funcs, ast.NewNodeList(&one))
				}
			}
		}
	}
	var tfs []*tableFunc
	for _, f := range funcs {
		parts := items(f.(*ast.NodeList))
		defs := n.ColDefList
		if len(parts) > 1 {
			defs, _ = parts[1].(*ast.NodeList)
		}
		tf, err := lat.tableFunc(parts[0], items(defs))
		if err != nil {
			return fromItem{}, err
		}
		tfs = append(tfs, tf)
	}
	return sc.functionScan(n, tfs, len(funcs) > 1 || n.IsRowsFrom)
}

// tableFunc binds one call; defs is its column definition list.
func (sc *scope) tableFunc(n ast.Node, defs []ast.Node) (*tableFunc, error) {
	b := sc.b
	fc, ok := n.(*ast.FuncCall)
	if !ok {
		e, err := sc.expr(n, place{name: "functions in FROM"})
		if err != nil {
			return nil, err
		}
		return b.scalarFunc(e, columnName(n), defs)
	}
	_, name := qualified(fc.Funcname)
	var f *fn.Func
	var args []expr.Expr
	var ret types.Type
	set := false
	for _, o := range fn.Lookup(name) {
		set = set || o.Kind == fn.SetReturning
	}
	if set {
		inv, err := sc.invocation(fc, place{name: "functions in FROM"})
		if err != nil {
			return nil, err
		}
		c, err := b.resolve(inv)
		if err != nil {
			return nil, err
		}
		if c.f != nil {
			f = c.f
			if err := plainCall(fc, f, inv.pos); err != nil {
				return nil, err
			}
			if args, ret, err = b.bindArgs(c, inv); err != nil {
				return nil, err
			}
		}
	}
	if f == nil || f.Kind != fn.SetReturning {
		e, err := sc.expr(fc, place{name: "functions in FROM"})
		if err != nil {
			return nil, err
		}
		return b.scalarFunc(e, name, defs)
	}
	tf := &tableFunc{call: plan.SetCall{Fn: f, Args: args}, name: name}
	add := func(name string, t types.Type) {
		tf.cols = append(tf.cols, relCol{name: name})
		tf.call.Cols = append(tf.call.Cols, plan.Column{Name: name, Type: t})
	}
	switch {
	case ret.OID == types.RecordOID && ret.Rec != nil && len(defs) == 0:
		for _, c := range ret.Rec.Fields {
			add(c.Name, c.Type)
		}
	case ret.OID == types.RecordOID && ret.Rec == nil:
		if len(defs) == 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"").At(b.posFunc(name))
		}
		for _, d := range defs {
			cd := d.(*ast.ColumnDef)
			t, err := b.resolveType(cd.TypeName)
			if err != nil {
				return nil, err
			}
			add(cd.Colname, t)
		}
	case len(defs) > 0:
		return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"").At(b.posFunc(name))
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
func (b *binder) scalarFunc(e expr.Expr, name string, defs []ast.Node) (*tableFunc, error) {
	e, err := b.known(e)
	if err != nil {
		return nil, err
	}
	tf := &tableFunc{scalar: e, name: name}
	t := e.Type()
	if t.OID == types.RecordOID {
		switch {
		case t.Rec == nil && len(defs) > 0:
			return nil, pgerr.Unsupported("a column definition list for function %s is not supported", name).At(b.posFunc(name))
		case t.Rec == nil:
			return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"").At(b.posFunc(name))
		}
		for _, f := range t.Rec.Fields {
			tf.cols = append(tf.cols, relCol{name: f.Name})
		}
		return tf, nil
	}
	if len(defs) > 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"").At(b.posFunc(name))
	}
	tf.cols, tf.only, tf.value = []relCol{{name: name}}, true, true
	return tf, nil
}

// functionScan makes the plan of functions in FROM.
func (sc *scope) functionScan(n *ast.RangeFunction, tfs []*tableFunc, many bool) (fromItem, error) {
	b := sc.b
	rl := &rel{name: tfs[0].name}
	one := len(tfs) == 1 && tfs[0].only
	if one && n.Alias != nil && n.Alias.AliasName != "" {
		tfs[0].cols[0].name = n.Alias.AliasName // a single column takes the alias
	}
	// jsonb_array_elements(…) AS x has a column value, but x is its value too.
	rl.scalar = len(tfs) == 1 && tfs[0].value && !n.Ordinality
	empty := &plan.Values{Rows: [][]expr.Expr{{}}}
	if !many && tfs[0].scalar != nil {
		tf := tfs[0]
		p := &plan.Project{Input: empty}
		for i, c := range tf.cols {
			e := tf.scalar
			if t := e.Type(); t.OID == types.RecordOID {
				e = fieldOf(e, i, t.Rec.Fields[i].Type)
			}
			nc := b.newCol(sc.lv, c.name, e.Type())
			p.Items = append(p.Items, plan.Item{Col: nc, Expr: e})
			rl.cols = append(rl.cols, relCol{name: c.name, e: col(nc)})
		}
		if n.Ordinality {
			nc := b.newCol(sc.lv, "ordinality", types.Int8)
			p.Items = append(p.Items, plan.Item{Col: nc, Expr: &expr.Const{Val: int64(1), Typ: types.Int8}})
			rl.cols = append(rl.cols, relCol{name: "ordinality", e: col(nc)})
		}
		return sc.finish(p, rl, n.Alias, "table")
	}
	var calls []plan.SetCall
	fixed := true
	for _, tf := range tfs {
		call := tf.call
		if tf.scalar != nil {
			// Among others in ROWS FROM a scalar is a set of one.
			a, ok := b.arrayOf(tf.scalar.Type())
			if !ok || tf.scalar.Type().OID == types.RecordOID {
				return fromItem{}, pgerr.Unsupported("function %s is not supported in ROWS FROM", tf.name).At(b.posFunc(tf.name))
			}
			arr := &expr.ArrayCtor{Elems: []expr.Expr{b.recarry(tf.scalar, plainNumeric(tf.scalar.Type()))}, Typ: plainNumeric(a)}
			call = plan.SetCall{Fn: fn.Lookup("unnest")[0], Args: []expr.Expr{arr}, Cols: []plan.Column{{Type: plainNumeric(tf.scalar.Type())}}}
		}
		cols := make([]plan.Column, len(call.Cols))
		for i, c := range call.Cols {
			cols[i] = b.newCol(sc.lv, tf.cols[i].name, c.Type)
			rl.cols = append(rl.cols, relCol{name: tf.cols[i].name, e: col(cols[i])})
		}
		call.Cols = cols
		calls = append(calls, call)
		for _, a := range call.Args {
			b.eachCol(a, func(expr.ColID) { fixed = false })
			fixed = fixed && !hasSubquery(a)
		}
	}
	var ord plan.Column
	if n.Ordinality {
		ord = b.newCol(sc.lv, "ordinality", types.Int8)
		rl.cols = append(rl.cols, relCol{name: "ordinality", e: col(ord)})
	}
	var node plan.Node
	if fixed {
		node = &plan.FuncScan{Calls: calls, Ordinality: ord.ID, OrdName: ord.Name}
	} else {
		node = &plan.ProjectSet{Input: empty, Calls: calls, Ordinality: ord.ID}
	}
	return sc.finish(node, rl, n.Alias, "table")
}

// relationFunc binds what is no function of expressions: the ml relations and
// the sources. ok is false for other names.
func (sc *scope) relationFunc(n *ast.RangeFunction, fc *ast.FuncCall) (fromItem, bool, error) {
	b := sc.b
	schema, name, err := b.objectName(fc.Funcname, b.spotFunc)
	if err != nil {
		return fromItem{}, false, err
	}
	if schema == "ml" {
		it, ok, err := sc.mlRelation(name, n, fc)
		if ok || err != nil {
			return it, true, err
		}
		if b.s.Virtual != nil {
			if cols, _, found := b.s.Virtual.Virtual(schema, name); found {
				v := &plan.Virtual{Schema_: schema, Name: name, Alias: name}
				if args := items(fc.Args); len(args) > 0 {
					if !b.s.Virtual.OfModel(schema, name) {
						return it, true, pgerr.New(pgerr.UndefinedFunction, "ml.%s is a table, not a function", name).
							WithHint("Write SELECT … FROM ml.%s WHERE ….", name).At(b.posFunc(name))
					}
					if v.Name, v.Args, err = sc.look(name, args); err != nil {
						return it, true, err
					}
				}
				it, err := sc.finish(v, sc.virtualCols(v, cols), n.Alias, "table")
				return it, true, err
			}
		}
		return it, false, nil
	}
	if it, ok, err := sc.viewFunc(schema, name, n, fc); ok || err != nil {
		return it, ok, err
	}
	if schema != "" || b.s.Sources == nil || len(fn.Lookup(name)) > 0 {
		return fromItem{}, false, nil
	}
	var args []plan.Arg
	named := false
	for _, a := range items(fc.Args) {
		arg := plan.Arg{}
		val := a
		if na, ok := a.(*ast.NamedArgExpr); ok {
			arg.Name, val, named = na.Name, na.Arg, true
		} else if named {
			return fromItem{}, true, pgerr.New(pgerr.SyntaxError, "positional argument cannot follow named argument").At(b.posExpr(a))
		}
		e, err := sc.expr(val, place{name: "functions in FROM"})
		if err != nil {
			if args == nil && len(fn.Lookup(name)) == 0 {
				if cols, _, serr := b.s.Sources.Source(name, nil); cols == nil && serr == nil {
					return fromItem{}, false, nil
				}
			}
			return fromItem{}, true, err
		}
		if arg.Val, arg.Type, err = b.constArg(e, name, val); err != nil {
			if cols, _, serr := b.s.Sources.Source(name, nil); cols == nil && serr == nil {
				return fromItem{}, false, nil
			}
			return fromItem{}, true, err
		}
		args = append(args, arg)
	}
	cols, rows, err := b.s.Sources.Source(name, args)
	if err != nil {
		return fromItem{}, true, b.at(err, b.spotFunc(name))
	}
	if cols == nil {
		return fromItem{}, false, nil
	}
	src := &plan.Source{Name: name, Args: args, Rows: rows}
	rl := &rel{name: name}
	for i, c := range cols {
		nc := b.newCol(sc.lv, c.Name, c.Type)
		nc.Num = int16(i + 1)
		src.Cols = append(src.Cols, nc)
		rl.cols = append(rl.cols, relCol{name: c.Name, e: col(nc)})
	}
	it, err := sc.finish(src, rl, n.Alias, "table")
	return it, true, err
}

// constArg evaluates an argument that must be constant.
func (b *binder) constArg(e expr.Expr, name string, n ast.Node) (types.Datum, types.Type, error) {
	if !isUnknown(e) || isNullConst(e) {
	} else if _, ok := e.(*expr.Const); ok {
		var err error
		if e, err = b.known(e); err != nil {
			return nil, types.Type{}, err
		}
	}
	switch x := e.(type) {
	case *expr.Const:
		return x.Val, x.Typ, nil
	case *expr.ArrayCtor:
		a := types.Array{Elem: plainNumeric(types.Text)}
		if el, ok := b.elem(x.Typ); ok {
			a.Elem = el
		}
		for _, c := range x.Elems {
			d, _, err := b.constArg(c, name, n)
			if err != nil {
				return nil, types.Type{}, err
			}
			a.Elems = append(a.Elems, d)
		}
		return a, x.Typ, nil
	}
	local := false
	b.eachCol(e, func(expr.ColID) { local = true })
	if b.s.Fold != nil && !local && !hasSubquery(e) {
		d, err := b.s.Fold(e)
		return d, e.Type(), err
	}
	return nil, types.Type{}, pgerr.Unsupported("the arguments of %s must be constants", name).At(b.posExpr(n))
}
