package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// update binds UPDATE.
func (w *writing) update(n *ast.UpdateStmt) error {
	w.d.Kind = plan.UpdateRows
	node, others, err := w.rows(items(n.FromClause), n.WhereClause)
	if err != nil {
		return err
	}
	set, at, err := w.assignments(w.sc, items(n.TargetList), &node)
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
	row, err := w.seen(w.alias(), w.valueCols(), w.target.cols[0].use)
	if err != nil {
		return err
	}
	if err := w.returning(items(n.ReturningList), row, others); err != nil {
		return err
	}
	w.dropUnread()
	return nil
}

// delete binds DELETE.
func (w *writing) delete(n *ast.DeleteStmt) error {
	w.d.Kind = plan.DeleteRows
	node, others, err := w.rows(items(n.UsingClause), n.WhereClause)
	if err != nil {
		return err
	}
	w.noteColumns('d', nil)
	w.d.Source = node
	if err := w.returning(items(n.ReturningList), w.target, others); err != nil {
		return err
	}
	w.dropUnread()
	return nil
}

// rows is the source of UPDATE and DELETE: the table's rows, joined with the
// other items, that the condition keeps; each row once.
func (w *writing) rows(from []ast.Node, where ast.Node) (plan.Node, []*rel, error) {
	if _, ok := where.(*ast.CurrentOfExpr); ok {
		return nil, nil, pgerr.Unsupported("WHERE CURRENT OF is not supported").At(w.b.posWord("current"))
	}
	scan, err := w.scanTarget()
	if err != nil {
		return nil, nil, err
	}
	node := scan
	sc := w.sc
	sc.rels = []*rel{w.target}
	for _, f := range from {
		it, err := sc.item(f, append(banned(sc.rels[:1]), sc.rels[1:]...))
		if err != nil {
			return nil, nil, err
		}
		if err := sc.distinctNames(sc.rels, it.rels); err != nil {
			return nil, nil, err
		}
		node = joined(plan.Inner, node, it.node, nil)
		sc.rels = append(sc.rels[:len(sc.rels):len(sc.rels)], it.rels...)
	}
	conds, err := sc.conditions(where, inWhere)
	if err != nil {
		return nil, nil, err
	}
	if len(conds) > 0 {
		node = &plan.Filter{Input: node, Conds: conds}
	}
	if len(from) > 0 {
		// A row that joins several others changes once, by any of them.
		id := &expr.Col{ID: w.d.RowID, Name: "rowid", Typ: types.Int8}
		node = &plan.DistinctOn{Input: node, Keys: []expr.Expr{id}}
	}
	return node, sc.rels[1:], nil
}

// assignments binds a SET list: the new value by live column, nil for those
// not set, and the columns that are. A multiple assignment from a subquery is
// joined to *node; node is nil where that cannot be.
func (w *writing) assignments(sc *scope, list []ast.Node, node *plan.Node) ([]expr.Expr, []int, error) {
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
		if len(items(rt.Indirection)) > 0 {
			return nil, nil, pgerr.Unsupported("assignment to a part of column \"%s\" is not supported", rt.Name).At(b.posIdent(rt.Name))
		}
		for _, had := range at {
			if had == i {
				return nil, nil, pgerr.New(pgerr.SyntaxError, "multiple assignments to same column \"%s\"", rt.Name).At(b.posIdent(rt.Name))
			}
		}
		at = append(at, i)
		val := rt.Val
		var e expr.Expr
		if m, ok := val.(*ast.MultiAssignRef); ok {
			src := unparen(m.Source)
			if row, ok := src.(*ast.RowExpr); ok {
				es := items(row.Args)
				spread := false
				for _, x := range es {
					if c, ok := x.(*ast.ColumnRef); ok {
						_, rest := splitFields(c)
						spread = spread || len(rest) == 1
					}
				}
				if spread {
					all, ok := sources[m.Source]
					if !ok {
						if all, err = sc.rowItems(es, inUpdate); err != nil {
							return nil, nil, err
						}
						sources[m.Source] = all
					}
					if len(all) == m.Ncolumns {
						e, es = all[m.Colno-1], make([]ast.Node, m.Ncolumns)
					}
				}
				if len(es) != m.Ncolumns {
					return nil, nil, pgerr.New(pgerr.SyntaxError, "number of columns does not match number of values").At(b.posIdent(rt.Name))
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
		if _, ok := unparen(val).(*ast.SetToDefault); ok {
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
		if c.Generated != "" {
			return nil, nil, pgerr.New(pgerr.GeneratedAlways, "column \"%s\" can only be updated to DEFAULT", c.Name).
				WithDetail("Column \"%s\" is a generated column.", c.Name)
		}
		if c.Identity == 'a' {
			return nil, nil, pgerr.New(pgerr.GeneratedAlways, "column \"%s\" can only be updated to DEFAULT", c.Name).
				WithDetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.", c.Name)
		}
		if e == nil {
			if e, err = sc.expr(val, inUpdate); err != nil {
				return nil, nil, err
			}
		}
		if set[i], err = b.assign(e, c.Name, c.Type, b.spotExpr(val)); err != nil {
			return nil, nil, err
		}
	}
	return set, at, nil
}

// multi binds the subquery of (a, b) = (SELECT …): its row is joined to the
// row that is updated.
func (w *writing) multi(sc *scope, n ast.Node, width int, node *plan.Node) ([]expr.Expr, error) {
	b := w.b
	sub, ok := n.(*ast.SubLink)
	if !ok || sub.SubLinkType != ast.EXPR_SUBLINK {
		return nil, pgerr.Unsupported("source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression").At(b.posExpr(n))
	}
	if node == nil {
		return nil, pgerr.Unsupported("multiple assignment from a subquery is not supported here")
	}
	r, err := sc.query(sub.Subselect.(*ast.SelectStmt), inUpdate, true)
	if err != nil {
		return nil, err
	}
	if len(r.out) != width {
		return nil, pgerr.New(pgerr.SyntaxError, "number of columns does not match number of values").At(b.firstTarget(sub.Subselect.(*ast.SelectStmt)).at())
	}
	if w.d.OnConflict != nil {
		probe, err := w.overProposed(&expr.Subquery{Plan: r.node, Typ: r.out[0].Type})
		if err != nil {
			return nil, err
		}
		r.node = probe.(*expr.Subquery).Plan.(plan.Node)
	}
	*node = joined(plan.Single, *node, r.node, nil)
	return columnsOf(r.columns()), nil
}
