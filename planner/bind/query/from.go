package query

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// from binds the FROM clause: items are crossed from left to right.
func from(sc *scope.Scope, list []ast.Node) (plan.Node, error) {
	if len(list) == 0 {
		return &plan.Values{Rows: [][]expr.Expr{{}}}, nil
	}
	var node plan.Node
	for _, n := range list {
		it, err := FromItem(sc, n, sc.Items)
		if err != nil {
			return nil, err
		}
		if err := DistinctNames(sc, sc.Items, it.Items); err != nil {
			return nil, err
		}
		if node == nil {
			node = it.Node
		} else {
			node = Joined(plan.Inner, node, it.Node, nil)
		}
		sc.Items = append(sc.Items[:len(sc.Items):len(sc.Items)], it.Items...)
	}
	return node, nil
}

// Joined returns a Join, or an Apply where the right side reads the left's columns.
func Joined(kind plan.JoinKind, l, r plan.Node, on []expr.Expr) plan.Node {
	made := map[expr.ColID]bool{}
	for _, c := range l.Schema() {
		made[c.ID] = true
	}
	for _, id := range scope.OuterCols(r) {
		if made[id] {
			return &plan.Apply{Kind: kind, L: l, R: r, On: on}
		}
	}
	return &plan.Join{Kind: kind, L: l, R: r, On: on}
}

func DistinctNames(sc *scope.Scope, have, more []*scope.Item) error {
	for _, m := range more {
		for _, h := range have {
			if m.Named && h.Named && m.Name == h.Name && (m.Schema == h.Schema || m.Schema == "" || h.Schema == "") {
				return pgerr.New(pgerr.DuplicateAlias, "table name \"%s\" specified more than once", m.Name).At(sc.Binder.PosIdent(m.Name))
			}
		}
	}
	return nil
}

// fromScope returns the scope in which a FROM item's own expressions and subqueries are bound: that of
// the enclosing query, with the items to the left visible for LATERAL ones and blocked for others.
func fromScope(sc *scope.Scope, left []*scope.Item, lateral bool) *scope.Scope {
	s := sc.WithItems(left)
	if !lateral {
		s.Items = make([]*scope.Item, len(left))
		for i, r := range left {
			c := *r
			c.Blocked = true
			s.Items[i] = &c
		}
	}
	return s
}

// FromItem binds one item of FROM.
func FromItem(sc *scope.Scope, n ast.Node, left []*scope.Item) (scope.FromItem, error) {
	if err := sc.Binder.Poll(); err != nil {
		return scope.FromItem{}, err
	}
	switch n := n.(type) {
	case *ast.ParenExpr:
		return FromItem(sc, n.Expr, left)
	case *ast.RangeVar:
		return rangeVar(sc, n)
	case *ast.RangeSubselect:
		return rangeSubselect(sc, n, left)
	case *ast.JoinExpr:
		return join(sc, n, left)
	case *ast.RangeFunction:
		return rangeFunction(sc, n, left)
	case *ast.RangeTableSample:
		return tableSample(sc, n, left)
	}
	return scope.FromItem{}, pgerr.Unsupported("this FROM item is not supported: %s", n.SqlString())
}

// rangeSubselect binds a subquery in FROM.
func rangeSubselect(sc *scope.Scope, n *ast.RangeSubselect, left []*scope.Item) (scope.FromItem, error) {
	sel, ok := n.Subquery.(*ast.SelectStmt)
	if !ok {
		return scope.FromItem{}, pgerr.Internal("a %T as a subquery", n.Subquery)
	}
	if n.Alias == nil {
		what, hint := "subquery", "For example, FROM (SELECT ...) [AS] foo."
		if sel.ValuesLists != nil {
			what, hint = "VALUES", "For example, FROM (VALUES ...) [AS] foo."
		}
		return scope.FromItem{}, pgerr.New(pgerr.SyntaxError, "%s in FROM must have an alias", what).WithHint("%s", hint)
	}
	r, err := Bind(fromScope(sc, left, n.Lateral), sel, scope.InFromClause, true)
	if err != nil {
		return scope.FromItem{}, err
	}
	mergeDuplicates(sc.Binder, sc.Level, r)
	rl := &scope.Item{Name: n.Alias.AliasName}
	for _, c := range r.Out {
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(c.Column), Table: c.Table, Num: c.Num})
	}
	return Finish(sc, r.Node, rl, n.Alias, "table")
}

// Finish applies an alias and registers the columns with the level.
func Finish(sc *scope.Scope, node plan.Node, r *scope.Item, alias *ast.Alias, what string) (scope.FromItem, error) {
	r.Named, r.Open = true, true
	if err := Rename(sc.Binder, r, alias, what); err != nil {
		return scope.FromItem{}, err
	}
	own(sc, r)
	return scope.FromItem{Node: node, Items: []*scope.Item{r}}, nil
}

// Rename sets the names of a FROM item and its columns to those of an alias.
func Rename(b *scope.Binder, r *scope.Item, alias *ast.Alias, what string) error {
	if alias == nil {
		return nil
	}
	if alias.AliasName != "" {
		r.Name, r.Schema = alias.AliasName, ""
	}
	names := typing.Strs(alias.ColNames)
	if len(names) > len(r.Cols) {
		return pgerr.New(pgerr.InvalidColumnReference, "%s \"%s\" has %d columns available but %d columns specified",
			what, r.Name, len(r.Cols), len(names)).At(b.PosIdent(r.Name))
	}
	cols := append([]scope.Column(nil), r.Cols...)
	for i, name := range names {
		cols[i].Name = name
	}
	r.Cols = cols
	return nil
}

// own registers the level as the owner of a FROM item's columns.
func own(sc *scope.Scope, r *scope.Item) {
	for _, c := range r.Cols {
		if x, ok := c.Expr.(*expr.Col); ok {
			sc.Binder.Stmt.Owner[x.ID] = sc.Level
			delete(sc.Binder.Stmt.Kind, x.ID)
		}
	}
	sc.Level.Items = append(sc.Level.Items, r)
}

// rangeVar binds a name in FROM: a CTE, a table, a view, a computed relation.
func rangeVar(sc *scope.Scope, n *ast.RangeVar) (scope.FromItem, error) {
	if n.SchemaName == "" {
		if c, env := sc.With.Find(n.RelName); c != nil {
			return cteRef(sc, c, env, n)
		}
	}
	b := sc.Binder
	hit, err := FindRelation(b, n)
	if err != nil {
		return scope.FromItem{}, withForward(sc, err, n)
	}
	if hit.Virtual != nil {
		return virtual(sc, hit, n)
	}
	if b.Named != nil {
		b.Named.Relations[n] = hit.Rel.OID
	}
	switch r := hit.Rel; r.Kind {
	case catalog.KindTable, catalog.KindMatView:
		scan, rl, err := Scan(sc, r, hit.Schema, n, b.TableUse(r, 'r'))
		if err != nil {
			return scope.FromItem{}, err
		}
		var alias *ast.Alias
		rl.Cols, alias = b.AsSeen(r, rl.Cols, n.Alias)
		return Finish(sc, scan, rl, alias, "table")
	case catalog.KindView:
		return view(sc, r, hit.Schema, n)
	case catalog.KindSequence:
		v := &plan.Virtual{Schema_: "pg_catalog", Name: plan.SequenceRow, Alias: n.RelName, Args: []types.Datum{int64(r.OID)}}
		rl := virtualCols(sc, v, []plan.Column{{Name: "last_value", Type: types.Int8}, {Name: "log_cnt", Type: types.Int8}, {Name: "is_called", Type: types.Bool}})
		rl.Name, rl.Schema, rl.OID, rl.System = n.RelName, hit.Schema, r.OID, TableOID(r.OID)
		b.TableUse(r, 'r')
		return Finish(sc, v, rl, n.Alias, "table")
	}
	what := map[catalog.RelKind]string{catalog.KindIndex: "indexes", catalog.KindComposite: "composite types"}[hit.Rel.Kind]
	return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "cannot open relation \"%s\"", n.RelName).
		WithDetail("This operation is not supported for %s.", what).At(b.PosIdent(n.RelName))
}

// Relation is the result of looking a name up: a relation of the catalog, or a computed one.
type Relation struct {
	Rel     *catalog.Relation
	Virtual []plan.Column
	oid     types.OID // of a virtual table
	Schema  string
}

// FindRelation looks a relation up by the search path.
func FindRelation(b *scope.Binder, n *ast.RangeVar) (Relation, error) {
	if _, _, err := typing.RelationName(n); err != nil {
		return Relation{}, b.At(err, b.SpotIdent(n.CatalogName, n.SchemaName, n.RelName))
	}
	if err := b.MayLookIn(n.SchemaName); err != nil {
		return Relation{}, err
	}
	if h, ok := LookupRelation(b, n.SchemaName, n.RelName); ok {
		return h, nil
	}
	if n.SchemaName != "" {
		return Relation{}, pgerr.New(pgerr.UndefinedTable, "relation \"%s.%s\" does not exist", n.SchemaName, n.RelName).At(b.PosIdent(n.SchemaName, n.RelName))
	}
	return Relation{}, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", n.RelName).At(b.PosIdent(n.RelName))
}

func LookupRelation(b *scope.Binder, schema, name string) (Relation, bool) {
	virtual := func(schema string) (Relation, bool) {
		if b.Session.Virtual == nil {
			return Relation{}, false
		}
		cols, oid, ok := b.Session.Virtual.Virtual(schema, name)
		return Relation{Virtual: cols, oid: oid, Schema: schema}, ok
	}
	if schema != "" && schema != "pg_temp" {
		if h, ok := virtual(schema); ok {
			return h, true
		}
	}
	pgFirst := schema == ""
	for _, p := range b.Path {
		pgFirst = pgFirst && p != "pg_catalog"
	}
	st := b.Session.State
	if schema == "" {
		if t := st.Schema(b.Session.TempSchema); t != nil && b.View == nil {
			if r := st.Relation(t.OID, name); r != nil {
				return Relation{Rel: r, Schema: t.Name}, true
			}
		}
		if pgFirst {
			if h, ok := virtual("pg_catalog"); ok {
				return h, true
			}
		}
		for _, p := range b.Path {
			if s := st.SchemaByName(p); s != nil {
				if r := st.Relation(s.OID, name); r != nil {
					return Relation{Rel: r, Schema: s.Name}, true
				}
			}
			if h, ok := virtual(p); ok {
				return h, true
			}
		}
		return Relation{}, false
	}
	for _, s := range b.Schemas(schema) {
		if r := st.Relation(s.OID, name); r != nil {
			return Relation{Rel: r, Schema: s.Name}, true
		}
	}
	return Relation{}, false
}

// Scan reads a table with all its columns; planner/opt removes the unused ones. use is the number of the
// table's use.
func Scan(sc *scope.Scope, r *catalog.Relation, schema string, n *ast.RangeVar, use int) (*plan.Scan, *scope.Item, error) {
	b := sc.Binder
	if r.Kind == catalog.KindMatView && !r.Populated {
		return nil, nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "materialized view \"%s\" has not been populated", r.Name).
			WithHint("Use the REFRESH MATERIALIZED VIEW command.")
	}
	scan := &plan.Scan{Table: r.OID, Name: r.Name, Alias: r.Name}
	if n.SchemaName != "" {
		scan.Name = schema + "." + r.Name
	}
	if n.Alias != nil {
		scan.Alias = n.Alias.AliasName
	}
	if m := b.Session.State.Manifest(r.OID); m != nil {
		scan.Rows = float64(m.Rows())
	}
	rl := &scope.Item{Name: r.Name, Schema: schema, OID: r.OID, System: append(TableOID(r.OID), Unkept()...), Table: r, Scan: scan}
	missing := false
	for _, c := range r.Live() {
		nc := b.NewCol(sc.Level, c.Name, c.Type)
		nc.Table, nc.Num = r.OID, c.Num
		scan.Cols, scan.Missing = append(scan.Cols, nc), append(scan.Missing, c.Missing)
		missing = missing || c.Missing != nil
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Orig: c.Name, Expr: scope.Col(nc), Table: r.OID, Num: c.Num, Use: use})
	}
	if b.Rows {
		for _, c := range []plan.Column{{Name: "ctid", Type: types.TID, Num: plan.CTID}, {Name: "xmin", Type: types.XID, Num: plan.Xmin}} {
			nc := b.NewCol(sc.Level, c.Name, c.Type)
			nc.Num = c.Num
			scan.Cols, scan.Missing = append(scan.Cols, nc), append(scan.Missing, nil)
			rl.System = append(rl.System, scope.Column{Name: c.Name, Expr: scope.Col(nc), System: true})
		}
	}
	if !missing {
		scan.Missing = nil
	}
	return scan, rl, nil
}

// virtual reads a computed relation.
func virtual(sc *scope.Scope, h Relation, n *ast.RangeVar) (scope.FromItem, error) {
	v := &plan.Virtual{Schema_: h.Schema, Name: n.RelName, Alias: n.RelName}
	if n.Alias != nil {
		v.Alias = n.Alias.AliasName
	}
	rl := virtualCols(sc, v, h.Virtual)
	rl.Schema = h.Schema
	if h.oid != 0 {
		rl.System = catalogColumns(h.oid, sc.Binder.Session.State.Version())
	}
	return Finish(sc, v, rl, n.Alias, "table")
}

func virtualCols(sc *scope.Scope, v *plan.Virtual, cols []plan.Column) *scope.Item {
	rl := &scope.Item{Name: v.Name}
	for i, c := range cols {
		nc := sc.Binder.NewCol(sc.Level, c.Name, c.Type)
		nc.Num = int16(i + 1)
		v.Cols = append(v.Cols, nc)
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(nc)})
	}
	return rl
}

// maxViews bounds views that are made of views, as binding them nests that deep.
const maxViews = 1000

// view binds a view's query under the path it was made with.
func view(sc *scope.Scope, r *catalog.Relation, schema string, n *ast.RangeVar) (scope.FromItem, error) {
	b := sc.Binder
	if b.Inside(r) {
		return scope.FromItem{}, pgerr.New(pgerr.InvalidObjectDefinition, "infinite recursion detected in rules for relation \"%s\"", r.Name)
	}
	if b.Depth >= maxViews {
		return scope.FromItem{}, pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
			WithDetail("Views are nested deeper than %d levels.", maxViews)
	}
	if err := b.Poll(); err != nil {
		return scope.FromItem{}, err
	}
	use := b.TableUse(r, 'r')
	sel, err := ViewText(r)
	if err != nil {
		return scope.FromItem{}, err
	}
	inner, from := b.OfView(r), len(b.Stmt.Uses)
	q, err := Bind(&scope.Scope{Binder: inner}, sel, scope.Place{}, true)
	if err != nil {
		return scope.FromItem{}, b.At(err, b.SpotIdent(n.RelName))
	}
	mergeDuplicates(b, sc.Level, q)
	live := r.Live()
	if len(live) > len(q.Out) {
		return scope.FromItem{}, pgerr.Internal("view \"%s\" has %d columns and its query %d", r.Name, len(live), len(q.Out))
	}
	rl := &scope.Item{Name: r.Name, Schema: schema, OID: r.OID, Table: r, Reads: b.Stmt.Reads(from)}
	for i, c := range live {
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Orig: c.Name, Expr: scope.Col(q.Out[i].Column), Table: r.OID, Num: c.Num, Use: use})
	}
	var alias *ast.Alias
	rl.Cols, alias = b.AsSeen(r, rl.Cols, n.Alias)
	return Finish(sc, q.Node, rl, alias, "table")
}

// tableSample binds TABLESAMPLE BERNOULLI and SYSTEM as a random filter.
func tableSample(sc *scope.Scope, n *ast.RangeTableSample, left []*scope.Item) (scope.FromItem, error) {
	b := sc.Binder
	it, err := FromItem(sc, n.Relation, left)
	if err != nil {
		return it, err
	}
	method := typing.OpName(n.Method)
	if method != "bernoulli" && method != "system" {
		return it, pgerr.New(pgerr.UndefinedObject, "tablesample method %s does not exist", method).At(b.PosIdent(method))
	}
	args := typing.Items(n.Args)
	if len(args) != 1 {
		return it, pgerr.New(pgerr.InvalidTablesampleArgument, "tablesample method %s requires 1 argument, not %d", method, len(args)).At(b.PosIdent(method))
	}
	share, err := sc.Expr(args[0], scope.Place{Name: "TABLESAMPLE"})
	if err != nil {
		return it, err
	}
	if share, err = b.Assign(share, "percentage", types.Float8, b.SpotExpr(args[0])); err != nil {
		return it, err
	}
	if c, ok := share.(*expr.Const); ok {
		if f, ok := c.Val.(float64); !ok || f < 0 || f > 100 {
			return it, pgerr.New(pgerr.InvalidTablesampleArgument, "sample percentage must be between 0 and 100")
		}
	}
	random, err := b.CallByName("random", nil, typing.Position{})
	if n.Repeatable != nil {
		random, err = repeatable(sc, n, it)
	}
	if err != nil {
		return it, err
	}
	scaled, err := b.Operator("/", share, &expr.Const{Val: 100.0, Typ: types.Float8}, typing.Position{})
	if err != nil {
		return it, err
	}
	cond, err := b.Operator("<", random, scaled, typing.Position{})
	if err != nil {
		return it, err
	}
	it.Node = &plan.Filter{Input: it.Node, Conds: []expr.Expr{cond}}
	return it, nil
}

// repeatable is a number from 0 to 1 that is the same for a row and a seed as long as the row has its address:
//
//	(hashtidextended(ctid, hashfloat8extended(seed, 0)) & (2^53 - 1))::float8 / 2^53
func repeatable(sc *scope.Scope, n *ast.RangeTableSample, it scope.FromItem) (e expr.Expr, err error) {
	b := sc.Binder
	at := -1
	if len(it.Items) == 1 {
		at = slices.IndexFunc(it.Items[0].System, func(c scope.Column) bool { return c.Name == "ctid" })
	}
	if at < 0 {
		return nil, pgerr.New(pgerr.WrongObjectType, "REPEATABLE can only be applied to samples of tables and materialized views").At(b.PosWord("repeatable"))
	}
	seed, err := sc.Expr(n.Repeatable, scope.Place{Name: "TABLESAMPLE"})
	if err != nil {
		return nil, err
	}
	if seed, err = b.Assign(seed, "seed", types.Float8, b.SpotExpr(n.Repeatable)); err != nil {
		return nil, err
	}
	if c, ok := seed.(*expr.Const); ok && c.Val == nil {
		return nil, pgerr.New(pgerr.InvalidTablesampleRepeat, "TABLESAMPLE REPEATABLE parameter cannot be null").At(b.PosWord("repeatable"))
	}
	const all = 1 << 53
	call := func(name string, args ...expr.Expr) {
		if err == nil {
			e, err = b.CallByName(name, args, typing.Position{})
		}
	}
	call("hashfloat8extended", seed, &expr.Const{Typ: types.Int8, Val: int64(0)})
	call("hashtidextended", it.Items[0].System[at].Expr, e)
	call("int8and", e, &expr.Const{Typ: types.Int8, Val: int64(all - 1)})
	call("float8", e)
	call("float8div", e, &expr.Const{Typ: types.Float8, Val: float64(all)})
	return e, err
}

func ViewText(v *catalog.Relation) (*ast.SelectStmt, error) {
	list, err := parse.Parse(v.Query, parse.Dialect(v.Dialect))
	if err != nil {
		return nil, pgerr.Wrap(pgerr.InternalError, err, "the query of view \"%s\" cannot be read", v.Name)
	}
	if len(list) != 1 {
		return nil, pgerr.Internal("the query of view \"%s\" is not one statement", v.Name)
	}
	sel, ok := list[0].Node.(*ast.SelectStmt)
	if !ok {
		return nil, pgerr.Internal("the query of view \"%s\" is a %T", v.Name, list[0].Node)
	}
	return sel, nil
}

// TableOID is the system column of all rows of a table. Scans have ctid and xmin too.
func TableOID(oid types.OID) []scope.Column {
	return []scope.Column{{Name: "tableoid", System: true, Expr: &expr.Const{Val: int64(oid), Typ: types.Oid}}}
}
