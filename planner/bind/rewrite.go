package bind

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Rewrite returns the query that rewrites the rows of a table for its new definition, with the new live
// columns. An old column keeps its value, converted to its new type, or has the value of its expression in
// using (the texts of USING by attribute number, over the old row). A new column has its default, evaluated
// for each row. A generated column is computed from the new row:
//
//	ALTER TABLE t ALTER a TYPE bigint, ADD b int DEFAULT 7 ─▶ SELECT a::bigint, 7 FROM t
func Rewrite(s *Session, was, now *catalog.Relation, using map[int16]string) (*plan.Query, error) {
	b := newBinder(s)
	sc := (&scope.Scope{Binder: b}).Child(scope.Place{Name: "ALTER TABLE"})
	w := &dmlBinder{sc: sc, b: b, table: was, schema: s.State.Schema(was.Schema).Name, live: was.Live(), d: &plan.DML{Table: now}, name: &ast.RangeVar{RelName: was.Name}}
	node, err := w.scanTarget()
	if err != nil {
		return nil, err
	}
	old := w.live
	w.table, w.live = now, now.Live()
	vals := make([]expr.Expr, len(w.live))
	for i := range w.live {
		c := &w.live[i]
		at := slices.IndexFunc(old, func(o catalog.Column) bool { return o.Num == c.Num })
		switch {
		case c.Generated != "" && (at < 0 || old[at].Generated != c.Generated || old[at].Type != c.Type):
		case at < 0:
			vals[i], err = w.defaultOf(c)
		default:
			vals[i], err = w.converted(c, &expr.Col{ID: w.d.Old[at], Typ: old[at].Type, Name: c.Name}, using[c.Num])
		}
		if err != nil {
			return nil, err
		}
	}
	if node, err = w.newRow(node, vals, false); err != nil {
		return nil, err
	}
	q := &plan.Query{Root: node, Buffers: b.Stmt.Buffers, Tables: b.Stmt.Tables(), NextCol: b.Stmt.Next}
	for _, id := range w.d.Values {
		rows := node.Schema()
		q.Cols = append(q.Cols, rows[slices.IndexFunc(rows, func(c plan.Column) bool { return c.ID == id })])
	}
	return q, nil
}

// converted returns a column's value, converted to its new type.
func (w *dmlBinder) converted(c *catalog.Column, e expr.Expr, using string) (_ expr.Expr, err error) {
	if using == "" {
		return convert(w.b, e, TheColumn, c.Name, c.Type)
	}
	row := (&scope.Scope{Binder: w.b, Level: w.sc.Level}).WithItems([]*scope.Item{w.target})
	if e, err = w.b.TextExpr(using, row, scope.InUsing); err != nil {
		return nil, err
	}
	return convert(w.b, e, ByUsing, c.Name, c.Type)
}
