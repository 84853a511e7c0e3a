package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// writing is a DML statement while it is being bound.
type writing struct {
	sc     *scope
	b      *binder
	table  *catalog.Relation
	schema string
	name   *ast.RangeVar
	live   []catalog.Column
	d      *plan.DML
	// target is the written table in the statement's scope; for INSERT it
	// comes into being with the new row.
	target *rel
	view   *viewTarget // what the statement names, where that is a view
	read   int         // the target's use for reading, 0 while there is none
}

// dml binds a data-modifying statement; sc is the scope around it.
func (b *binder) dml(n ast.Stmt, around *scope) (*plan.DML, error) {
	sc := around.child(place{name: "WITH"})
	var with *ast.WithClause
	var target *ast.RangeVar
	switch n := n.(type) {
	case *ast.InsertStmt:
		with, target = n.WithClause, n.Relation
	case *ast.UpdateStmt:
		with, target = n.WithClause, n.Relation
	case *ast.DeleteStmt:
		with, target = n.WithClause, n.Relation
	case *ast.MergeStmt:
		with, target = n.WithClause, n.Relation
	default:
		return nil, pgerr.Internal("a %T is not a data-modifying statement", n)
	}
	if with != nil {
		if err := sc.withClause(with, n); err != nil {
			return nil, err
		}
	}
	w := &writing{sc: sc, b: b, name: target}
	verb := map[bool]string{true: "insert into", false: "update"}
	_, isInsert := n.(*ast.InsertStmt)
	word := verb[isInsert]
	if _, ok := n.(*ast.DeleteStmt); ok {
		word = "delete from"
	} else if _, ok := n.(*ast.MergeStmt); ok {
		word = "merge into"
	}
	if err := w.open(word); err != nil {
		return nil, err
	}
	w.d = &plan.DML{Table: w.table}
	var err error
	switch n := n.(type) {
	case *ast.InsertStmt:
		err = w.insert(n)
	case *ast.UpdateStmt:
		err = w.update(n)
	case *ast.DeleteStmt:
		err = w.delete(n)
	case *ast.MergeStmt:
		err = w.merge(n)
	}
	if err != nil {
		return nil, err
	}
	return w.d, nil
}

// open finds the table that is written.
func (w *writing) open(word string) error {
	b := w.b
	pos := b.spotIdent(w.name.RelName)
	if w.name.SchemaName == "" {
		if c, _ := w.sc.ctes.find(w.name.RelName); c != nil {
			if h, ok := b.lookupRelation("", w.name.RelName); !ok || h.rel == nil {
				return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" cannot be the target of a modifying statement", w.name.RelName).At(pos.at())
			}
		}
	}
	h, err := b.findRelation(w.name)
	if err != nil {
		return err
	}
	if h.virtual != nil && h.schema == "information_schema" {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s view \"%s\"", word, w.name.RelName)
	}
	if h.virtual != nil {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system catalog", w.name.RelName).At(pos.at())
	}
	w.table, w.schema = h.rel, h.schema
	switch h.rel.Kind {
	case catalog.KindTable:
	case catalog.KindView:
		return w.throughView(h.rel, word)
	case catalog.KindMatView:
		return pgerr.New(pgerr.WrongObjectType, "cannot change materialized view \"%s\"", h.rel.Name)
	case catalog.KindSequence:
		return pgerr.New(pgerr.WrongObjectType, "cannot change sequence \"%s\"", h.rel.Name)
	default:
		return pgerr.New(pgerr.WrongObjectType, "cannot open relation \"%s\"", h.rel.Name).
			WithDetail("This operation is not supported for indexes.")
	}
	w.live = h.rel.Live()
	return nil
}

// scanTarget reads the table that is changed, with the rows' ids.
func (w *writing) scanTarget() (plan.Node, error) {
	use := 0
	if w.view == nil {
		use = w.readUse()
	}
	scan, rl, err := w.sc.scan(w.table, w.schema, w.name, use)
	if err != nil {
		return nil, err
	}
	it, err := w.sc.finish(scan, rl, w.name.Alias, "table")
	if err != nil {
		return nil, err
	}
	w.target = it.rels[0]
	id := w.b.newCol(w.sc.lv, "rowid", types.Int8)
	scan.RowID = id.ID
	w.d.RowID = id.ID
	for _, c := range scan.Cols {
		w.d.Old = append(w.d.Old, c.ID)
	}
	if w.view != nil {
		return w.viewRows(scan)
	}
	return scan, nil
}

// readUse is the use of the target for the old row's columns that the statement
// reads. It is the target's own: the same table may be read elsewhere in the
// statement too.
func (w *writing) readUse() int {
	if w.read == 0 {
		w.read = w.b.ownUse(w.named(), 'r')
	}
	return w.read
}

// dropUnread takes the need to read the target away if nothing reads it: then
// neither does the view.
func (w *writing) dropUnread() {
	uses := w.b.st.uses
	if w.read > 0 && len(uses[w.read-1].Columns) > 0 {
		return
	}
	if w.read > 0 {
		uses[w.read-1].Priv = 0
	}
	for vt := w.view; vt != nil; vt = vt.below {
		uses[vt.use-1].Priv = 0
	}
}

// column finds a column that is assigned to.
func (w *writing) column(name string) (int, error) {
	if w.view != nil {
		return w.writable(name)
	}
	for i, c := range w.live {
		if c.Name == name {
			return i, nil
		}
	}
	return -1, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, w.table.Name).At(w.b.posIdent(name))
}

// defaultOf is the value a column gets where none is given.
func (w *writing) defaultOf(c *catalog.Column) (expr.Expr, error) {
	b := w.b
	var e expr.Expr
	var err error
	switch {
	case c.Sequence != 0 && (c.Identity != 0 || isNextval(c.Default)):
		e, err = b.callByName("nextval", []expr.Expr{&expr.Const{Val: int64(c.Sequence), Typ: types.Regclass}}, spot{})
	case c.Default != "":
		e, err = b.textExpr(c.Default, &scope{b: b}, inDefault)
	default:
		return &expr.Const{Typ: c.Type}, nil
	}
	if err != nil {
		return nil, err
	}
	return b.assign(e, c.Name, c.Type, spot{})
}

func isNextval(s string) bool { return len(s) > 8 && s[:8] == "nextval(" }

// over is a rel whose columns are the given expressions: a row of the table.
func (w *writing) over(name string, es []expr.Expr, use int) *rel {
	r := &rel{name: name, schema: w.schema, oid: w.table.OID, system: tableOID(w.table.OID), table: w.table, named: true, open: true}
	for i, c := range w.live {
		r.cols = append(r.cols, relCol{name: c.Name, e: es[i], table: w.table.OID, num: c.Num, use: use})
	}
	return r
}

// alias is the name under which the statement knows the table.
func (w *writing) alias() string {
	if w.name.Alias != nil {
		return w.name.Alias.AliasName
	}
	return w.named().Name
}

// named is the relation that the statement names.
func (w *writing) named() *catalog.Relation {
	if w.view != nil {
		return w.view.rel
	}
	return w.table
}

// newRow adds the columns of the new row to the source: vals by live column,
// nil for generated ones, which are computed from the others.
func (w *writing) newRow(node plan.Node, vals []expr.Expr, keep bool) (plan.Node, error) {
	b := w.b
	p := &plan.Project{Input: node}
	if keep {
		for _, c := range node.Schema() {
			p.Items = append(p.Items, plan.Item{Col: c, Expr: col(c)})
		}
	}
	made := map[expr.ColID]bool{}
	for _, c := range node.Schema() {
		made[c.ID] = true
	}
	used := map[expr.ColID]bool{}
	generated := false
	ids := make([]expr.Expr, len(w.live))
	for i := range w.live {
		c := &w.live[i]
		if vals[i] == nil {
			generated = true
			ids[i] = &expr.Const{Typ: c.Type}
			continue
		}
		if x, ok := vals[i].(*expr.Col); ok && made[x.ID] && !used[x.ID] {
			used[x.ID] = true
			ids[i] = x
			if !keep {
				p.Items = append(p.Items, plan.Item{Col: plan.Column{ID: x.ID, Name: c.Name, Type: x.Typ, Table: w.table.OID, Num: c.Num}, Expr: x})
			}
			continue
		}
		nc := b.newCol(w.sc.lv, c.Name, vals[i].Type())
		nc.Table, nc.Num = w.table.OID, c.Num
		p.Items = append(p.Items, plan.Item{Col: nc, Expr: vals[i]})
		ids[i] = col(nc)
	}
	node = p
	if generated {
		row := (&scope{b: b, lv: w.sc.lv}).with([]*rel{w.over(w.alias(), ids, 0)})
		g := &plan.Project{Input: p}
		for _, it := range p.Items {
			g.Items = append(g.Items, plan.Item{Col: it.Col, Expr: col(it.Col)})
		}
		for i := range w.live {
			if vals[i] != nil {
				continue
			}
			e, err := w.generated(&w.live[i], row)
			if err != nil {
				return nil, err
			}
			nc := b.newCol(w.sc.lv, w.live[i].Name, e.Type())
			g.Items = append(g.Items, plan.Item{Col: nc, Expr: e})
			ids[i] = col(nc)
		}
		node = g
	}
	w.d.Values = nil
	for _, e := range ids {
		w.d.Values = append(w.d.Values, e.(*expr.Col).ID)
	}
	return node, w.checks(ids)
}

// generated binds a generated column's expression over a row.
func (w *writing) generated(c *catalog.Column, row *scope) (expr.Expr, error) {
	e, err := w.b.textExpr(c.Generated, row, inGenerated)
	if err != nil {
		return nil, err
	}
	return w.b.assign(e, c.Name, c.Type, spot{})
}

// checks binds the CHECK constraints over the new row.
func (w *writing) checks(ids []expr.Expr) error {
	w.d.Checks = nil
	row := (&scope{b: w.b, lv: w.sc.lv}).with([]*rel{w.over(w.table.Name, ids, 0)})
	for _, c := range w.table.Constraints {
		if c.Kind != 'c' {
			continue
		}
		e, err := w.b.textExpr(c.Check, row, inCheck)
		if err != nil {
			return err
		}
		if e, err = w.b.boolean(e, "CHECK", spot{}); err != nil {
			return err
		}
		w.d.Checks = append(w.d.Checks, plan.Check{Name: c.Name, Expr: e})
	}
	return nil
}

// valueCols are the new row's columns as expressions.
func (w *writing) valueCols() []expr.Expr {
	out := make([]expr.Expr, len(w.live))
	for i, c := range w.live {
		out[i] = &expr.Col{ID: w.d.Values[i], Typ: c.Type, Name: c.Name}
	}
	return out
}

// returning binds RETURNING over the written row and the other FROM items.
// Items with subqueries are computed by the source, as they depend on nothing
// that the write makes.
func (w *writing) returning(list []ast.Node, target *rel, others []*rel) error {
	if len(list) == 0 {
		return nil
	}
	b := w.b
	sc := w.sc.with(append([]*rel{target}, others...))
	ts, err := sc.targetList(list, inReturning)
	if err != nil {
		return err
	}
	var extra []plan.Item
	for _, t := range ts {
		e, err := b.known(t.e)
		if err != nil {
			return err
		}
		c := b.newCol(w.sc.lv, t.name, e.Type())
		c.Table, c.Num = t.col.table, t.col.num
		if hasSubquery(e) {
			x := b.newCol(w.sc.lv, t.name, e.Type())
			extra = append(extra, plan.Item{Col: x, Expr: e})
			e = col(x)
		}
		w.d.Returning = append(w.d.Returning, plan.Item{Col: c, Expr: e})
	}
	if len(extra) > 0 {
		p := &plan.Project{Input: w.d.Source}
		for _, c := range w.d.Source.Schema() {
			p.Items = append(p.Items, plan.Item{Col: c, Expr: col(c)})
		}
		p.Items = append(p.Items, extra...)
		w.d.Source = p
	}
	return nil
}

// noteColumns records which columns a privilege is needed for: those of the
// relation that the statement names, and where that is a view also those behind
// them, as the view reads its table.
func (w *writing) noteColumns(priv byte, at []int) {
	use := w.b.tableUse(w.named(), priv)
	for vt := w.view; vt != nil; vt = vt.below {
		for _, i := range at {
			for k, c := range vt.cols {
				if c.base == i {
					w.b.noteColumn(use, vt.rel.Live()[k].Num)
				}
			}
		}
		use = vt.inner.tableUse(w.reads(vt), priv)
	}
	for _, i := range at {
		w.b.noteColumn(use, w.live[i].Num)
	}
}

// noteRead records that columns of the table are read.
func (w *writing) noteRead(nums []int16) {
	use := w.readUse()
	for _, n := range nums {
		if w.view == nil {
			w.b.noteColumn(use, n)
			continue
		}
		for k, c := range w.view.cols {
			if c.base >= 0 && w.live[c.base].Num == n {
				w.b.noteColumn(use, w.view.rel.Live()[k].Num)
			}
		}
	}
}
