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
	w.updates = n.OnConflictClause != nil && n.OnConflictClause.Action == ast.ONCONFLICT_UPDATE
	if err := w.inserted(node, cols, vals); err != nil {
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
		// The statement needs the privileges for what the view reads, although the view's conditions are not
		// checked for a new row.
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

// inserted completes new rows of which node gives values of some columns: with defaults, and with
// generated columns.
func (w *dmlBinder) inserted(node plan.Node, cols []int, vals []expr.Expr) (err error) {
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
	w.noteColumns('a', cols)
	w.d.Source, err = w.newRow(node, vals, false)
	return err
}

// CopyBuffer is the buffer out of which COPY's plan reads the rows.
const CopyBuffer = 1 << 20

// Copied binds COPY into columns of a table as an INSERT of the rows of CopyBuffer, which has these
// columns.
func Copied(s *Session, rel *catalog.Relation, cols []catalog.Column) (*plan.DML, error) {
	b := newBinder(s)
	w := &dmlBinder{sc: (&scope.Scope{Binder: b}).Child(scope.Place{Name: "COPY"}), b: b, table: rel, live: rel.Live(),
		d: &plan.DML{Kind: plan.InsertRows, Table: rel}, name: &ast.RangeVar{RelName: rel.Name}}
	in := &plan.Buffer{ID: CopyBuffer, Name: "copied"}
	var at []int
	vals := make([]expr.Expr, len(w.live))
	for _, c := range cols {
		i := slices.IndexFunc(w.live, func(l catalog.Column) bool { return l.Num == c.Num })
		nc := b.NewCol(w.sc.Level, c.Name, c.Type)
		in.Cols, at, vals[i] = append(in.Cols, nc), append(at, i), scope.Col(nc)
	}
	err := w.inserted(in, at, vals)
	w.d.Tables, w.d.NextCol = b.Stmt.Tables(), b.Stmt.Next
	return w.d, err
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

// given checks that a value may be given for a column; keep is false if OVERRIDING USER VALUE discards the
// value.
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
