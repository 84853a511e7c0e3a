package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// viewTarget is a view that is written through: one SELECT of one table,
// without grouping and the like, so that each of its rows is one of the table.
type viewTarget struct {
	rel   *catalog.Relation
	inner *binder       // with the view's search path
	from  *ast.RangeVar // the table, in its text
	cols  []viewCol
	where ast.Node
	use   int // the reading of the table, which the view needs for all its columns
}

// viewCol is a column of the view: a column of the table, or an expression
// over it that can be read only.
type viewCol struct {
	name string
	base int // index into the table's live columns; -1 for an expression
	node ast.Node
}

// throughView makes the view's table the target of the statement.
func (w *writing) throughView(v *catalog.Relation, word string) error {
	b := w.b
	refuse := func(why string) error {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s view \"%s\"", word, v.Name).
			WithDetail("%s", why).WithHint("Write to the table that the view reads.")
	}
	sel, err := viewText(v)
	if err != nil {
		return err
	}
	if why := notSimple(sel); why != "" {
		return refuse(why)
	}
	from, ok := items(sel.FromClause)[0].(*ast.RangeVar)
	if !ok {
		return refuse("Views that do not select from a single table or view are not automatically updatable.")
	}
	inner := b.within(v)
	h, err := inner.findRelation(from)
	if err != nil {
		return err
	}
	if h.rel == nil || h.rel.Kind != catalog.KindTable {
		return refuse("Views of views, and of system relations, are not automatically updatable.")
	}
	if v.Options["check_option"] != "" {
		return pgerr.Unsupported("writing through a view WITH CHECK OPTION is not supported")
	}
	vt := &viewTarget{rel: v, inner: inner, from: from, where: sel.WhereClause}
	w.view, w.table, w.schema, w.live = vt, h.rel, h.schema, h.rel.Live()
	live, err := w.base(make([]expr.Expr, len(w.live)))
	if err != nil {
		return err
	}
	for _, t := range items(sel.TargetList) {
		val := unparen(t.(*ast.ResTarget).Val)
		at := -1
		if c, ok := val.(*ast.ColumnRef); ok {
			names, rest := splitFields(c)
			if len(rest) > 0 { // a star
				for i, c := range live.cols {
					if !c.hidden {
						vt.cols = append(vt.cols, viewCol{base: i, node: ast.NewColumnRef(ast.NewString(c.name))})
					}
				}
				continue
			}
			for i := range live.cols {
				if live.cols[i].name == names[len(names)-1] {
					at = i
				}
			}
		}
		vt.cols = append(vt.cols, viewCol{base: at, node: val})
	}
	for i, c := range v.Live() {
		if i >= len(vt.cols) {
			return pgerr.Internal("view \"%s\" has more columns than its query", v.Name)
		}
		vt.cols[i].name = c.Name
	}
	vt.use = inner.ownUse(h.rel, 'r')
	return nil
}

// notSimple says why a view cannot be written through; "" if it can.
func notSimple(sel *ast.SelectStmt) string {
	what := ""
	switch {
	case sel.Op != ast.SETOP_NONE:
		what = "UNION, INTERSECT, or EXCEPT"
	case sel.WithClause != nil:
		what = "WITH"
	case sel.DistinctClause != nil:
		what = "DISTINCT"
	case len(items(sel.GroupClause)) > 0:
		what = "GROUP BY"
	case sel.HavingClause != nil:
		what = "HAVING"
	case sel.LimitCount != nil || sel.LimitOffset != nil:
		what = "LIMIT or OFFSET"
	}
	if what != "" {
		return "Views containing " + what + " are not automatically updatable."
	}
	if len(items(sel.FromClause)) != 1 {
		return "Views that do not select from a single table or view are not automatically updatable."
	}
	return ""
}

// writable finds the table's column behind a column of the view.
func (w *writing) writable(name string) (int, error) {
	for _, c := range w.view.cols {
		if c.name != name {
			continue
		}
		if c.base < 0 {
			return -1, pgerr.Unsupported("cannot write to column \"%s\" of view \"%s\"", name, w.view.rel.Name).
				WithDetail("View columns that are not columns of their base relation are not updatable.").At(w.b.posIdent(name))
		}
		return c.base, nil
	}
	return -1, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, w.view.rel.Name).At(w.b.posIdent(name))
}

// seen is the row of the target as the statement's names see it: the table's
// columns, or the view's over them.
func (w *writing) seen(name string, es []expr.Expr, use int) (*rel, error) {
	if w.view == nil {
		return w.over(name, es, use), nil
	}
	base, err := w.base(es)
	if err != nil {
		return nil, err
	}
	row := (&scope{b: w.view.inner, lv: w.sc.lv}).with([]*rel{base})
	out := &rel{name: name, schema: w.schema, oid: w.view.rel.OID, named: true, open: true}
	for i, c := range w.view.rel.Live() {
		e, err := row.expr(w.view.cols[i].node, place{name: "SELECT"})
		if err != nil {
			return nil, err
		}
		if e, err = w.b.known(e); err != nil {
			return nil, err
		}
		out.cols = append(out.cols, relCol{name: c.Name, orig: c.Name, e: e, table: w.view.rel.OID, num: c.Num, use: use})
	}
	return out, nil
}

// base is the row of the view's table as the view's text knows it.
func (w *writing) base(es []expr.Expr) (*rel, error) {
	r := w.over(w.table.Name, es, w.view.use)
	cols, alias := w.view.inner.asSeen(w.table, r.cols, w.view.from.Alias)
	r.cols = cols
	return r, w.view.inner.rename(r, alias, "table")
}

// viewRows shows the scanned table as the view: its columns, and only the rows
// that the view has.
func (w *writing) viewRows(scan *plan.Scan) (plan.Node, error) {
	es := columnsOf(scan.Cols)
	r, err := w.seen(w.alias(), es, w.readUse())
	if err != nil {
		return nil, err
	}
	w.target = r
	w.sc.lv.rels = append(w.sc.lv.rels, r)
	conds, err := w.viewConds(es)
	if err != nil || len(conds) == 0 {
		return scan, err
	}
	return &plan.Filter{Input: scan, Conds: conds}, nil
}

// viewConds binds the view's condition over a row of its table.
func (w *writing) viewConds(es []expr.Expr) ([]expr.Expr, error) {
	base, err := w.base(es)
	if err != nil {
		return nil, err
	}
	row := (&scope{b: w.view.inner, lv: w.sc.lv}).with([]*rel{base})
	return row.conditions(w.view.where, inWhere)
}
