package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// fromItem is an item of FROM: its plan and what names see of it. rels[0] has
// the columns that unqualified names find.
type fromItem struct {
	node plan.Node
	rels []*rel
}

var inFromClause = place{name: "FROM clause of their own query level"}

// from binds the FROM clause: items are crossed from left to right.
func (sc *scope) from(list []ast.Node) (plan.Node, error) {
	if len(list) == 0 {
		return &plan.Values{Rows: [][]expr.Expr{{}}}, nil
	}
	var node plan.Node
	for _, n := range list {
		it, err := sc.item(n, sc.rels)
		if err != nil {
			return nil, err
		}
		if err := sc.distinctNames(sc.rels, it.rels); err != nil {
			return nil, err
		}
		if node == nil {
			node = it.node
		} else {
			node = joined(plan.Inner, node, it.node, nil)
		}
		sc.rels = append(sc.rels[:len(sc.rels):len(sc.rels)], it.rels...)
	}
	return node, nil
}

// joined is a Join, or an Apply where the right side reads the left's columns.
func joined(kind plan.JoinKind, l, r plan.Node, on []expr.Expr) plan.Node {
	made := map[expr.ColID]bool{}
	for _, c := range l.Schema() {
		made[c.ID] = true
	}
	for _, id := range outerCols(r) {
		if made[id] {
			return &plan.Apply{Kind: kind, L: l, R: r, On: on}
		}
	}
	return &plan.Join{Kind: kind, L: l, R: r, On: on}
}

func (sc *scope) distinctNames(have, more []*rel) error {
	for _, m := range more {
		for _, h := range have {
			if m.named && h.named && m.name == h.name && (m.schema == h.schema || m.schema == "" || h.schema == "") {
				return pgerr.New(pgerr.DuplicateAlias, "table name \"%s\" specified more than once", m.name).At(sc.b.posIdent(m.name))
			}
		}
	}
	return nil
}

// beside is the scope in which a FROM item's own expressions and subqueries are
// bound: that of the enclosing query, with the items to the left visible for
// LATERAL ones and blocked for others.
func (sc *scope) beside(left []*rel, lateral bool) *scope {
	s := sc.with(left)
	if !lateral {
		s.rels = make([]*rel, len(left))
		for i, r := range left {
			c := *r
			c.blocked = true
			s.rels[i] = &c
		}
	}
	return s
}

// item binds one item of FROM.
func (sc *scope) item(n ast.Node, left []*rel) (fromItem, error) {
	if err := sc.b.look(); err != nil {
		return fromItem{}, err
	}
	switch n := n.(type) {
	case *ast.ParenExpr:
		return sc.item(n.Expr, left)
	case *ast.RangeVar:
		return sc.rangeVar(n)
	case *ast.RangeSubselect:
		return sc.rangeSubselect(n, left)
	case *ast.JoinExpr:
		return sc.join(n, left)
	case *ast.RangeFunction:
		return sc.rangeFunction(n, left)
	case *ast.RangeTableSample:
		return sc.tableSample(n, left)
	}
	return fromItem{}, pgerr.Unsupported("this FROM item is not supported: %s", n.SqlString())
}

// rangeSubselect binds a subquery in FROM.
func (sc *scope) rangeSubselect(n *ast.RangeSubselect, left []*rel) (fromItem, error) {
	sel, ok := n.Subquery.(*ast.SelectStmt)
	if !ok {
		return fromItem{}, pgerr.Internal("a %T as a subquery", n.Subquery)
	}
	if n.Alias == nil {
		what, hint := "subquery", "For example, FROM (SELECT ...) [AS] foo."
		if sel.ValuesLists != nil {
			what, hint = "VALUES", "For example, FROM (VALUES ...) [AS] foo."
		}
		return fromItem{}, pgerr.New(pgerr.SyntaxError, "%s in FROM must have an alias", what).WithHint("%s", hint)
	}
	r, err := sc.beside(left, n.Lateral).query(sel, inFromClause, true)
	if err != nil {
		return fromItem{}, err
	}
	sc.b.apart(sc.lv, r)
	rl := &rel{name: n.Alias.AliasName}
	for _, c := range r.out {
		rl.cols = append(rl.cols, relCol{name: c.Name, e: col(c.Column), table: c.Table, num: c.Num})
	}
	return sc.finish(r.node, rl, n.Alias, "table")
}

// finish applies an alias and registers the columns with the level.
func (sc *scope) finish(node plan.Node, r *rel, alias *ast.Alias, what string) (fromItem, error) {
	r.named, r.open = true, true
	if err := sc.b.rename(r, alias, what); err != nil {
		return fromItem{}, err
	}
	sc.own(r)
	return fromItem{node: node, rels: []*rel{r}}, nil
}

// rename gives a FROM item and its columns the names of an alias.
func (b *binder) rename(r *rel, alias *ast.Alias, what string) error {
	if alias == nil {
		return nil
	}
	if alias.AliasName != "" {
		r.name, r.schema = alias.AliasName, ""
	}
	names := strs(alias.ColNames)
	if len(names) > len(r.cols) {
		return pgerr.New(pgerr.InvalidColumnReference, "%s \"%s\" has %d columns available but %d columns specified",
			what, r.name, len(r.cols), len(names)).At(b.posIdent(r.name))
	}
	cols := append([]relCol(nil), r.cols...)
	for i, name := range names {
		cols[i].name = name
	}
	r.cols = cols
	return nil
}

// own makes the level the owner of a FROM item's columns.
func (sc *scope) own(r *rel) {
	for _, c := range r.cols {
		if x, ok := c.e.(*expr.Col); ok {
			sc.b.st.owner[x.ID] = sc.lv
			delete(sc.b.st.kind, x.ID)
		}
	}
	sc.lv.rels = append(sc.lv.rels, r)
}

// rangeVar binds a name in FROM: a CTE, a table, a view, a computed relation.
func (sc *scope) rangeVar(n *ast.RangeVar) (fromItem, error) {
	if n.SchemaName == "" {
		if c, env := sc.ctes.find(n.RelName); c != nil {
			return sc.cteRef(c, env, n)
		}
	}
	b := sc.b
	hit, err := b.findRelation(n)
	if err != nil {
		return fromItem{}, sc.withForward(err, n)
	}
	if hit.virtual != nil {
		return sc.virtual(hit, n)
	}
	if b.named != nil {
		b.named[n] = hit.rel.OID
	}
	switch r := hit.rel; r.Kind {
	case catalog.KindTable, catalog.KindMatView:
		scan, rl, err := sc.scan(r, hit.schema, n, b.tableUse(r, 'r'))
		if err != nil {
			return fromItem{}, err
		}
		var alias *ast.Alias
		rl.cols, alias = b.asSeen(r, rl.cols, n.Alias)
		return sc.finish(scan, rl, alias, "table")
	case catalog.KindView:
		return sc.view(r, hit.schema, n)
	case catalog.KindSequence:
		at := b.s.State.SequenceAt(r.OID)
		values := []types.Datum{at.Last, int64(0), at.Called}
		node := &plan.Values{Rows: [][]expr.Expr{nil}}
		rl := &rel{name: n.RelName, schema: hit.schema, oid: r.OID, system: tableOID(r.OID)}
		for i, c := range []plan.Column{{Name: "last_value", Type: types.Int8}, {Name: "log_cnt", Type: types.Int8}, {Name: "is_called", Type: types.Bool}} {
			nc := b.newCol(sc.lv, c.Name, c.Type)
			nc.Num = int16(i + 1)
			node.Cols = append(node.Cols, nc)
			node.Rows[0] = append(node.Rows[0], &expr.Const{Val: values[i], Typ: c.Type})
			rl.cols = append(rl.cols, relCol{name: c.Name, e: col(nc)})
		}
		b.tableUse(r, 'r')
		return sc.finish(node, rl, n.Alias, "table")
	}
	what := map[catalog.RelKind]string{catalog.KindIndex: "indexes", catalog.KindComposite: "composite types"}[hit.rel.Kind]
	return fromItem{}, pgerr.New(pgerr.WrongObjectType, "cannot open relation \"%s\"", n.RelName).
		WithDetail("This operation is not supported for %s.", what).At(b.posIdent(n.RelName))
}

// relHit is a relation that a name found: one of the catalog, or a computed one.
type relHit struct {
	rel     *catalog.Relation
	virtual []plan.Column
	oid     types.OID // of a virtual table
	schema  string
}

// findRelation looks a relation up by the search path.
func (b *binder) findRelation(n *ast.RangeVar) (relHit, error) {
	if _, _, err := relationName(n); err != nil {
		return relHit{}, b.at(err, b.spotIdent(n.CatalogName, n.SchemaName, n.RelName))
	}
	if err := b.mayLookIn(n.SchemaName); err != nil {
		return relHit{}, err
	}
	if h, ok := b.lookupRelation(n.SchemaName, n.RelName); ok {
		return h, nil
	}
	if n.SchemaName != "" {
		return relHit{}, pgerr.New(pgerr.UndefinedTable, "relation \"%s.%s\" does not exist", n.SchemaName, n.RelName).At(b.posIdent(n.SchemaName, n.RelName))
	}
	return relHit{}, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", n.RelName).At(b.posIdent(n.RelName))
}

func (b *binder) lookupRelation(schema, name string) (relHit, bool) {
	virtual := func(schema string) (relHit, bool) {
		if b.s.Virtual == nil {
			return relHit{}, false
		}
		cols, oid, ok := b.s.Virtual.Virtual(schema, name)
		return relHit{virtual: cols, oid: oid, schema: schema}, ok
	}
	if schema != "" && schema != "pg_temp" {
		if h, ok := virtual(schema); ok {
			return h, true
		}
	}
	pgFirst := schema == ""
	for _, p := range b.path {
		pgFirst = pgFirst && p != "pg_catalog"
	}
	st := b.s.State
	if schema == "" {
		if t := st.Schema(b.s.TempSchema); t != nil && b.view == nil {
			if r := st.Relation(t.OID, name); r != nil {
				return relHit{rel: r, schema: t.Name}, true
			}
		}
		if pgFirst {
			if h, ok := virtual("pg_catalog"); ok {
				return h, true
			}
		}
		for _, p := range b.path {
			if s := st.SchemaByName(p); s != nil {
				if r := st.Relation(s.OID, name); r != nil {
					return relHit{rel: r, schema: s.Name}, true
				}
			}
			if h, ok := virtual(p); ok {
				return h, true
			}
		}
		return relHit{}, false
	}
	for _, s := range b.schemas(schema) {
		if r := st.Relation(s.OID, name); r != nil {
			return relHit{rel: r, schema: s.Name}, true
		}
	}
	return relHit{}, false
}

// scan reads a table: all its columns, of which planner/opt drops the unused.
// use is the place of the table's use.
func (sc *scope) scan(r *catalog.Relation, schema string, n *ast.RangeVar, use int) (*plan.Scan, *rel, error) {
	b := sc.b
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
	if m := b.s.State.Manifest(r.OID); m != nil {
		scan.Rows = float64(m.Rows())
	}
	rl := &rel{name: r.Name, schema: schema, oid: r.OID, system: tableOID(r.OID), table: r, scan: scan}
	missing := false
	for _, c := range r.Live() {
		nc := b.newCol(sc.lv, c.Name, c.Type)
		nc.Table, nc.Num = r.OID, c.Num
		scan.Cols, scan.Missing = append(scan.Cols, nc), append(scan.Missing, c.Missing)
		missing = missing || c.Missing != nil
		rl.cols = append(rl.cols, relCol{name: c.Name, orig: c.Name, e: col(nc), table: r.OID, num: c.Num, use: use})
	}
	if !missing {
		scan.Missing = nil
	}
	return scan, rl, nil
}

// virtual reads a computed relation.
func (sc *scope) virtual(h relHit, n *ast.RangeVar) (fromItem, error) {
	v := &plan.Virtual{Schema_: h.schema, Name: n.RelName, Alias: n.RelName}
	if n.Alias != nil {
		v.Alias = n.Alias.AliasName
	}
	rl := sc.virtualCols(v, h.virtual)
	rl.schema = h.schema
	if h.oid != 0 {
		rl.system = catalogColumns(h.oid, sc.b.s.State.Version())
	}
	return sc.finish(v, rl, n.Alias, "table")
}

func (sc *scope) virtualCols(v *plan.Virtual, cols []plan.Column) *rel {
	rl := &rel{name: v.Name}
	for i, c := range cols {
		nc := sc.b.newCol(sc.lv, c.Name, c.Type)
		nc.Num = int16(i + 1)
		v.Cols = append(v.Cols, nc)
		rl.cols = append(rl.cols, relCol{name: c.Name, e: col(nc)})
	}
	return rl
}

// maxViews bounds views that are made of views.
const maxViews = 64

// view binds a view's query under the path it was made with.
func (sc *scope) view(r *catalog.Relation, schema string, n *ast.RangeVar) (fromItem, error) {
	b := sc.b
	if b.depth >= maxViews {
		return fromItem{}, pgerr.New(pgerr.InvalidObjectDefinition, "infinite recursion detected in rules for relation \"%s\"", r.Name)
	}
	use := b.tableUse(r, 'r')
	sel, err := viewText(r)
	if err != nil {
		return fromItem{}, err
	}
	inner, from := b.within(r), len(b.st.uses)
	q, err := (&scope{b: inner}).query(sel, place{}, true)
	if err != nil {
		return fromItem{}, b.at(err, b.spotIdent(n.RelName))
	}
	b.apart(sc.lv, q)
	live := r.Live()
	if len(live) > len(q.out) {
		return fromItem{}, pgerr.Internal("view \"%s\" has %d columns and its query %d", r.Name, len(live), len(q.out))
	}
	rl := &rel{name: r.Name, schema: schema, oid: r.OID, reads: b.st.reads(from)}
	for i, c := range live {
		rl.cols = append(rl.cols, relCol{name: c.Name, orig: c.Name, e: col(q.out[i].Column), table: r.OID, num: c.Num, use: use})
	}
	var alias *ast.Alias
	rl.cols, alias = b.asSeen(r, rl.cols, n.Alias)
	return sc.finish(q.node, rl, alias, "table")
}

// tableSample binds TABLESAMPLE BERNOULLI and SYSTEM as a random filter.
func (sc *scope) tableSample(n *ast.RangeTableSample, left []*rel) (fromItem, error) {
	b := sc.b
	it, err := sc.item(n.Relation, left)
	if err != nil {
		return it, err
	}
	method := opName(n.Method)
	if method != "bernoulli" && method != "system" {
		return it, pgerr.New(pgerr.UndefinedObject, "tablesample method %s does not exist", method).At(b.posIdent(method))
	}
	if n.Repeatable != nil {
		return it, pgerr.Unsupported("TABLESAMPLE … REPEATABLE is not supported").At(b.posWord("repeatable"))
	}
	args := items(n.Args)
	if len(args) != 1 {
		return it, pgerr.New(pgerr.InvalidTablesampleArgument, "tablesample method %s requires 1 argument, not %d", method, len(args)).At(b.posIdent(method))
	}
	share, err := sc.expr(args[0], place{name: "TABLESAMPLE"})
	if err != nil {
		return it, err
	}
	if share, err = b.assign(share, "percentage", types.Float8, b.spotExpr(args[0])); err != nil {
		return it, err
	}
	if c, ok := share.(*expr.Const); ok {
		if f, ok := c.Val.(float64); !ok || f < 0 || f > 100 {
			return it, pgerr.New(pgerr.InvalidTablesampleArgument, "sample percentage must be between 0 and 100")
		}
	}
	random, err := b.callByName("random", nil, spot{})
	if err != nil {
		return it, err
	}
	scaled, err := b.operator("/", share, &expr.Const{Val: 100.0, Typ: types.Float8}, spot{})
	if err != nil {
		return it, err
	}
	cond, err := b.operator("<", random, scaled, spot{})
	if err != nil {
		return it, err
	}
	it.node = &plan.Filter{Input: it.node, Conds: []expr.Expr{cond}}
	return it, nil
}
