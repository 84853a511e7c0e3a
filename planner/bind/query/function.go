package query

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// maxFunctions bounds functions that call functions, as binding them nests that deep.
const maxFunctions = 200

// body is the text of an SQL function bound for a call: a query over columns that stand for the arguments.
type body struct {
	f     *fn.Func
	query *scope.Query
	args  []expr.Expr // of the call
	cols  []plan.Column
	lv    *scope.Level
	b     *scope.Binder // of the call's text
}

// bindBody binds the text of an SQL function for a call.
func bindBody(sc *scope.Scope, f *fn.Func, args []expr.Expr) (*body, error) {
	b := sc.Binder
	if b.Calls(f.User) {
		return nil, pgerr.Unsupported("the SQL function %s calls itself, which is not supported", f.Name).WithHint("Use WITH RECURSIVE.")
	}
	if b.Depth >= maxFunctions {
		return nil, pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
			WithDetail("Functions call functions deeper than %d levels.", maxFunctions)
	}
	if err := b.Poll(); err != nil {
		return nil, err
	}
	sel, err := FunctionText(f.User)
	if err != nil {
		return nil, err
	}
	x := &body{f: f, args: args, lv: sc.Level, b: b}
	if x.lv == nil {
		x.lv = &scope.Level{}
	}
	item := &scope.Item{Name: f.Name, Named: true, Open: true}
	values := make([]expr.Expr, len(args))
	for i, a := range args {
		c := b.NewCol(x.lv, "", a.Type())
		if i < len(f.ArgNames) && f.ArgNames[i] != "" {
			c.Name = f.ArgNames[i]
			item.Cols = append(item.Cols, scope.Column{Name: c.Name, Expr: scope.Col(c)})
		}
		x.cols, values[i] = append(x.cols, c), scope.Col(c)
	}
	inner := b.OfFunction(f.User, values)
	if sel == nil { // no statement: NULL, or no rows
		x.query = &scope.Query{Node: &plan.Values{}}
		return x, nil
	}
	at := &scope.Scope{Binder: inner, Level: x.lv, Items: []*scope.Item{item}}
	if x.query, err = Bind(at, sel, scope.InFromClause, true); err != nil {
		return nil, err
	}
	return x, nil
}

// FunctionText is the query of an SQL function; nil where it has no statement.
func FunctionText(f *catalog.Function) (*ast.SelectStmt, error) {
	list, err := parse.Parse(f.Body, parse.Postgres)
	if err != nil {
		return nil, withoutPosition(err)
	}
	switch {
	case len(list) == 0:
		return nil, nil
	case len(list) > 1:
		return nil, pgerr.Unsupported("SQL functions of several statements are not supported").WithHint("Write one query, with WITH.")
	}
	sel, ok := list[0].Node.(*ast.SelectStmt)
	switch {
	case !ok || list[0].Extension != nil:
		return nil, pgerr.Unsupported("%s in an SQL function is not supported", list[0].Tag()).WithHint("A function is one query.")
	case sel.IntoClause != nil:
		return nil, pgerr.Unsupported("SELECT INTO in an SQL function is not supported")
	case len(typing.Items(sel.LockingClause)) > 0:
		return nil, pgerr.Unsupported("%s in an SQL function is not supported", "FOR UPDATE")
	}
	return sel, nil
}

// withoutPosition removes the position in a text that is not the statement's.
func withoutPosition(err error) error {
	e := *pgerr.From(err)
	e.Position = 0
	return &e
}

// Function binds the call of an SQL function in an expression.
//
//	SELECT expression            →  the expression
//	any other query              →  (SELECT … LIMIT 1)
//	STRICT                       →  CASE WHEN a IS NULL OR … THEN NULL ELSE … END
func Function(sc *scope.Scope, f *fn.Func, args []expr.Expr, ret types.Type, p scope.Place) (expr.Expr, error) {
	b := sc.Binder
	x, err := bindBody(sc, f, args)
	if err != nil {
		return nil, err
	}
	var e expr.Expr
	switch {
	case f.Kind == fn.SetReturning:
		return nil, pgerr.Unsupported("the SQL function %s returns a set, which is supported in FROM only", f.Name).At(b.PosFunc(f.Name))
	case ret.OID == types.VoidOID || len(x.query.Out) == 0:
		// A query that returns nothing that counts is not run.
		return &expr.Const{Typ: ret}, nil
	}
	vals, err := x.results(ret)
	if err != nil {
		return nil, err
	}
	// The query's own expression, where it is no more than that.
	one := func(vals []expr.Expr) expr.Expr {
		if ret.OID != types.RecordOID {
			return vals[0]
		}
		return &expr.RowCtor{Elems: vals, Typ: ret}
	}
	ret = x.shape(ret, vals)
	if plain, ok := x.expressions(vals); ok {
		if e, ok = x.inPlace(one(plain)); ok {
			e = x.strict(e, args)
			x.promise(e)
			return e, nil
		}
	}
	if inTable(p) {
		return nil, pgerr.Unsupported("the function %s cannot be used in %s", f.Name, strings.TrimSuffix(p.Name, "s")).
			WithDetail("Its body is more than an expression, or needs an argument that is volatile more than once.")
	}
	node, cols := shape(b, x.lv, x.query.Node, []expr.Expr{one(vals)}, []string{f.Name})
	if !props.AtMostOneRow(node) {
		node = &plan.Limit{Input: node, Count: &expr.Const{Val: int64(1), Typ: types.Int8}}
	}
	once := slices.ContainsFunc(args, onceOnly)
	if f.Strict && once {
		node = x.someArguments(node)
	}
	e = &expr.Subquery{Kind: expr.SubScalar, Plan: x.withArguments(node), Cols: []expr.ColID{cols[0].ID}, Typ: ret}
	if !once {
		e = x.strict(e, args)
	}
	x.promise(e)
	return e, nil
}

// inTable reports whether a place is in a table's descriptor, which holds no subquery.
func inTable(p scope.Place) bool {
	switch p.Name {
	case scope.InDefault.Name, scope.InCheck.Name, scope.InGenerated.Name, scope.InIndex.Name, scope.InPredicate.Name, scope.InUsing.Name:
		return true
	}
	return false
}

// promise notes what e, which stands for the call, is declared to be.
func (x *body) promise(e expr.Expr) {
	st := x.b.Stmt
	if st.Promised == nil {
		st.Promised = map[expr.Expr]scope.Promise{}
	}
	st.Promised[e] = scope.Promise{Func: x.f, Args: x.args}
}

// results are the columns of the query as values of the declared type of the result: its columns for a record.
func (x *body) results(ret types.Type) ([]expr.Expr, error) {
	b := x.b
	var out []expr.Expr
	want := []types.Type{ret}
	if ret.OID == types.RecordOID {
		want = nil
		if ret.Rec != nil {
			for _, f := range ret.Rec.Fields {
				want = append(want, f.Type)
			}
		}
		// One column that is the row itself.
		if len(x.query.Out) == 1 && x.query.Out[0].Type.OID == types.RecordOID && len(want) != 1 {
			row := x.query.Out[0].Value()
			if rec := x.query.Out[0].Type.Rec; rec != nil {
				for i, f := range rec.Fields {
					out = append(out, scope.FieldOf(row, i, f.Type))
				}
			}
		}
	}
	if out == nil {
		for i := range x.query.Out {
			out = append(out, x.query.Out[i].Value())
		}
	}
	if want == nil {
		return out, nil
	}
	mismatch := func(detail string, args ...any) error {
		return pgerr.New(pgerr.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", b.TypeName(ret)).WithDetail(detail, args...)
	}
	switch {
	case len(out) > len(want) && ret.OID != types.RecordOID:
		return nil, mismatch("Final statement must return exactly one column.")
	case len(out) > len(want):
		return nil, mismatch("Final statement returns too many columns.")
	case len(out) < len(want):
		return nil, mismatch("Final statement returns too few columns.")
	}
	for i, e := range out {
		if !b.CanCoerce(e.Type().OID, want[i].OID, fn.AssignmentCast) && !typing.IsNullConst(e) {
			if ret.OID != types.RecordOID {
				return nil, mismatch("Actual return type is %s.", b.TypeName(e.Type()))
			}
			return nil, mismatch("Final statement returns %s instead of %s at column %d.", b.TypeName(e.Type()), b.TypeName(want[i]), i+1)
		}
		e, err := b.Coerce(e, want[i], fn.AssignmentCast, typing.Position{})
		if err != nil {
			return nil, err
		}
		out[i] = b.AsPhysical(e, typing.PlainNumeric(want[i]))
	}
	return out, nil
}

// shape is the type of the result where only the query tells its columns.
func (x *body) shape(ret types.Type, vals []expr.Expr) types.Type {
	if ret.OID != types.RecordOID || ret.Rec != nil {
		return ret
	}
	ret.Rec = &types.Record{}
	for i, e := range vals {
		name := ""
		if i < len(x.query.Out) {
			name = x.query.Out[i].Name
		}
		ret.Rec.Fields = append(ret.Rec.Fields, types.Field{Name: name, Type: e.Type()})
	}
	return ret
}

// expressions are vals in terms of the arguments alone, if the query is one row of expressions.
func (x *body) expressions(vals []expr.Expr) ([]expr.Expr, bool) {
	p, ok := x.query.Node.(*plan.Project)
	if !ok {
		return nil, false
	}
	if v, ok := p.Input.(*plan.Values); !ok || len(v.Rows) != 1 || len(v.Cols) > 0 {
		return nil, false
	}
	by := map[expr.ColID]expr.Expr{}
	for _, it := range p.Items {
		by[it.Col.ID] = it.Expr
	}
	return scope.MapList(vals, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Col); ok {
			return by[c.ID]
		}
		return nil
	}), true
}

// inPlace puts the arguments into an expression; false where one would be computed more often than it may.
func (x *body) inPlace(e expr.Expr) (expr.Expr, bool) {
	uses, deep := make([]int, len(x.cols)), make([]bool, len(x.cols))
	count := func(id expr.ColID, inside bool) {
		for i := range x.cols {
			if x.cols[i].ID == id {
				uses[i]++
				deep[i] = deep[i] || inside
			}
		}
	}
	expr.Walk(e, func(y expr.Expr) bool {
		switch y := y.(type) {
		case *expr.Col:
			count(y.ID, false)
		case *expr.Subquery:
			for _, id := range scope.OuterCols(y.Plan.(plan.Node)) {
				count(id, true)
			}
		}
		return true
	})
	for i, a := range x.args {
		if !onceOnly(a) {
			continue
		}
		if uses[i] > 1 || deep[i] || uses[i] == 0 && expr.Volatile(a) || x.f.Strict {
			return nil, false
		}
	}
	return scope.MapExpr(e, x.argument), true
}

// onceOnly reports whether an argument must not stand in two places: it would be computed twice, or have the
// columns of its query twice.
func onceOnly(a expr.Expr) bool { return expr.Volatile(a) || scope.HasSubquery(a) }

// argument replaces the column that stands for an argument.
func (x *body) argument(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Col); ok {
		for i := range x.cols {
			if x.cols[i].ID == c.ID {
				return x.args[i]
			}
		}
	}
	return nil
}

// withArguments completes the query with the arguments: in place, or where one must be computed once as the
// columns of a row that the query reads.
func (x *body) withArguments(n plan.Node) plan.Node {
	for _, a := range x.args {
		if onceOnly(a) {
			row := &plan.Project{Input: &plan.Values{Rows: [][]expr.Expr{{}}}}
			for i, c := range x.cols {
				row.Items = append(row.Items, plan.Item{Col: c, Expr: x.args[i]})
			}
			return Joined(plan.Inner, row, n, nil)
		}
	}
	return scope.MapPlan(n, x.argument)
}

// strict guards a call of a STRICT function: NULL for a NULL argument.
func (x *body) strict(e expr.Expr, args []expr.Expr) expr.Expr {
	if !x.f.Strict || len(args) == 0 {
		return e
	}
	var nulls []expr.Expr
	for _, a := range args {
		if c, ok := a.(*expr.Const); ok && c.Val != nil || isStrictOver(e, a) {
			continue
		}
		nulls = append(nulls, &expr.IsNull{Arg: a})
	}
	switch len(nulls) {
	case 0:
		return e
	case 1:
		return &expr.Case{Whens: []expr.When{{Cond: nulls[0], Then: &expr.Const{Typ: e.Type()}}}, Else: e, Typ: e.Type()}
	}
	return &expr.Case{Whens: []expr.When{{Cond: &expr.Or{Args: nulls}, Then: &expr.Const{Typ: e.Type()}}}, Else: e, Typ: e.Type()}
}

// someArguments leaves no row where an argument is NULL.
func (x *body) someArguments(n plan.Node) plan.Node {
	var some []expr.Expr
	for _, a := range x.cols {
		some = append(some, &expr.IsNull{Arg: scope.Col(a), Not: true})
	}
	if len(some) == 0 {
		return n
	}
	return &plan.Filter{Input: n, Conds: some}
}

// isStrictOver reports whether e is NULL whenever a, which is in it, is.
func isStrictOver(e, a expr.Expr) bool {
	if scope.EqualExpr(e, a) {
		return true
	}
	switch e := e.(type) {
	case *expr.Call:
		if e.Fn.Strict {
			for _, k := range e.Args {
				if isStrictOver(k, a) {
					return true
				}
			}
		}
	case *expr.Cast:
		return isStrictOver(e.Arg, a)
	}
	return false
}

// CheckBody binds the text of a function as it would be for a call in FROM.
func CheckBody(sc *scope.Scope, f *fn.Func, args []expr.Expr) error {
	x, err := bindBody(sc, f, args)
	if err != nil {
		return err
	}
	ret := typing.Result(&sc.Binder.Resolver, types.Type{OID: f.Ret, Mod: -1, Rec: f.Rec})
	if ret.OID == types.VoidOID {
		return nil
	}
	if len(x.query.Out) == 0 {
		return pgerr.New(pgerr.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", sc.Binder.TypeName(ret)).
			WithDetail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
	}
	_, err = x.results(ret)
	return err
}

// rangeUser binds a user's function that is alone in FROM; ok is false where the name is of no such.
func rangeUser(sc *scope.Scope, n *ast.RangeFunction, fc *ast.FuncCall, schema, name string) (it scope.FromItem, ok bool, err error) {
	b := sc.Binder
	if len(typing.UserFunctions(&b.Resolver, schema, name)) == 0 {
		return it, false, nil
	}
	inv, err := sc.Invocation(fc, scope.InFunctions)
	if err != nil {
		return it, true, err
	}
	c, err := b.Resolve(inv)
	if err != nil {
		return it, true, err
	}
	f := c.Func
	if f == nil || f.User == nil || f.User.Language != catalog.LanguageSQL {
		return it, false, nil
	}
	if err := scope.PlainCall(fc, f, inv.Pos); err != nil {
		return it, true, err
	}
	if n.Ordinality {
		return it, true, pgerr.Unsupported("WITH ORDINALITY of an SQL function is not supported").WithHint("Use row_number() OVER ().").At(inv.Pos.At())
	}
	args, ret, err := b.BindArgs(c, inv)
	if err != nil {
		return it, true, err
	}
	ret = typing.Result(&b.Resolver, ret)
	b.Note(f.OID, 0, 'X', b.Runs, false)
	defs := typing.Items(n.ColDefList)
	bare := ret.OID == types.RecordOID && ret.Rec == nil
	switch {
	case bare && len(defs) == 0:
		return it, true, pgerr.New(pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"").At(inv.Pos.At())
	case !bare && len(defs) > 0:
		return it, true, pgerr.New(pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"").At(inv.Pos.At())
	}
	x, err := bindBody(sc, f, args)
	if err != nil {
		return it, true, err
	}
	if bare {
		ret.Rec = &types.Record{}
		for _, d := range defs {
			cd := d.(*ast.ColumnDef)
			t, err := b.ResolveType(cd.TypeName)
			if err != nil {
				return it, true, err
			}
			ret.Rec.Fields = append(ret.Rec.Fields, types.Field{Name: cd.Colname, Type: t})
		}
	}
	names := []string{f.OutName}
	rl := &scope.Item{Name: name}
	if ret.OID == types.RecordOID {
		names = nil
		for _, fl := range ret.Rec.Fields {
			names = append(names, fl.Name)
		}
	} else {
		if names[0] == "" {
			if names[0] = name; n.Alias != nil && n.Alias.AliasName != "" {
				names[0] = n.Alias.AliasName // a single column takes the alias
			}
		}
		rl.Scalar = true
	}
	node := x.query.Node
	var cols []plan.Column
	if ret.OID == types.VoidOID || len(x.query.Out) == 0 {
		node, cols = shape(b, x.lv, &plan.Values{Rows: [][]expr.Expr{{}}}, []expr.Expr{&expr.Const{Typ: ret}}, names[:1])
	} else {
		vals, err := x.results(ret)
		if err != nil {
			return it, true, err
		}
		node, cols = shape(b, x.lv, node, vals, names)
	}
	if !f.User.Set && !props.AtMostOneRow(node) {
		node = &plan.Limit{Input: node, Count: &expr.Const{Val: int64(1), Typ: types.Int8}}
	}
	if f.Strict {
		node = x.someArguments(node)
	}
	node = x.withArguments(node)
	if !f.User.Set && (f.Strict || !oneRow(node)) { // a row of NULLs where the query has none
		node = Joined(plan.Left, &plan.Values{Rows: [][]expr.Expr{{}}}, node, nil)
	}
	for i, c := range cols {
		rl.Cols = append(rl.Cols, scope.Column{Name: names[i], Expr: scope.Col(c)})
	}
	it, err = Finish(sc, node, rl, n.Alias, "table")
	return it, true, err
}

// oneRow reports whether a plan has one row whatever the data.
func oneRow(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Values:
		return len(n.Rows) == 1
	case *plan.Project:
		return oneRow(n.Input)
	case *plan.Aggregate:
		return len(n.Groups) == 0 && len(n.Sets) <= 1
	}
	return false
}
