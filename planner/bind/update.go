package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// update binds UPDATE.
func (w *dmlBinder) update(n *ast.UpdateStmt) error {
	w.d.Kind = plan.UpdateRows
	node, others, err := w.rows(typing.Items(n.FromClause), n.WhereClause)
	if err != nil {
		return err
	}
	set, at, err := w.assignments(w.sc, typing.Items(n.TargetList), &node)
	if err != nil {
		return err
	}
	w.noteColumns('w', at)
	vals := make([]expr.Expr, len(w.live))
	for i := range w.live {
		switch {
		case w.live[i].Generated != "":
		case set[i] != nil:
			vals[i] = set[i]
		default:
			vals[i] = &expr.Col{ID: w.d.Old[i], Typ: w.live[i].Type, Name: w.live[i].Name}
		}
	}
	if w.d.Source, err = w.newRow(node, vals, true); err != nil {
		return err
	}
	row, err := w.seen(w.alias(), w.valueCols(), w.target.Cols[0].Use)
	if err != nil {
		return err
	}
	if err := w.returning(typing.Items(n.ReturningList), w.fresh(row), others); err != nil {
		return err
	}
	w.dropUnread()
	return nil
}

// delete binds DELETE.
func (w *dmlBinder) delete(n *ast.DeleteStmt) error {
	w.d.Kind = plan.DeleteRows
	node, others, err := w.rows(typing.Items(n.UsingClause), n.WhereClause)
	if err != nil {
		return err
	}
	w.noteColumns('d', nil)
	w.d.Source = node
	if err := w.returning(typing.Items(n.ReturningList), w.target, others); err != nil {
		return err
	}
	w.dropUnread()
	return nil
}

// rows returns the source of UPDATE and DELETE: the table's rows, joined with the other FROM items, for which
// the condition is true. A row that joins several times occurs several times.
func (w *dmlBinder) rows(from []ast.Node, where ast.Node) (plan.Node, []*scope.Item, error) {
	if _, ok := where.(*ast.CurrentOfExpr); ok {
		return nil, nil, pgerr.Unsupported("WHERE CURRENT OF is not supported").At(w.b.PosWord("current"))
	}
	scan, err := w.scanTarget()
	if err != nil {
		return nil, nil, err
	}
	node := scan
	sc := w.sc
	sc.Items = []*scope.Item{w.target}
	for _, f := range from {
		it, err := query.FromItem(sc, f, append(scope.Banned(sc.Items[:1]), sc.Items[1:]...))
		if err != nil {
			return nil, nil, err
		}
		if err := query.DistinctNames(sc, sc.Items, it.Items); err != nil {
			return nil, nil, err
		}
		node = query.Joined(plan.Inner, node, it.Node, nil)
		sc.Items = append(sc.Items[:len(sc.Items):len(sc.Items)], it.Items...)
	}
	conds, err := query.Conditions(sc, where, scope.InWhere)
	if err != nil {
		return nil, nil, err
	}
	if len(conds) > 0 {
		node = &plan.Filter{Input: node, Conds: conds}
	}
	return node, sc.Items[1:], nil
}

// settable refuses a value for a column that only accepts its default.
func settable(c *catalog.Column) error {
	detail := ""
	switch {
	case c.Generated != "":
		detail = "a generated column."
	case c.Identity == 'a':
		detail = "an identity column defined as GENERATED ALWAYS."
	default:
		return nil
	}
	return pgerr.New(pgerr.GeneratedAlways, "column \"%s\" can only be updated to DEFAULT", c.Name).WithDetail("Column \"%s\" is %s", c.Name, detail)
}

// assignments binds a SET list: the new value by live column, nil for those not set, and the columns that
// are. The subquery of a multiple assignment is joined to *node; node is nil where such assignments are not
// possible.
func (w *dmlBinder) assignments(sc *scope.Scope, list []ast.Node, node *plan.Node) ([]expr.Expr, []int, error) {
	b := w.b
	set := make([]expr.Expr, len(w.live))
	var at []int
	sources := map[ast.Node][]expr.Expr{}
	for _, n := range list {
		rt := n.(*ast.ResTarget)
		i, err := w.column(rt.Name)
		if err != nil {
			return nil, nil, err
		}
		c := &w.live[i]
		if len(typing.Items(rt.Indirection)) > 0 {
			return nil, nil, pgerr.Unsupported("assignment to a part of column \"%s\" is not supported", rt.Name).At(b.PosIdent(rt.Name))
		}
		for _, had := range at {
			if had == i {
				return nil, nil, pgerr.New(pgerr.SyntaxError, "multiple assignments to same column \"%s\"", rt.Name).At(b.PosIdent(rt.Name))
			}
		}
		at = append(at, i)
		val := rt.Val
		var e expr.Expr
		if m, ok := val.(*ast.MultiAssignRef); ok {
			src := typing.Unparen(m.Source)
			if row, ok := src.(*ast.RowExpr); ok {
				es := typing.Items(row.Args)
				spread := false
				for _, x := range es {
					if c, ok := x.(*ast.ColumnRef); ok {
						_, rest := typing.SplitFields(c)
						spread = spread || len(rest) == 1
					}
				}
				if spread {
					all, ok := sources[m.Source]
					if !ok {
						if all, err = sc.RowItems(es, scope.InUpdate); err != nil {
							return nil, nil, err
						}
						sources[m.Source] = all
					}
					if len(all) == m.Ncolumns {
						e, es = all[m.Colno-1], make([]ast.Node, m.Ncolumns)
					}
				}
				if len(es) != m.Ncolumns {
					return nil, nil, pgerr.New(pgerr.SyntaxError, "number of columns does not match number of values").At(b.PosIdent(rt.Name))
				}
				if e == nil {
					val = es[m.Colno-1]
				}
			} else {
				es, ok := sources[m.Source]
				if !ok {
					if es, err = w.multi(sc, src, m.Ncolumns, node); err != nil {
						return nil, nil, err
					}
					sources[m.Source] = es
				}
				e = es[m.Colno-1]
			}
		}
		if _, ok := typing.Unparen(val).(*ast.SetToDefault); ok {
			if c.Generated != "" {
				continue
			}
			if w.view != nil { // whose columns have no defaults; only INSERT takes the table's then
				set[i] = &expr.Const{Typ: c.Type}
				continue
			}
			if set[i], err = w.defaultOf(c); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err := settable(c); err != nil {
			return nil, nil, err
		}
		if e == nil {
			if e, err = sc.Expr(val, scope.InUpdate); err != nil {
				return nil, nil, err
			}
		}
		if set[i], err = b.Assign(e, c.Name, c.Type, b.SpotExpr(val)); err != nil {
			return nil, nil, err
		}
	}
	return set, at, nil
}

// multi binds the subquery of (a, b) = (SELECT …): its row is joined to the
// row that is updated.
func (w *dmlBinder) multi(sc *scope.Scope, n ast.Node, width int, node *plan.Node) ([]expr.Expr, error) {
	b := w.b
	sub, ok := n.(*ast.SubLink)
	if !ok || sub.SubLinkType != ast.EXPR_SUBLINK {
		return nil, pgerr.Unsupported("source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression").At(b.PosExpr(n))
	}
	if node == nil {
		return nil, pgerr.Unsupported("multiple assignment from a subquery is not supported here")
	}
	r, err := query.Bind(sc, sub.Subselect.(*ast.SelectStmt), scope.InUpdate, true)
	if err != nil {
		return nil, err
	}
	if len(r.Out) != width {
		return nil, pgerr.New(pgerr.SyntaxError, "number of columns does not match number of values").At(query.FirstTarget(b, sub.Subselect.(*ast.SelectStmt)).At())
	}
	if w.d.OnConflict != nil {
		probe, err := w.overSource(&expr.Subquery{Plan: r.Node, Typ: r.Out[0].Type})
		if err != nil {
			return nil, err
		}
		r.Node = probe.(*expr.Subquery).Plan.(plan.Node)
	}
	*node = query.Joined(plan.Single, *node, r.Node, nil)
	return scope.ColumnsOf(r.Columns()), nil
}
