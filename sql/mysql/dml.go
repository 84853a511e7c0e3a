package mysql

import (
	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
)

func (t *translator) insert(n *sqlparser.Insert) {
	switch {
	case n.Action == sqlparser.ReplaceAct:
		t.refuse("REPLACE", "replace")
	case len(n.OnDup) > 0:
		t.refuse("ON DUPLICATE KEY UPDATE", "duplicate")
	case len(n.Partitions) > 0:
		t.refuse("PARTITION (…) of a table", "partition")
	case n.RowAlias != nil:
		t.refuse("a row alias in INSERT", "as")
	}
	name, ok := n.Table.Expr.(sqlparser.TableName)
	if !ok {
		t.unknown(n.Table.Expr)
		return
	}
	t.w("INSERT INTO")
	t.tableName(name)
	if len(n.Columns) > 0 {
		t.columns(n.Columns)
	}
	switch rows := n.Rows.(type) {
	case sqlparser.Values:
		if len(rows) == 1 && len(rows[0]) == 0 {
			t.w("DEFAULT VALUES")
			break
		}
		t.w("VALUES")
		for i, row := range rows {
			t.comma(i)
			t.list(row)
		}
	case sqlparser.TableStatement:
		t.query(rows)
	default:
		t.unknown(rows)
	}
	if n.Ignore {
		t.w("ON CONFLICT DO NOTHING")
	}
}

// target returns the one table that UPDATE and DELETE may name.
func (t *translator) target(verb string, list []sqlparser.TableExpr) *sqlparser.AliasedTableExpr {
	if len(list) == 1 {
		if a, ok := list[0].(*sqlparser.AliasedTableExpr); ok {
			if _, ok := a.Expr.(sqlparser.TableName); ok {
				return a
			}
		}
	}
	t.refuse(verb + " of several tables")
	return nil
}

func (t *translator) update(n *sqlparser.Update) {
	if n.Ignore {
		t.refuse("UPDATE IGNORE", "ignore")
	}
	if len(n.OrderBy) > 0 || n.Limit != nil {
		t.refuse("UPDATE with ORDER BY or LIMIT", "limit", "order")
	}
	a := t.target("UPDATE", n.TableExprs)
	if a == nil {
		return
	}
	t.with(n.With)
	t.w("UPDATE")
	t.aliasedTable(a)
	t.w("SET")
	assigned := map[string]bool{}
	for i, e := range n.Exprs {
		t.comma(i)
		t.ident(e.Name.Name.String())
		t.w("=")
		t.readsOld(e.Expr, assigned)
		t.value(e.Expr)
		assigned[lex.Fold(e.Name.Name.String())] = true
	}
	if n.Where != nil {
		t.w("WHERE")
		t.cond(n.Where.Expr)
	}
}

// readsOld refuses SET a = 1, b = a: MySQL assigns from left to right and
// reads the new a, Postgres the old one.
func (t *translator) readsOld(e sqlparser.Expr, assigned map[string]bool) {
	if len(assigned) == 0 || t.err != nil {
		return
	}
	depth := 0
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		if depth++; depth > lex.MaxDepth {
			return false, nil
		}
		if c, ok := n.(*sqlparser.ColName); ok && assigned[lex.Fold(c.Name.String())] {
			t.refuse("UPDATE that reads column "+lex.QuoteName(lex.Fold(c.Name.String()))+" after assigning it", "set")
		}
		return t.err == nil, nil
	}, e)
}

func (t *translator) delete(n *sqlparser.Delete) {
	if n.Ignore {
		t.refuse("DELETE IGNORE", "ignore")
	}
	if len(n.OrderBy) > 0 || n.Limit != nil {
		t.refuse("DELETE with ORDER BY or LIMIT", "limit", "order")
	}
	if len(n.Targets) > 0 {
		t.refuse("DELETE of several tables", "delete")
	}
	if len(n.Partitions) > 0 {
		t.refuse("PARTITION (…) of a table", "partition")
	}
	a := t.target("DELETE", n.TableExprs)
	if a == nil {
		return
	}
	t.with(n.With)
	t.w("DELETE FROM")
	t.aliasedTable(a)
	if n.Where != nil {
		t.w("WHERE")
		t.cond(n.Where.Expr)
	}
}
