package bind

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// viewTarget is a view through which a statement writes. It selects from one table or from another such view,
// without grouping and the like, so each of its rows is a row of the table.
type viewTarget struct {
	rel   *catalog.Relation
	word  string        // what the statement does to it, for errors
	below *viewTarget   // what it reads where that is a view
	inner *scope.Binder // with the view's search path
	from  *ast.RangeVar // what it reads, in its text
	cols  []viewCol
	where ast.Node
	use   int // the use for reading it, which the view needs for all its columns
}

// viewCol is a column of the view: a column of the table, or an expression
// over it that can be read only.
type viewCol struct {
	name string
	base int // index into the table's live columns; -1 for an expression
	node ast.Node
}

// reads returns the relation that a view reads.
func (w *dmlBinder) reads(vt *viewTarget) *catalog.Relation {
	if vt.below != nil {
		return vt.below.rel
	}
	return w.table
}

// throughView makes the view's table the target of the statement.
func (w *dmlBinder) throughView(v *catalog.Relation, word string) (err error) {
	if w.view, err = w.through(w.b, v, word); err != nil {
		return err
	}
	w.live = w.table.Live()
	return nil
}

// through follows a view that the text of b names to the table below it.
func (w *dmlBinder) through(b *scope.Binder, v *catalog.Relation, word string) (*viewTarget, error) {
	refuse := func(why string) error { return errNotUpdatable(v, word, why) }
	sel, err := query.ViewText(v)
	if err != nil {
		return nil, err
	}
	if why := notSimple(sel); why != "" {
		return nil, refuse(why)
	}
	from, ok := typing.Items(sel.FromClause)[0].(*ast.RangeVar)
	if !ok {
		return nil, refuse("Views that do not select from a single table or view are not automatically updatable.")
	}
	inner := b.OfView(v)
	h, err := query.FindRelation(inner, from)
	if err != nil {
		return nil, err
	}
	vt := &viewTarget{rel: v, word: word, inner: inner, from: from, where: sel.WhereClause}
	switch {
	case h.Rel != nil && h.Rel.Kind == catalog.KindTable:
		w.table, w.schema, w.live = h.Rel, h.Schema, h.Rel.Live()
	case h.Rel != nil && h.Rel.Kind == catalog.KindView:
		if vt.below, err = w.through(inner, h.Rel, word); err != nil {
			return nil, err
		}
	default:
		return nil, refuse("Views that do not select from a single table or view are not automatically updatable.")
	}
	if err := w.viewColumns(vt, typing.Items(sel.TargetList)); err != nil {
		return nil, err
	}
	vt.use = inner.OwnUse(w.reads(vt), 'r')
	return vt, nil
}

func errNotUpdatable(v *catalog.Relation, word, why string) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s view \"%s\"", word, v.Name).
		WithDetail("%s", why).WithHint("Write to the table that the view reads.")
}

// viewColumns finds the base columns or expressions of a view's columns.
func (w *dmlBinder) viewColumns(vt *viewTarget, targets []ast.Node) error {
	below := w.over(w.table.Name, make([]expr.Expr, len(w.live)), 0)
	if vt.below != nil {
		below = &scope.Item{}
		for _, c := range vt.below.rel.Live() {
			below.Cols = append(below.Cols, scope.Column{Name: c.Name, Num: c.Num})
		}
	}
	if err := w.renamed(vt, below); err != nil {
		return err
	}
	base := func(i int) int {
		if vt.below != nil {
			return vt.below.cols[i].base
		}
		return i
	}
	for _, t := range targets {
		val := typing.Unparen(t.(*ast.ResTarget).Val)
		at := -1
		if c, ok := val.(*ast.ColumnRef); ok {
			names, rest := typing.SplitFields(c)
			if len(rest) > 0 { // a star
				for i, c := range below.Cols {
					if !c.Hidden {
						vt.cols = append(vt.cols, viewCol{base: base(i), node: ast.NewColumnRef(ast.NewString(c.Name))})
					}
				}
				continue
			}
			for i := range below.Cols {
				if below.Cols[i].Name == names[len(names)-1] {
					at = base(i)
				}
			}
		}
		vt.cols = append(vt.cols, viewCol{base: at, node: val})
	}
	for i, c := range vt.rel.Live() {
		if i >= len(vt.cols) {
			return pgerr.Internal("view \"%s\" has more columns than its query", vt.rel.Name)
		}
		vt.cols[i].name = c.Name
	}
	return nil
}

// notSimple returns why a view is not updatable; "" if it is.
func notSimple(sel *ast.SelectStmt) string {
	what := ""
	switch {
	case sel.Op != ast.SETOP_NONE:
		what = "UNION, INTERSECT, or EXCEPT"
	case sel.WithClause != nil:
		what = "WITH"
	case sel.DistinctClause != nil:
		what = "DISTINCT"
	case len(typing.Items(sel.GroupClause)) > 0:
		what = "GROUP BY"
	case sel.HavingClause != nil:
		what = "HAVING"
	case sel.LimitCount != nil || sel.LimitOffset != nil:
		what = "LIMIT or OFFSET"
	}
	if what != "" {
		return "Views containing " + what + " are not automatically updatable."
	}
	if len(typing.Items(sel.FromClause)) != 1 {
		return "Views that do not select from a single table or view are not automatically updatable."
	}
	return ""
}

// writable finds the table's column behind a column of the view.
func (w *dmlBinder) writable(name string) (int, error) {
	for _, c := range w.view.cols {
		if c.name != name {
			continue
		}
		if c.base < 0 {
			return -1, pgerr.Unsupported("cannot write to column \"%s\" of view \"%s\"", name, w.view.rel.Name).
				WithDetail("View columns that are not columns of their base relation are not updatable.").At(w.b.PosIdent(name))
		}
		return c.base, nil
	}
	return -1, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, w.view.rel.Name).At(w.b.PosIdent(name))
}

// seen returns the row of the target by the statement's names: the table's columns, or the view's
// over them.
func (w *dmlBinder) seen(name string, es []expr.Expr, use int) (*scope.Item, error) {
	return w.shown(w.view, name, es, use)
}

// shown returns a row of the table as a view shows it, or unchanged where vt is nil.
func (w *dmlBinder) shown(vt *viewTarget, name string, es []expr.Expr, use int) (*scope.Item, error) {
	if vt == nil {
		return w.over(name, es, use), nil
	}
	base, err := w.base(vt, es)
	if err != nil {
		return nil, err
	}
	row := (&scope.Scope{Binder: vt.inner, Level: w.sc.Level}).WithItems([]*scope.Item{base})
	out := &scope.Item{Name: name, Schema: w.schema, OID: vt.rel.OID, Named: true, Open: true}
	for i, c := range vt.rel.Live() {
		e, err := row.Expr(vt.cols[i].node, scope.Place{Name: "SELECT"})
		switch {
		case pgerr.Is(err, pgerr.GroupingError):
			return nil, errNotUpdatable(vt.rel, vt.word, "Views that return aggregate functions are not automatically updatable.")
		case pgerr.Is(err, pgerr.WindowingError):
			return nil, errNotUpdatable(vt.rel, vt.word, "Views that return window functions are not automatically updatable.")
		case err != nil:
			return nil, err
		}
		if e, err = w.b.ResolveUnknown(e); err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, scope.Column{Name: c.Name, Orig: c.Name, Expr: e, Table: vt.rel.OID, Num: c.Num, Use: use})
	}
	return out, nil
}

// base returns the row of what a view reads, by the names of the view's text.
func (w *dmlBinder) base(vt *viewTarget, es []expr.Expr) (*scope.Item, error) {
	r, err := w.shown(vt.below, w.reads(vt).Name, es, vt.use)
	if err != nil {
		return nil, err
	}
	return r, w.renamed(vt, r)
}

// renamed gives a row of what a view reads the names that the view's text has for it.
func (w *dmlBinder) renamed(vt *viewTarget, r *scope.Item) error {
	cols, alias := vt.inner.AsSeen(w.reads(vt), r.Cols, vt.from.Alias)
	r.Cols = cols
	return query.Rename(vt.inner, r, alias, "table")
}

// viewRows shows the scanned table as the view: its columns, and only the rows
// that the view has.
func (w *dmlBinder) viewRows(scan *plan.Scan) (plan.Node, error) {
	es := scope.ColumnsOf(scan.Cols[:len(w.live)])
	r, err := w.seen(w.alias(), es, w.readUse())
	if err != nil {
		return nil, err
	}
	w.target = r
	w.sc.Level.Items = append(w.sc.Level.Items, r)
	conds, err := w.viewConds(w.view, es)
	if err != nil || len(conds) == 0 {
		return scan, err
	}
	return &plan.Filter{Input: scan, Conds: conds}, nil
}

// viewConds binds the conditions of a view, and of those below it, over a row
// of its table.
func (w *dmlBinder) viewConds(vt *viewTarget, es []expr.Expr) (conds []expr.Expr, err error) {
	if vt.below != nil {
		if conds, err = w.viewConds(vt.below, es); err != nil {
			return nil, err
		}
	}
	own, err := w.ownConds(vt, es)
	return append(conds, own...), err
}

// ownConds binds the conditions of a view alone.
func (w *dmlBinder) ownConds(vt *viewTarget, es []expr.Expr) ([]expr.Expr, error) {
	base, err := w.base(vt, es)
	if err != nil {
		return nil, err
	}
	row := (&scope.Scope{Binder: vt.inner, Level: w.sc.Level}).WithItems([]*scope.Item{base})
	return query.Conditions(row, vt.where, scope.InWhere)
}

// viewChecks adds the conditions of views WITH CHECK OPTION over the new row to the checks, those of
// the lowest view first. CASCADED is of all views below too. A condition with a subquery is computed by
// the source.
func (w *dmlBinder) viewChecks(node plan.Node, ids []expr.Expr) (plan.Node, error) {
	var checked []*viewTarget
	cascaded := false
	for vt := w.view; vt != nil; vt = vt.below {
		option := vt.rel.Options[catalog.CheckOption]
		if cascaded = cascaded || option == "cascaded"; cascaded || option == "local" {
			checked = append(checked, vt)
		}
	}
	slices.Reverse(checked)
	for _, vt := range checked {
		conds, err := w.ownConds(vt, ids)
		if err != nil {
			return nil, err
		}
		for _, c := range conds {
			var e expr.Expr = &expr.BoolTest{Arg: c, Kind: expr.IsTrue}
			if scope.HasSubquery(e) {
				if w.updates {
					return nil, pgerr.Unsupported("ON CONFLICT DO UPDATE through a view whose CHECK OPTION has a subquery is not supported")
				}
				var col *expr.Col
				node, col = w.extend(node, "check", e)
				e = col
			}
			w.d.Checks = append(w.d.Checks, plan.Check{Name: vt.rel.Name, View: true, Expr: e})
		}
	}
	return node, nil
}

// NotUpdatable returns why a view of a query, whose columns bound has, is not updatable; "" if it is.
func NotUpdatable(n ast.Stmt, bound *plan.Query) string {
	sel, ok := n.(*ast.SelectStmt)
	if !ok {
		return "Views that do not select from a single table or view are not automatically updatable."
	}
	if why := notSimple(sel); why != "" {
		return why
	}
	if _, ok := typing.Items(sel.FromClause)[0].(*ast.RangeVar); !ok {
		return "Views that do not select from a single table or view are not automatically updatable."
	}
	computed := bound.Root
	if p, ok := computed.(*plan.Project); ok {
		computed = p.Input
	}
	switch computed.(type) {
	case *plan.Aggregate:
		return "Views that return aggregate functions are not automatically updatable."
	case *plan.Window:
		return "Views that return window functions are not automatically updatable."
	}
	if !slices.ContainsFunc(typing.Items(sel.TargetList), func(t ast.Node) bool {
		_, is := typing.Unparen(t.(*ast.ResTarget).Val).(*ast.ColumnRef)
		return is
	}) {
		return "Views that have no updatable columns are not automatically updatable."
	}
	return ""
}
