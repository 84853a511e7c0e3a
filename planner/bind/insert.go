package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// insert binds INSERT.
func (w *dmlBinder) insert(n *ast.InsertStmt) error {
	b := w.b
	w.d.Kind = plan.InsertRows
	cols, err := w.insertColumns(n)
	if err != nil {
		return err
	}
	vals := make([]expr.Expr, len(w.live)) // by live column; nil: not given
	var node plan.Node = &plan.Values{Rows: [][]expr.Expr{{}}}
	sel, _ := n.SelectStmt.(*ast.SelectStmt)
	switch {
	case sel == nil:
		cols = nil
	case sel.ValuesLists != nil && sel.WithClause == nil && len(typing.Items(sel.SortClause)) == 0 && sel.LimitCount == nil && sel.LimitOffset == nil:
		if node, cols, err = w.insertValues(n, sel, cols, vals); err != nil {
			return err
		}
	default:
		r, err := query.Bind(w.sc, sel, scope.Place{Name: "INSERT"}, false)
		if err != nil {
			return err
		}
		if cols, err = w.fitColumns(cols, len(r.Out), n, query.FirstTarget(b, sel)); err != nil {
			return err
		}
		for i := range r.Out {
			c := &w.live[cols[i]]
			keep, err := w.given(c, n.Override)
			if err != nil {
				return err
			}
			e, err := b.Assign(r.Out[i].Value(), c.Name, c.Type, query.TargetPos(b, sel, i))
			if err != nil {
				return err
			}
			if keep {
				vals[cols[i]] = e
			}
		}
		node = r.Node
	}
	for i := range w.live {
		c := &w.live[i]
		if vals[i] == nil && c.Generated == "" {
			if vals[i], err = w.defaultOf(c); err != nil {
				return err
			}
		}
		if c.Generated != "" {
			vals[i] = nil
		}
	}
	if cols == nil {
		w.noteColumns('a', nil)
	} else {
		w.noteColumns('a', cols)
	}
	w.updates = n.OnConflictClause != nil && n.OnConflictClause.Action == ast.ONCONFLICT_UPDATE
	if w.d.Source, err = w.newRow(node, vals, false); err != nil {
		return err
	}
	use := 0
	if len(typing.Items(n.ReturningList)) > 0 || w.updates {
		use = w.readUse()
	}
	row, err := w.seen(w.alias(), w.valueCols(), use)
	if err != nil {
		return err
	}
	if w.view != nil {
		// The privileges for what the view reads are needed, though its conditions are not checked for a new row.
		if _, err := w.viewConds(w.view, w.valueCols()); err != nil {
			return err
		}
	}
	if n.OnConflictClause != nil {
		if err := w.onConflict(n.OnConflictClause, use); err != nil {
			return err
		}
	}
	err = w.returning(typing.Items(n.ReturningList), w.fresh(row), nil)
	w.dropUnread()
	return err
}

// insertColumns resolves the column list; without one, all columns in order.
func (w *dmlBinder) insertColumns(n *ast.InsertStmt) ([]int, error) {
	var cols []int
	if n.Cols == nil && w.view != nil {
		for _, c := range w.view.cols {
			cols = append(cols, c.base)
		}
		return cols, nil
	}
	if n.Cols == nil {
		for i := range w.live {
			cols = append(cols, i)
		}
		return cols, nil
	}
	for _, c := range typing.Items(n.Cols) {
		rt := c.(*ast.ResTarget)
		if len(typing.Items(rt.Indirection)) > 0 {
			return nil, pgerr.Unsupported("assignment to a part of column \"%s\" is not supported", rt.Name).At(w.b.PosIdent(rt.Name))
		}
		i, err := w.column(rt.Name)
		if err != nil {
			return nil, err
		}
		for _, had := range cols {
			if had == i {
				return nil, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", rt.Name).At(w.b.PosIdent(rt.Name))
			}
		}
		cols = append(cols, i)
	}
	return cols, nil
}

// fitColumns checks the number of values.
func (w *dmlBinder) fitColumns(cols []int, n int, stmt *ast.InsertStmt, pos typing.Position) ([]int, error) {
	if n > len(cols) {
		return nil, pgerr.New(pgerr.SyntaxError, "INSERT has more expressions than target columns").At(pos.At())
	}
	if n < len(cols) && stmt.Cols != nil {
		return nil, pgerr.New(pgerr.SyntaxError, "INSERT has more target columns than expressions").At(w.b.PosIdent(w.live[cols[n]].Name))
	}
	for i, at := range cols[:n] {
		if at < 0 {
			_, err := w.writable(w.view.cols[i].name)
			return nil, err
		}
	}
	return cols[:n], nil
}

// given checks that a column may be given a value; keep is false where OVERRIDING USER VALUE drops
// it.
func (w *dmlBinder) given(c *catalog.Column, o ast.OverridingKind) (keep bool, err error) {
	switch {
	case c.Generated != "":
		return false, pgerr.New(pgerr.GeneratedAlways, "cannot insert a non-DEFAULT value into column \"%s\"", c.Name).
			WithDetail("Column \"%s\" is a generated column.", c.Name)
	case c.Identity == 'a' && o == ast.OVERRIDING_NOT_SET:
		return false, pgerr.New(pgerr.GeneratedAlways, "cannot insert a non-DEFAULT value into column \"%s\"", c.Name).
			WithDetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.", c.Name).
			WithHint("Use OVERRIDING SYSTEM VALUE to override.")
	case c.Identity != 0 && o == ast.OVERRIDING_USER_VALUE:
		return false, nil
	}
	return true, nil
}

// insertValues binds the rows of INSERT … VALUES, each value as its column's type, so that literals
// and DEFAULT have the column's type and default.
func (w *dmlBinder) insertValues(n *ast.InsertStmt, sel *ast.SelectStmt, cols []int, vals []expr.Expr) (plan.Node, []int, error) {
	b := w.b
	sc := w.sc.Child(scope.Place{Name: "VALUES"})
	v := &plan.Values{}
	var width int
	drop := make([]bool, len(w.live))
	for k, ln := range sel.ValuesLists.Items {
		row := typing.Items(ln.(*ast.NodeList))
		if k > 0 && len(row) != width {
			var pos typing.Position
			if len(row) > 0 {
				pos = b.SpotExpr(row[0])
			}
			return nil, nil, pgerr.New(pgerr.SyntaxError, "VALUES lists must all be the same length").At(pos.At())
		}
		if k == 0 {
			width = len(row)
			var pos typing.Position
			if len(cols) < width {
				pos = b.SpotExpr(row[len(cols)])
			}
			var err error
			if cols, err = w.fitColumns(cols, width, n, pos); err != nil {
				return nil, nil, err
			}
		}
		out := make([]expr.Expr, width)
		for i, x := range row {
			c := &w.live[cols[i]]
			if _, ok := typing.Unparen(x).(*ast.SetToDefault); ok {
				if c.Generated != "" {
					out[i] = &expr.Const{Typ: c.Type}
					drop[cols[i]] = true
					continue
				}
				e, err := w.defaultOf(c)
				if err != nil {
					return nil, nil, err
				}
				out[i] = e
				continue
			}
			e, err := sc.Expr(x, scope.InValues)
			if err != nil {
				return nil, nil, err
			}
			keep, err := w.given(c, n.Override)
			if err != nil {
				return nil, nil, err
			}
			if e, err = b.Assign(e, c.Name, c.Type, b.SpotExpr(x)); err != nil {
				return nil, nil, err
			}
			drop[cols[i]] = drop[cols[i]] || !keep
			out[i] = e
		}
		v.Rows = append(v.Rows, out)
	}
	for i := range cols {
		c := &w.live[cols[i]]
		nc := b.NewCol(w.sc.Level, c.Name, c.Type)
		v.Cols = append(v.Cols, nc)
		if !drop[cols[i]] {
			vals[cols[i]] = scope.Col(nc)
		}
	}
	return v, cols, nil
}

// onConflict binds ON CONFLICT.
func (w *dmlBinder) onConflict(n *ast.OnConflictClause, use int) error {
	b := w.b
	c := &plan.OnConflict{}
	if n.Infer != nil {
		arbiter, err := w.arbiter(n.Infer)
		if err != nil {
			return err
		}
		c.Arbiter = arbiter
	}
	w.d.OnConflict = c
	if n.Action != ast.ONCONFLICT_UPDATE {
		return nil
	}
	if n.Infer == nil {
		return pgerr.New(pgerr.SyntaxError, "ON CONFLICT DO UPDATE requires inference specification or constraint name").
			WithHint("For example, ON CONFLICT (column_name).").At(b.PosWord("on"))
	}
	c.Update = true
	row := func(ids *[]expr.ColID) []expr.Expr {
		out := make([]expr.Expr, len(w.live))
		for i, lc := range w.live {
			nc := b.NewCol(w.sc.Level, lc.Name, lc.Type)
			*ids = append(*ids, nc.ID)
			out[i] = scope.Col(nc)
		}
		return out
	}
	existing, excluded := row(&c.Existing), row(&c.Excluded)
	here, err := w.seen(w.alias(), existing, use)
	if err != nil {
		return err
	}
	proposed, err := w.seen("excluded", excluded, use)
	if err != nil {
		return err
	}
	sc := w.sc.WithItems([]*scope.Item{here, proposed})
	set, at, err := w.assignments(sc, typing.Items(n.TargetList), &w.d.Source)
	if err != nil {
		return err
	}
	w.noteColumns('w', at)
	c.Set = make([]expr.Expr, len(w.live))
	for i := range w.live {
		c.Set[i] = existing[i]
		if set[i] != nil {
			c.Set[i] = set[i]
		}
	}
	for i := range w.live {
		if w.live[i].Generated != "" {
			over := (&scope.Scope{Binder: b, Level: w.sc.Level}).WithItems([]*scope.Item{w.over(w.alias(), c.Set, 0)})
			if c.Set[i], err = w.generated(&w.live[i], over); err != nil {
				return err
			}
		}
	}
	conds, err := query.Conditions(sc, n.WhereClause, scope.InWhere)
	if err != nil {
		return err
	}
	switch len(conds) {
	case 0:
	case 1:
		c.Where = conds[0]
	default:
		c.Where = &expr.And{Args: conds}
	}
	for i := range c.Set {
		if c.Set[i], err = w.liftSubqueries(c.Set[i]); err != nil {
			return err
		}
	}
	c.Where, err = w.liftSubqueries(c.Where)
	return err
}

// liftSubqueries moves the subqueries of ON CONFLICT DO UPDATE into the source, as
// further columns of the proposed row. Those that read the existing row cannot
// be computed there.
func (w *dmlBinder) liftSubqueries(e expr.Expr) (expr.Expr, error) {
	if e == nil || !scope.HasSubquery(e) {
		return e, nil
	}
	var bad error
	out := scope.MapExpr(e, func(x expr.Expr) expr.Expr {
		s, ok := x.(*expr.Subquery)
		if !ok {
			return nil
		}
		moved, err := w.overProposed(s)
		if err != nil {
			bad = err
			return x
		}
		node, c := w.extend(w.d.Source, "subquery", moved)
		w.d.Source = node
		return c
	})
	return out, bad
}

// overProposed makes an expression over the excluded row one over the source.
func (w *dmlBinder) overProposed(e expr.Expr) (expr.Expr, error) {
	var bad error
	c := w.d.OnConflict
	out := scope.MapExpr(e, func(x expr.Expr) expr.Expr {
		col, ok := x.(*expr.Col)
		if !ok {
			return nil
		}
		for i := range c.Excluded {
			switch col.ID {
			case c.Existing[i]:
				bad = pgerr.Unsupported("subqueries in ON CONFLICT DO UPDATE that read the existing row are not supported")
			case c.Excluded[i]:
				return &expr.Col{ID: w.d.Values[i], Typ: col.Typ, Name: col.Name}
			}
		}
		return col
	})
	return out, bad
}

// arbiter finds the unique constraint or index that an ON CONFLICT names.
func (w *dmlBinder) arbiter(n *ast.InferClause) (types.OID, error) {
	b := w.b
	if n.Conname != "" {
		for _, k := range w.table.Constraints {
			if k.Name != n.Conname {
				continue
			}
			if k.Kind != 'p' && k.Kind != 'u' {
				return 0, pgerr.New(pgerr.WrongObjectType, "constraint in ON CONFLICT clause has no associated index").At(b.PosIdent(n.Conname))
			}
			w.noteRead(k.Columns)
			return k.OID, nil
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", n.Conname, w.table.Name).At(b.PosIdent(n.Conname))
	}
	want := map[int16]bool{}
	exprs := map[string]bool{}
	for _, x := range typing.Items(n.IndexElems) {
		el := x.(*ast.IndexElem)
		if el.Expr != nil {
			exprs[parse.Text(el.Expr)] = true
			continue
		}
		i, err := w.column(el.Name)
		if err != nil {
			return 0, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", el.Name).At(b.PosIdent(el.Name))
		}
		want[w.live[i].Num] = true
		w.noteRead([]int16{w.live[i].Num})
	}
	same := func(cols []int16, texts []string) bool {
		if len(cols) != len(want)+len(exprs) {
			return false
		}
		for i, c := range cols {
			if c != 0 && !want[c] || c == 0 && !exprs[texts[i]] {
				return false
			}
		}
		return true
	}
	for _, k := range w.table.Constraints {
		if (k.Kind == 'p' || k.Kind == 'u') && same(k.Columns, nil) {
			return k.OID, nil
		}
	}
	where := ""
	if n.WhereClause != nil {
		where = parse.Text(n.WhereClause)
	}
	for _, k := range w.table.Constraints {
		r := b.Session.State.RelationByOID(k.Index)
		if k.Kind != 'i' && k.Kind != 'e' || r == nil || r.Index == nil {
			continue
		}
		if ix := r.Index; (ix.Where == "" || ix.Where == where) && same(ix.Columns, ix.Exprs) {
			return k.OID, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidColumnReference, "there is no unique or exclusion constraint matching the ON CONFLICT specification")
}
