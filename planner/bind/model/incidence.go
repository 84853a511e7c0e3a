package model

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// incidenceQuery counts the rows by time and cause; a function takes the counts in the order of time. $cause is NULL of a
// row that was observed only until its time.
const incidenceQuery = `SELECT f.* FROM (SELECT array_agg(s.t ORDER BY s.t, s.c) AS t, array_agg(s.c ORDER BY s.t, s.c) AS c, array_agg(s.n ORDER BY s.t, s.c) AS n
	FROM (SELECT $time AS t, $cause AS c, count(*) AS n FROM (SELECT 1) AS q($cols) WHERE $time IS NOT NULL GROUP BY 1, 2) AS s) AS a,
	LATERAL ml_cumulative_incidence(a.t, a.c, a.n) AS f`

// incidence binds ml.cumulative_incidence((query), duration => 'days', event => 'cause').
func incidence(sc *scope.Scope, args []ast.Node, n *ast.RangeFunction) (it scope.FromItem, err error) {
	const full = "ml.cumulative_incidence"
	pos := sc.Binder.SpotFunc("cumulative_incidence")
	sel, r, err := firstQuery(sc, args, full, "duration => 'column', event => 'column'", pos)
	if err != nil {
		return it, err
	}
	rest := args[1:]
	var at [2]int
	for k, arg := range []string{"duration", "event"} {
		var val ast.Node
		if rest, val = take(rest, arg); val == nil {
			return it, pgerr.New(pgerr.UndefinedFunction, full+" needs the argument %s, the name of a column", arg).At(pos.At())
		}
		if at[k], err = columnNamed(sc, r, val, full, arg); err != nil {
			return it, err
		}
	}
	if len(rest) > 0 {
		return it, pgerr.New(pgerr.UndefinedFunction, full+" takes a query, and duration and event by name").At(pos.At())
	}
	time, event := r.Out[at[0]], r.Out[at[1]]
	names := strings.Split(placeNames(len(r.Out)), ", ")
	number, cause := asNumber(names[at[0]], time.Type), names[at[1]]
	if number == "" || time.Type.IsStamp() {
		return it, pgerr.New(pgerr.DatatypeMismatch, "the duration %q is not a number", time.Name).At(pos.At())
	}
	switch {
	case event.Type.OID == types.BoolOID:
		cause = "CASE WHEN " + cause + " THEN 'true' END"
	case event.Type.IsNumber():
		cause = "nullif(" + cause + ", 0)::text"
	default:
		cause += "::text"
	}
	text := strings.NewReplacer("$time", number, "$cause", cause, "$cols", placeNames(len(r.Out))).Replace(incidenceQuery)
	return query.Over(sc, text, map[string]*ast.SelectStmt{"q": sel}, "cumulative_incidence", n)
}

// firstQuery binds the query that is a relation's first argument; named are those that follow it.
func firstQuery(sc *scope.Scope, args []ast.Node, full, named string, pos typing.Position) (*ast.SelectStmt, *scope.Query, error) {
	sub := queryOf(args, 0)
	if sub == nil {
		return nil, nil, pgerr.New(pgerr.UndefinedFunction, "%s takes a query in parentheses", full).WithHint("Write %s((SELECT …), %s).", full, named).At(pos.At())
	}
	sel := sub.Subselect.(*ast.SelectStmt)
	r, err := query.Bind(sc, sel, scope.InFromClause, true)
	return sel, r, err
}

// columnNamed returns which column of a query an argument names.
func columnNamed(sc *scope.Scope, r *scope.Query, val ast.Node, full, arg string) (at int, err error) {
	d, err := constant(sc, val, full)
	if err != nil {
		return 0, err
	}
	name, ok := d.(string)
	for i, c := range r.Out {
		if ok && c.Name == name {
			return i, nil
		}
	}
	if !ok {
		return 0, pgerr.New(pgerr.DatatypeMismatch, "the argument %s of %s is the name of a column", arg, full).At(sc.Binder.PosExpr(val))
	}
	return 0, pgerr.New(pgerr.UndefinedColumn, "the query has no column %q", name).At(sc.Binder.PosExpr(val))
}
