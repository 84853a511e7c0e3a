package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// aboutQuery binds describe((query)) and summarize((query)), a row for each column of a query with
// DuckDB's columns, which the statements DESCRIBE and SUMMARIZE are written as. ok is false for other
// calls.
func aboutQuery(sc *scope.Scope, name string, n *ast.RangeFunction, fc *ast.FuncCall) (it scope.FromItem, ok bool, err error) {
	args := typing.Items(fc.Args)
	if name != "describe" && name != "summarize" || len(args) != 1 {
		return it, false, nil
	}
	sub, ok := typing.Unparen(args[0]).(*ast.SubLink)
	if !ok || sub.SubLinkType != ast.EXPR_SUBLINK {
		return it, false, nil
	}
	sel := sub.Subselect.(*ast.SelectStmt)
	q, err := Bind(sc, sel, scope.InFromClause, true)
	if err != nil {
		return it, true, err
	}
	if len(q.Out) == 0 {
		return it, true, pgerr.New(pgerr.InvalidParameterValue, "the query has no columns").At(sc.Binder.SpotFunc(name).At())
	}
	text := describeText(sc.Binder, q, sel)
	if name == "summarize" {
		text = summarizeText(sc.Binder, q)
	}
	stmt, err := parse.One(text, parse.Postgres)
	if err != nil {
		return it, true, err
	}
	ast.Rewrite(stmt.Node.(*ast.SelectStmt), func(c *ast.Cursor) bool {
		if r, ok := c.Node().(*ast.RangeSubselect); ok && r.Alias != nil && r.Alias.AliasName == "q" {
			r.Subquery = sel
			return false
		}
		return true
	}, nil)
	as := n.Alias
	if as == nil {
		as = ast.NewAlias(name, nil)
	}
	it, err = FromItem(sc, ast.NewRangeSubselect(false, stmt.Node.(*ast.SelectStmt), as), nil)
	return it, true, err
}

func typeText(t types.Type) string { return fmt.Sprintf("format_type(%d, %d)", t.OID, t.Mod) }

// describeText is the query of DESCRIBE: constants.
func describeText(b *scope.Binder, q *scope.Query, sel *ast.SelectStmt) string {
	from := typing.Items(sel.FromClause)
	whole := false // the query gives rows of one table as they are
	if len(from) == 1 && sel.GroupClause == nil {
		_, whole = from[0].(*ast.RangeVar)
	}
	var rows []string
	for i, c := range q.Out {
		null, key, def := "YES", "NULL", "NULL"
		if r := b.Session.State.RelationByOID(c.Table); r != nil && whole {
			if col := r.ColumnNum(c.Num); col != nil {
				if col.NotNull {
					null = "NO"
				}
				if col.Default != "" {
					def = lex.QuoteLiteral(col.Default)
				}
				key = keyText(r, c.Num)
			}
		}
		rows = append(rows, fmt.Sprintf("(%d, %s, %s, '%s', %s, %s, NULL::text)", i, lex.QuoteLiteral(c.Name), typeText(c.Type), null, key, def))
	}
	return `SELECT column_name, column_type, "null", key, "default", extra FROM (VALUES ` + strings.Join(rows, ", ") +
		`) AS d(i, column_name, column_type, "null", key, "default", extra) ORDER BY i`
}

// keyText is what MySQL and DuckDB call the key that a column is in.
func keyText(r *catalog.Relation, num int16) string {
	out := "NULL"
	for _, c := range r.Constraints {
		switch {
		case !slices.Contains(c.Columns, num):
		case c.Kind == 'p':
			return "'PRI'"
		case c.Kind == 'u':
			out = "'UNI'"
		}
	}
	return out
}

// summarizeText is the query of SUMMARIZE over the columns of a query, which the caller puts in the
// place of (SELECT 1) AS q.
func summarizeText(b *scope.Binder, q *scope.Query) string {
	var names, sums, rows []string
	for i, c := range q.Out {
		col := fmt.Sprintf("c%d", i)
		names = append(names, col)
		number, ordered := "NULL", col
		var category byte = 'X'
		if !b.IsEnum(c.Type.OID) {
			category = fn.Category(c.Type.OID)
		}
		switch {
		case category == 'N' && c.Type.OID != types.MoneyOID:
			number = col + "::float8"
		case category == 'N', category == 'D', category == 'T', category == 'S', b.IsEnum(c.Type.OID):
		default: // no order, or one that few aggregates know
			ordered = col + "::text"
		}
		sum := func(as, text string) string {
			sums = append(sums, fmt.Sprintf("(%s) AS %s%d", text, as, i))
			return fmt.Sprintf("s.%s%d", as, i)
		}
		row := []string{fmt.Sprint(i), lex.QuoteLiteral(c.Name), typeText(c.Type), sum("least", "min("+ordered+")::text"), sum("most", "max("+ordered+")::text"),
			sum("different", "count(DISTINCT "+ordered+")")}
		switch {
		case number != "NULL":
			quantiles := sum("quantile", "percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY "+number+")::text[]")
			row = append(row, sum("mean", "avg("+number+")::text"), sum("deviation", "stddev_samp("+number+")::text"), quantiles+"[1]", quantiles+"[2]", quantiles+"[3]")
		case category == 'D' || category == 'T':
			row = append(row, "NULL::text", "NULL::text")
			for k, p := range []string{"0.25", "0.5", "0.75"} {
				row = append(row, sum(fmt.Sprintf("quantile%c_", 'a'+k), "percentile_disc("+p+") WITHIN GROUP (ORDER BY "+col+")::text"))
			}
		default:
			row = append(row, "NULL::text", "NULL::text", "NULL::text", "NULL::text", "NULL::text")
		}
		row = append(row, "s.n", fmt.Sprintf("(100 * (s.n - %s)::numeric / nullif(s.n, 0))::numeric(9,2)", sum("given", "count("+col+")")))
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	const cols = "column_name, column_type, min, max, approx_unique, avg, std, q25, q50, q75, count, null_percentage"
	return "SELECT " + cols + " FROM (SELECT count(*) AS n, " + strings.Join(sums, ", ") + " FROM (SELECT 1) AS q(" + strings.Join(names, ", ") +
		")) AS s, LATERAL (VALUES " + strings.Join(rows, ", ") + ") AS d(i, " + cols + ") ORDER BY i"
}
