package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// aboutQuery binds describe((query)) and summarize((query)), to which the statements DESCRIBE and SUMMARIZE
// are rewritten. They return a row for each column of the query, with DuckDB's columns. ok is false for other
// calls.
func aboutQuery(sc *scope.Scope, name string, n *ast.RangeFunction, fc *ast.FuncCall) (it scope.FromItem, ok bool, err error) {
	if s, ok, err := bindShape(sc, name, fc); ok || err != nil {
		text := ""
		if err == nil {
			if text = shapes[name].text(s); s.err != nil {
				err = s.err
			}
		}
		if err != nil {
			return it, true, err
		}
		it, err = Over(sc, text, map[string]*ast.SelectStmt{"q": s.sel}, name, n)
		return it, true, err
	}
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
	it, err = Over(sc, text, map[string]*ast.SelectStmt{"q": sel}, name, n)
	return it, true, err
}

// Over binds the text of a query in which subqueries of these names, each there once, stand for the caller's.
func Over(sc *scope.Scope, text string, sels map[string]*ast.SelectStmt, name string, n *ast.RangeFunction) (it scope.FromItem, err error) {
	stmt, err := parse.One(text, parse.Postgres)
	if err != nil {
		return it, err
	}
	aliases := Aliases(stmt.Node)
	ast.Rewrite(stmt.Node.(*ast.SelectStmt), func(c *ast.Cursor) bool {
		if r, ok := c.Node().(*ast.RangeSubselect); ok && r.Alias != nil && sels[r.Alias.AliasName] != nil {
			r.Subquery = sels[r.Alias.AliasName]
			return false
		}
		return true
	}, nil)
	as := n.Alias
	if as == nil {
		as = ast.NewAlias(name, nil)
	}
	return Within(sc, aliases, stmt.Node.(*ast.SelectStmt), as)
}

// Aliases are those of a query's text.
func Aliases(n ast.Node) map[string]bool {
	out := map[string]bool{}
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		if a, ok := c.Node().(*ast.Alias); ok {
			out[a.AliasName] = true
		}
		return true
	}, nil)
	return out
}

// Within binds the query of a call, with the caller's queries in it. Errors do not name its aliases.
func Within(sc *scope.Scope, aliases map[string]bool, sel *ast.SelectStmt, as *ast.Alias) (scope.FromItem, error) {
	return sc.Binder.Within(aliases, func() (scope.FromItem, error) {
		return FromItem(sc, ast.NewRangeSubselect(false, sel, as), nil)
	})
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

// keyText returns what MySQL and DuckDB call a column's key: PRI, UNI or nothing.
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

// summarizeText returns the query of SUMMARIZE; the caller substitutes the summarized query for (SELECT 1) AS
// q. All aggregates are computed as one row: for each column of the result an array with an element for each
// column of the query:
//
//	SELECT names[i], least[i], … FROM (SELECT ARRAY[min(c0)::text, …] AS least, … FROM query) × 1 … n
func summarizeText(b *scope.Binder, q *scope.Query) string {
	const null = "NULL::text"
	var names []string
	parts := []*struct {
		name  string
		elems []string
	}{{name: "column_name"}, {name: "column_type"}, {name: "min"}, {name: "max"}, {name: "approx_unique"}, {name: "avg"}, {name: "std"}, {name: "q25"}, {name: "q50"},
		{name: "q75"}, {name: "given"}}
	for i, c := range q.Out {
		col := fmt.Sprintf("c%d", i)
		names = append(names, col)
		number, back, ordered := "", "%s::text", col
		switch class := c.Type.Class(); {
		case c.Type.IsNumber():
			number = col + "::float8"
		case c.Type.IsStamp(): // by their seconds
			number = "extract(epoch FROM " + col + ")::float8"
			if back = "to_timestamp(nullif(%s, 'NaN'))::text"; c.Type.OID != types.TimestamptzOID {
				back = "(to_timestamp(nullif(%s, 'NaN')) AT TIME ZONE 'UTC')::text"
			}
		case c.Type.IsTime(), class == types.ClassObject, class == types.ClassText && c.Type.OID != types.NameOID:
		default: // no order, or one that few aggregates know
			if !b.IsEnum(c.Type.OID) {
				ordered = col + "::text"
			}
		}
		row := []string{lex.QuoteLiteral(c.Name), typeText(c.Type), "min(" + ordered + ")::text", "max(" + ordered + ")::text", "approx_count_distinct(" + ordered + ")",
			null, null, null, null, null, "count(" + col + ")"}
		if number != "" {
			if row[5] = fmt.Sprintf(back, "avg("+number+")"); back == "%s::text" {
				row[6] = "stddev_samp(" + number + ")::text"
			}
			if c.Type.OID == types.DateOID {
				back = "(to_timestamp(nullif(%s, 'NaN')) AT TIME ZONE 'UTC')::date::text"
			}
			for k, p := range []string{"0.25", "0.5", "0.75"} {
				row[7+k] = fmt.Sprintf(back, "percentile_cont("+p+") WITHIN GROUP (ORDER BY "+number+")")
			}
		}
		for k, e := range row {
			parts[k].elems = append(parts[k].elems, e)
		}
	}
	var arrays, cols []string
	for _, p := range parts {
		arrays = append(arrays, "ARRAY["+strings.Join(p.elems, ", ")+"] AS "+p.name)
		cols = append(cols, "s."+p.name+"[i] AS "+p.name)
	}
	cols[len(cols)-1] = "s.n AS count, (100 * (s.n - s.given[i])::numeric / nullif(s.n, 0))::numeric(9,2) AS null_percentage"
	return fmt.Sprintf("SELECT %s FROM (SELECT count(*) AS n, %s FROM (SELECT 1) AS q(%s)) AS s, generate_series(1, %d) AS i ORDER BY i",
		strings.Join(cols, ", "), strings.Join(arrays, ", "), strings.Join(names, ", "), len(names))
}
