package mysql

import (
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
)

// query writes a SELECT, a UNION or a VALUES.
func (t *translator) query(n sqlparser.TableStatement) {
	if !t.enter() {
		return
	}
	defer t.leave()
	// An alias of an outer HAVING means nothing inside.
	save := t.aliases
	t.aliases = nil
	defer func() { t.aliases = save }()
	switch n := n.(type) {
	case *sqlparser.Select:
		t.selectQuery(n)
	case *sqlparser.Union:
		t.union(n)
	case *sqlparser.ValuesStatement:
		t.with(n.With)
		if n.ListArg != "" {
			t.unknown(n.ListArg)
			return
		}
		t.w("VALUES")
		for i, row := range n.Rows {
			t.comma(i)
			t.list(row)
		}
		t.orderBy(n.Order)
		t.limit(n.Limit)
	default:
		t.unknown(n)
	}
}

func (t *translator) with(w *sqlparser.With) {
	if w == nil {
		return
	}
	t.w("WITH")
	if w.Recursive {
		t.w("RECURSIVE")
	}
	for i, c := range w.CTEs {
		t.comma(i)
		t.ident(c.ID.String())
		if len(c.Columns) > 0 {
			t.columns(c.Columns)
		}
		t.w("AS (")
		t.query(c.Subquery)
		t.w(")")
	}
}

func (t *translator) selectQuery(n *sqlparser.Select) {
	if n.SQLCalcFoundRows {
		t.refuse("SQL_CALC_FOUND_ROWS", "sql_calc_found_rows")
	}
	if n.Into != nil {
		t.refuse("SELECT … INTO", "into")
	}
	t.with(n.With)
	t.w("SELECT")
	if n.Distinct {
		t.w("DISTINCT")
	}
	for i, e := range n.SelectExprs.Exprs {
		t.comma(i)
		t.selectExpr(e)
	}
	t.from(n.From)
	if n.Where != nil {
		t.w("WHERE")
		t.cond(n.Where.Expr)
	}
	t.groupBy(n.GroupBy)
	if n.Having != nil {
		t.w("HAVING")
		t.aliases = append(t.aliases, aliasesOf(n))
		t.cond(n.Having.Expr)
		t.aliases = t.aliases[:len(t.aliases)-1]
	}
	for i, w := range n.Windows {
		for k, d := range w.Windows {
			if i+k == 0 {
				t.w("WINDOW")
			} else {
				t.w(",")
			}
			t.ident(d.Name.String())
			t.w("AS")
			t.windowSpec(d.WindowSpec)
		}
	}
	t.orderBy(n.OrderBy)
	t.limit(n.Limit)
	t.lock(n.Lock)
}

// selectExpr writes one item. MySQL names an unnamed one by its text.
func (t *translator) selectExpr(e sqlparser.SelectExpr) {
	switch e := e.(type) {
	case *sqlparser.StarExpr:
		if e.TableName.IsEmpty() {
			t.w("*")
			return
		}
		t.tableName(e.TableName)
		t.w(". *")
	case *sqlparser.AliasedExpr:
		if b, ok := hasBytes(e.Expr); ok {
			t.bytesText(b)
		} else {
			t.value(e.Expr)
		}
		switch _, plain := e.Expr.(*sqlparser.ColName); {
		case !e.As.IsEmpty():
			t.w("AS")
			t.ident(e.As.String())
		case !plain && t.err == nil:
			t.w("AS")
			t.ident(label(e.Expr))
		}
	default:
		t.unknown(e)
	}
}

// label is the name of a column that has none.
func label(e sqlparser.Expr) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(sqlparser.String(e), "`", ""))
	if l, ok := e.(*sqlparser.Literal); ok && l.Type == sqlparser.StrVal {
		name = l.Val
	}
	if name == "" {
		return "?column?"
	}
	return name
}

// aliasesOf are the names that HAVING may use and Postgres's may not.
func aliasesOf(n *sqlparser.Select) map[string]sqlparser.Expr {
	m := map[string]sqlparser.Expr{}
	for _, e := range n.SelectExprs.Exprs {
		if a, ok := e.(*sqlparser.AliasedExpr); ok && !a.As.IsEmpty() {
			if c, ok := a.Expr.(*sqlparser.ColName); !ok || !c.Name.EqualString(a.As.String()) {
				m[lex.Fold(a.As.String())] = a.Expr
			}
		}
	}
	return m
}

func (t *translator) groupBy(g *sqlparser.GroupBy) {
	if g == nil || len(g.Exprs) == 0 {
		return
	}
	t.w("GROUP BY")
	if g.WithRollup {
		t.w("ROLLUP (")
	}
	for i, e := range g.Exprs {
		t.comma(i)
		t.value(e)
	}
	if g.WithRollup {
		t.w(")")
	}
}

// orderBy writes ORDER BY with NULL as the least value, as MySQL has it.
func (t *translator) orderBy(o sqlparser.OrderBy) {
	for i, e := range o {
		if i == 0 {
			t.w("ORDER BY")
		} else {
			t.w(",")
		}
		if _, null := e.Expr.(*sqlparser.NullVal); null {
			t.w("CAST ( NULL AS text )") // ORDER BY NULL: no order
			continue
		}
		t.value(e.Expr)
		if e.Direction == sqlparser.DescOrder {
			t.w("DESC NULLS LAST")
		} else {
			t.w("NULLS FIRST")
		}
	}
}

func (t *translator) limit(l *sqlparser.Limit) {
	if l == nil {
		return
	}
	if l.Rowcount != nil {
		t.w("LIMIT")
		t.value(l.Rowcount)
	}
	if l.Offset != nil {
		t.w("OFFSET")
		t.value(l.Offset)
	}
}

func (t *translator) lock(l sqlparser.Lock) {
	switch l {
	case sqlparser.NoLock:
	case sqlparser.ShareModeLock, sqlparser.ForShareLock:
		t.w("FOR SHARE")
	case sqlparser.ForShareLockNoWait:
		t.w("FOR SHARE NOWAIT")
	case sqlparser.ForShareLockSkipLocked:
		t.w("FOR SHARE SKIP LOCKED")
	case sqlparser.ForUpdateLock:
		t.w("FOR UPDATE")
	case sqlparser.ForUpdateLockNoWait:
		t.w("FOR UPDATE NOWAIT")
	case sqlparser.ForUpdateLockSkipLocked:
		t.w("FOR UPDATE SKIP LOCKED")
	default:
		t.refuse("this lock")
	}
}

func (t *translator) union(n *sqlparser.Union) {
	if n.Into != nil {
		t.refuse("SELECT … INTO", "into")
	}
	t.with(n.With)
	t.w("(")
	t.query(n.Left)
	t.w(") UNION")
	if !n.Distinct {
		t.w("ALL")
	}
	t.w("(")
	t.query(n.Right)
	t.w(")")
	t.orderBy(n.OrderBy)
	t.limit(n.Limit)
	t.lock(n.Lock)
}

func (t *translator) from(list []sqlparser.TableExpr) {
	if len(list) == 1 { // Vitess reads SELECT 1 as SELECT 1 FROM dual
		if a, ok := list[0].(*sqlparser.AliasedTableExpr); ok {
			if n, ok := a.Expr.(sqlparser.TableName); ok && n.Qualifier.IsEmpty() && lex.Fold(n.Name.String()) == "dual" {
				return
			}
		}
	}
	for i, e := range list {
		if i == 0 {
			t.w("FROM")
		} else {
			t.w(",")
		}
		t.table(e)
	}
}

func (t *translator) table(e sqlparser.TableExpr) {
	if !t.enter() {
		return
	}
	defer t.leave()
	switch e := e.(type) {
	case *sqlparser.AliasedTableExpr:
		t.aliasedTable(e)
	case *sqlparser.JoinTableExpr:
		t.join(e)
	case *sqlparser.ParenTableExpr:
		t.w("(")
		for i, x := range e.Exprs {
			if i > 0 {
				t.w("CROSS JOIN")
			}
			t.table(x)
		}
		t.w(")")
	default:
		t.unknown(e)
	}
}

func (t *translator) aliasedTable(e *sqlparser.AliasedTableExpr) {
	if len(e.Partitions) > 0 {
		t.refuse("PARTITION (…) of a table", "partition")
	}
	for _, h := range e.Hints {
		t.note("index hint %s is ignored", strings.TrimSpace(h.Type.ToString()))
	}
	switch x := e.Expr.(type) {
	case sqlparser.TableName:
		if !t.tableCall(x.Name.String()) {
			t.tableName(x)
		}
	case *sqlparser.DerivedTable:
		if x.Lateral {
			t.w("LATERAL")
		}
		t.w("(")
		t.query(x.Select)
		t.w(")")
	default:
		t.unknown(x)
	}
	if !e.As.IsEmpty() {
		t.w("AS")
		t.ident(e.As.String())
		if len(e.Columns) > 0 {
			t.columns(e.Columns)
		}
	}
}

func (t *translator) join(e *sqlparser.JoinTableExpr) {
	var on sqlparser.Expr
	var using sqlparser.Columns
	if e.Condition != nil {
		on, using = e.Condition.On, e.Condition.Using
	}
	word, natural := "", false
	switch e.Join {
	case sqlparser.NormalJoinType, sqlparser.StraightJoinType:
		word = "JOIN"
		if on == nil && len(using) == 0 {
			word = "CROSS JOIN"
		}
	case sqlparser.LeftJoinType:
		word = "LEFT JOIN"
	case sqlparser.RightJoinType:
		word = "RIGHT JOIN"
	case sqlparser.NaturalJoinType:
		word, natural = "NATURAL JOIN", true
	case sqlparser.NaturalLeftJoinType:
		word, natural = "NATURAL LEFT JOIN", true
	case sqlparser.NaturalRightJoinType:
		word, natural = "NATURAL RIGHT JOIN", true
	default:
		t.refuse("this join")
		return
	}
	t.table(e.LeftExpr)
	t.w(word)
	if _, nested := e.RightExpr.(*sqlparser.JoinTableExpr); nested {
		t.w("(")
		t.table(e.RightExpr)
		t.w(")")
	} else {
		t.table(e.RightExpr)
	}
	switch {
	case natural || word == "CROSS JOIN":
	case len(using) > 0:
		t.w("USING")
		t.columns(using)
	case on != nil:
		t.w("ON")
		t.cond(on)
	default:
		t.w("ON TRUE")
	}
}

func (t *translator) over(o *sqlparser.OverClause) {
	if o == nil {
		return
	}
	t.w("OVER")
	if !o.WindowName.IsEmpty() {
		t.ident(o.WindowName.String())
		return
	}
	t.windowSpec(o.WindowSpec)
}

func (t *translator) windowSpec(w *sqlparser.WindowSpecification) {
	t.w("(")
	if w != nil {
		if !w.Name.IsEmpty() {
			t.ident(w.Name.String())
		}
		for i, e := range w.PartitionClause {
			if i == 0 {
				t.w("PARTITION BY")
			} else {
				t.w(",")
			}
			t.value(e)
		}
		t.orderBy(w.OrderClause)
		t.frame(w.FrameClause)
	}
	t.w(")")
}

func (t *translator) frame(f *sqlparser.FrameClause) {
	if f == nil {
		return
	}
	if f.Unit == sqlparser.FrameRowsType {
		t.w("ROWS")
	} else {
		t.w("RANGE")
	}
	if f.End == nil {
		t.framePoint(f.Start)
		return
	}
	t.w("BETWEEN")
	t.framePoint(f.Start)
	t.w("AND")
	t.framePoint(f.End)
}

func (t *translator) framePoint(p *sqlparser.FramePoint) {
	switch p.Type {
	case sqlparser.CurrentRowType:
		t.w("CURRENT ROW")
		return
	case sqlparser.UnboundedPrecedingType:
		t.w("UNBOUNDED PRECEDING")
		return
	case sqlparser.UnboundedFollowingType:
		t.w("UNBOUNDED FOLLOWING")
		return
	}
	t.value(p.Expr)
	if p.Unit != sqlparser.IntervalNone {
		unit, ok := intervalUnits[p.Unit]
		if !ok {
			t.refuse("INTERVAL … "+p.Unit.ToString(), p.Unit.ToString())
			return
		}
		t.w("* INTERVAL", lex.QuoteLiteral(unit))
	}
	if p.Type == sqlparser.ExprPrecedingType {
		t.w("PRECEDING")
	} else {
		t.w("FOLLOWING")
	}
}
