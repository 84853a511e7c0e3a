package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// dmlBinder is a DML statement while it is being bound.
type dmlBinder struct {
	sc     *scope.Scope
	b      *scope.Binder
	table  *catalog.Relation
	schema string
	name   *ast.RangeVar
	live   []catalog.Column
	d      *plan.DML
	// target is the written table in the statement's scope; for INSERT it is made with the new row.
	target *scope.Item
	view   *viewTarget // what the statement names, where that is a view
	read   int         // the target's use for reading, 0 while there is none
	// existing is the scan of the conflicting rows of ON CONFLICT, if the source contains one; otherwise nil.
	existing *plan.Scan
	// updates is true for INSERT … ON CONFLICT DO UPDATE.
	updates bool
	// xmax is a placeholder for the column xmax in RETURNING, until the source computes it.
	xmax    plan.Column
	updated expr.Expr
}

// bindDML binds a data-modifying statement; around is the scope around it.
func bindDML(around *scope.Scope, n ast.Stmt) (*plan.DML, error) {
	b, sc := around.Binder, around.Child(scope.Place{Name: "WITH"})
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
		if err := query.WithClause(sc, with, n); err != nil {
			return nil, err
		}
	}
	w := &dmlBinder{sc: sc, b: b, name: target}
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
func (w *dmlBinder) open(word string) error {
	b := w.b
	pos := b.SpotIdent(w.name.RelName)
	if w.name.SchemaName == "" {
		if c, _ := w.sc.With.Find(w.name.RelName); c != nil {
			if h, ok := query.LookupRelation(b, "", w.name.RelName); !ok || h.Rel == nil {
				return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" cannot be the target of a modifying statement", w.name.RelName).At(pos.At())
			}
		}
	}
	h, err := query.FindRelation(b, w.name)
	if err != nil {
		return err
	}
	if h.Virtual != nil && h.Schema == "information_schema" {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s view \"%s\"", word, w.name.RelName)
	}
	if h.Virtual != nil {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system catalog", w.name.RelName).At(pos.At())
	}
	w.table, w.schema = h.Rel, h.Schema
	switch h.Rel.Kind {
	case catalog.KindTable:
	case catalog.KindView:
		return w.throughView(h.Rel, word)
	case catalog.KindMatView:
		return pgerr.New(pgerr.WrongObjectType, "cannot change materialized view \"%s\"", h.Rel.Name)
	case catalog.KindSequence:
		return pgerr.New(pgerr.WrongObjectType, "cannot change sequence \"%s\"", h.Rel.Name)
	default:
		return pgerr.New(pgerr.WrongObjectType, "cannot open relation \"%s\"", h.Rel.Name).
			WithDetail("This operation is not supported for indexes.")
	}
	w.live = h.Rel.Live()
	return nil
}

// scanTarget reads the table that is changed, with the rows' ids.
func (w *dmlBinder) scanTarget() (plan.Node, error) {
	use := 0
	if w.view == nil {
		use = w.readUse()
	}
	scan, rl, err := query.Scan(w.sc, w.table, w.schema, w.name, use)
	if err != nil {
		return nil, err
	}
	it, err := query.Finish(w.sc, scan, rl, w.name.Alias, "table")
	if err != nil {
		return nil, err
	}
	w.target = it.Items[0]
	id := w.b.NewCol(w.sc.Level, "rowid", types.Int8)
	scan.RowID = id.ID
	w.d.RowID = id.ID
	for _, c := range scan.Cols[:len(w.live)] {
		w.d.Old = append(w.d.Old, c.ID)
	}
	if w.view != nil {
		return w.viewRows(scan)
	}
	return scan, nil
}

// readUse returns the use that records which columns of the old row the statement reads. It belongs to the
// target alone, since the statement may also read the same table elsewhere.
func (w *dmlBinder) readUse() int {
	if w.read == 0 {
		w.read = w.b.OwnUse(w.named(), 'r')
	}
	return w.read
}

// dropUnread removes the privilege to read the target (or the view written through) if nothing reads it.
func (w *dmlBinder) dropUnread() {
	uses := w.b.Stmt.Uses
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
func (w *dmlBinder) column(name string) (int, error) {
	if w.view != nil {
		return w.writable(name)
	}
	for i, c := range w.live {
		if c.Name == name {
			return i, nil
		}
	}
	return -1, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, w.table.Name).At(w.b.PosIdent(name))
}

// defaultOf returns the value of a column for which none is given.
func (w *dmlBinder) defaultOf(c *catalog.Column) (expr.Expr, error) {
	b := w.b
	var e expr.Expr
	var err error
	switch {
	case c.Sequence != 0 && (c.Identity != 0 || isNextval(c.Default)):
		e, err = b.CallByName("nextval", []expr.Expr{&expr.Const{Val: int64(c.Sequence), Typ: types.Regclass}}, typing.Position{})
	case c.Default != "":
		e, err = b.TextExpr(c.Default, &scope.Scope{Binder: b}, scope.InDefault)
	default:
		return &expr.Const{Typ: c.Type}, nil
	}
	if err != nil {
		return nil, err
	}
	return b.Assign(e, c.Name, c.Type, typing.Position{})
}

func isNextval(s string) bool { return len(s) > 8 && s[:8] == "nextval(" }

// over returns an item whose columns are the given expressions: a row of the table.
func (w *dmlBinder) over(name string, es []expr.Expr, use int) *scope.Item {
	r := &scope.Item{Name: name, Schema: w.schema, OID: w.table.OID, System: query.TableOID(w.table.OID), Table: w.table, Named: true, Open: true}
	for i, c := range w.live {
		r.Cols = append(r.Cols, scope.Column{Name: c.Name, Expr: es[i], Table: w.table.OID, Num: c.Num, Use: use})
	}
	return r
}

// fresh adds the system columns to a row that the statement writes: its future xmin, but no ctid, which is
// unknown before the commit. With ON CONFLICT DO UPDATE, xmax tells updated rows from new ones (tellUpdated).
func (w *dmlBinder) fresh(r *scope.Item) *scope.Item {
	if w.view == nil {
		r.System = append(append(r.System, scope.Column{Name: "ctid", System: true},
			scope.Column{Name: "xmin", Expr: &expr.Call{Fn: fn.ByID("row_xmin()"), Typ: types.XID}, System: true}), query.Unkept()...)
		for i := range r.System {
			if c := &r.System[i]; w.updates && c.Name == "xmax" {
				w.xmax = w.b.NewCol(w.sc.Level, "xmax", types.XID)
				c.Expr = scope.Col(w.xmax)
			}
		}
	}
	return r
}

// alias returns the table's name in the statement.
func (w *dmlBinder) alias() string {
	if w.name.Alias != nil {
		return w.name.Alias.AliasName
	}
	return w.named().Name
}

// named returns the relation that the statement names.
func (w *dmlBinder) named() *catalog.Relation {
	if w.view != nil {
		return w.view.rel
	}
	return w.table
}

// newRow adds the columns of the new row to the source: vals by live column,
// nil for generated ones, which are computed from the others.
func (w *dmlBinder) newRow(node plan.Node, vals []expr.Expr, keep bool) (plan.Node, error) {
	b := w.b
	p := &plan.Project{Input: node}
	if keep {
		for _, c := range node.Schema() {
			p.Items = append(p.Items, plan.Item{Col: c, Expr: scope.Col(c)})
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
		nc := b.NewCol(w.sc.Level, c.Name, vals[i].Type())
		nc.Table, nc.Num = w.table.OID, c.Num
		p.Items = append(p.Items, plan.Item{Col: nc, Expr: vals[i]})
		ids[i] = scope.Col(nc)
	}
	node = p
	if generated {
		row := (&scope.Scope{Binder: b, Level: w.sc.Level}).WithItems([]*scope.Item{w.over(w.alias(), ids, 0)})
		g := &plan.Project{Input: p}
		for _, it := range p.Items {
			g.Items = append(g.Items, plan.Item{Col: it.Col, Expr: scope.Col(it.Col)})
		}
		for i := range w.live {
			if vals[i] != nil {
				continue
			}
			e, err := w.generated(&w.live[i], row)
			if err != nil {
				return nil, err
			}
			nc := b.NewCol(w.sc.Level, w.live[i].Name, e.Type())
			g.Items = append(g.Items, plan.Item{Col: nc, Expr: e})
			ids[i] = scope.Col(nc)
		}
		node = g
	}
	w.d.Values = nil
	for _, e := range ids {
		w.d.Values = append(w.d.Values, e.(*expr.Col).ID)
	}
	if err := w.checks(ids); err != nil {
		return nil, err
	}
	return w.viewChecks(node, ids)
}

// generated binds a generated column's expression over a row.
func (w *dmlBinder) generated(c *catalog.Column, row *scope.Scope) (expr.Expr, error) {
	e, err := w.b.TextExpr(c.Generated, row, scope.InGenerated)
	if err != nil {
		return nil, err
	}
	return w.b.Assign(e, c.Name, c.Type, typing.Position{})
}

// checks binds the CHECK constraints over the new row.
func (w *dmlBinder) checks(ids []expr.Expr) error {
	w.d.Checks = nil
	row := (&scope.Scope{Binder: w.b, Level: w.sc.Level}).WithItems([]*scope.Item{w.over(w.table.Name, ids, 0)})
	for _, c := range w.table.Constraints {
		if c.Kind != 'c' {
			continue
		}
		e, err := w.b.TextExpr(c.Check, row, scope.InCheck)
		if err != nil {
			return err
		}
		if e, err = w.b.Boolean(e, "CHECK", typing.Position{}); err != nil {
			return err
		}
		w.d.Checks = append(w.d.Checks, plan.Check{Name: c.Name, Expr: e})
	}
	return nil
}

// valueCols returns the new row's columns as expressions.
func (w *dmlBinder) valueCols() []expr.Expr {
	out := make([]expr.Expr, len(w.live))
	for i, c := range w.live {
		out[i] = &expr.Col{ID: w.d.Values[i], Typ: c.Type, Name: c.Name}
	}
	return out
}

// returning binds RETURNING over the written row and the other FROM items. Items with subqueries
// are computed by the source, as they do not depend on the write.
func (w *dmlBinder) returning(list []ast.Node, target *scope.Item, others []*scope.Item) error {
	if len(list) == 0 {
		return nil
	}
	b := w.b
	sc := w.sc.WithItems(append([]*scope.Item{target}, others...))
	ts, err := query.TargetList(sc, list, scope.InReturning)
	if err != nil {
		return err
	}
	var extra []plan.Item
	var written map[expr.ColID]expr.Expr // the columns of an INSERT's row after DO UPDATE
	for _, t := range ts {
		e, err := b.ResolveUnknown(t.E)
		if err != nil {
			return err
		}
		if w.updates {
			if e, err = w.tellUpdated(e); err != nil {
				return err
			}
		}
		if w.updates && scope.HasSubquery(e) {
			if written == nil {
				if written, err = w.writtenRow(); err != nil {
					return err
				}
			}
			e = scope.MapExpr(e, func(x expr.Expr) expr.Expr {
				if c, ok := x.(*expr.Col); ok && written[c.ID] != nil {
					return written[c.ID]
				}
				return nil
			})
		}
		c := b.NewCol(w.sc.Level, t.Name, e.Type())
		c.Table, c.Num = t.Col.Table, t.Col.Num
		if scope.HasSubquery(e) {
			x := b.NewCol(w.sc.Level, t.Name, e.Type())
			extra = append(extra, plan.Item{Col: x, Expr: e})
			e = scope.Col(x)
		}
		w.d.Returning = append(w.d.Returning, plan.Item{Col: c, Expr: e})
	}
	if len(extra) > 0 {
		p := &plan.Project{Input: w.d.Source}
		for _, c := range w.d.Source.Schema() {
			p.Items = append(p.Items, plan.Item{Col: c, Expr: scope.Col(c)})
		}
		p.Items = append(p.Items, extra...)
		w.d.Source = p
	}
	return nil
}

// noteColumns records for which columns a privilege is needed: those of the relation that the statement
// names. If that is a view, also the columns of its table, for the view's owner.
func (w *dmlBinder) noteColumns(priv byte, at []int) {
	use := w.b.TableUse(w.named(), priv)
	for vt := w.view; vt != nil; vt = vt.below {
		for _, i := range at {
			for k, c := range vt.cols {
				if c.base == i {
					w.b.NoteColumn(use, vt.rel.Live()[k].Num)
				}
			}
		}
		use = vt.inner.TableUse(w.reads(vt), priv)
	}
	for _, i := range at {
		w.b.NoteColumn(use, w.live[i].Num)
	}
}

// noteRead records that columns of the table are read.
func (w *dmlBinder) noteRead(nums []int16) {
	use := w.readUse()
	for _, n := range nums {
		if w.view == nil {
			w.b.NoteColumn(use, n)
			continue
		}
		for k, c := range w.view.cols {
			if c.base >= 0 && w.live[c.base].Num == n {
				w.b.NoteColumn(use, w.view.rel.Live()[k].Num)
			}
		}
	}
}
