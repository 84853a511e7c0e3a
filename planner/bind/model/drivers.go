package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Limits of ml.key_drivers: each combination of columns is one grouping of the rows.
const (
	mostDimensions = 31
	mostGroupings  = 1000
)

// driversQuery is the query of ml.key_drivers, with the columns of BigQuery's insights. $sets are the
// combinations of columns. What is expected of a segment is that it changes as all other rows do.
const driversQuery = `WITH "~q" AS (SELECT * FROM (SELECT 1) AS q($cols)),
s AS (SELECT array_remove(ARRAY[$parts]::text[], NULL) AS contributors$dims, coalesce(sum($metric) FILTER (WHERE $test), 0)::float8 AS a, coalesce(sum($metric) FILTER (WHERE NOT $test), 0)::float8 AS b
	FROM "~q" GROUP BY GROUPING SETS ($sets)),
n AS (SELECT a, b FROM s WHERE contributors = '{}'),
e AS (SELECT s.*, n.a AS na, n.b AS nb, s.b * ((n.a - s.a) / nullif(n.b - s.b, 0)) AS expected FROM s, n),
r AS (SELECT e.*, greatest(abs(a / nullif(na, 0)), abs(b / nullif(nb, 0)), CASE WHEN contributors = '{}' THEN 1 END) AS support FROM e)
SELECT CASE WHEN contributors = '{}' THEN '{all}' ELSE contributors END AS contributors$shown, a AS metric_test, b AS metric_control, a - b AS difference, (a - b) / nullif(b, 0) AS relative_difference,
	a - expected AS unexpected_difference, (a - expected) / nullif(expected, 0) AS relative_unexpected_difference, support AS apriori_support, abs(a - b) AS contribution
FROM r WHERE support >= $support ORDER BY contribution DESC, cardinality(r.contributors), r.contributors LIMIT $top`

// keyDrivers binds ml.key_drivers((query), metric => 'sales', is_test => 'this_week', …): by how much a sum differs between
// two sets of rows in each segment, which is rows with the same values in some of the other columns.
func keyDrivers(sc *scope.Scope, args []ast.Node, n *ast.RangeFunction) (it scope.FromItem, err error) {
	const full = "ml.key_drivers"
	b := sc.Binder
	pos := b.SpotFunc("key_drivers")
	sel, r, err := firstQuery(sc, args, full, "metric => 'column', is_test => 'column'", pos)
	if err != nil {
		return it, err
	}
	given := map[string]ast.Node{"metric": nil, "is_test": nil, "min_apriori_support": nil, "max_dimensions": nil, "top_k": nil}
	for _, a := range args[1:] {
		na, ok := a.(*ast.NamedArgExpr)
		if ok {
			_, ok = given[strings.ToLower(na.Name)]
		}
		if !ok {
			return it, pgerr.New(pgerr.UndefinedFunction, full+" takes a query, and metric, is_test, min_apriori_support, max_dimensions and top_k by name").At(pos.At())
		}
		given[strings.ToLower(na.Name)] = na.Arg
	}
	column := func(arg string) (at int, err error) {
		val := given[arg]
		if val == nil {
			return 0, pgerr.New(pgerr.UndefinedFunction, full+" needs the argument %s, the name of a column", arg).At(pos.At())
		}
		return columnNamed(sc, r, val, full, arg)
	}
	metric, err := column("metric")
	if err != nil {
		return it, err
	}
	test, err := column("is_test")
	if err != nil {
		return it, err
	}
	switch {
	case asNumber("", r.Out[metric].Type) == "" || r.Out[metric].Type.IsStamp():
		return it, pgerr.New(pgerr.DatatypeMismatch, "the metric %q is not a number", r.Out[metric].Name).At(b.PosExpr(given["metric"]))
	case r.Out[test].Type.OID != types.BoolOID:
		return it, pgerr.New(pgerr.DatatypeMismatch, "the column %q of is_test is not a boolean", r.Out[test].Name).At(b.PosExpr(given["is_test"]))
	}
	support, err := supportOf(sc, given["min_apriori_support"], full)
	if err != nil {
		return it, err
	}
	deep, top := int64(3), int64(math.MaxInt64)
	for _, x := range []struct {
		name        string
		least, most int64
		to          *int64
	}{{"max_dimensions", 1, mostDimensions, &deep}, {"top_k", 1, math.MaxInt64, &top}} {
		if val := given[x.name]; val != nil {
			if *x.to, err = integer(sc, val, full, x.name, x.least, x.most); err != nil {
				return it, err
			}
		}
	}
	var cols []plan.Column
	for i, c := range r.Out {
		if i != metric && i != test {
			cols = append(cols, c.Column)
		}
	}
	if len(cols) == 0 || len(cols) > mostDimensions {
		return it, pgerr.New(pgerr.InvalidParameterValue, full+" needs 1 to %d columns beside the metric and is_test, and the query has %d", mostDimensions, len(cols)).At(pos.At())
	}
	text, err := driversText(r.Out, metric, test, int(deep), support, top)
	if err != nil {
		return it, pgerr.From(err).At(pos.At())
	}
	return query.Over(sc, text, map[string]*ast.SelectStmt{"q": sel}, "key_drivers", n)
}

// supportOf reads the least share of the metric that a segment must have.
func supportOf(sc *scope.Scope, val ast.Node, full string) (float64, error) {
	if val == nil {
		return 0.1, nil
	}
	d, err := constant(sc, val, full)
	if err != nil {
		return 0, err
	}
	v, ok := types.Float(d)
	if !ok || !(v >= 0 && v <= 1) {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "min_apriori_support is a number from 0 to 1").At(sc.Binder.PosExpr(val))
	}
	return v, nil
}

// driversText is driversQuery over the columns of a query.
func driversText(out []scope.Output, metric, test, deep int, support float64, top int64) (string, error) {
	var dims []int
	var parts, listed, shown []string
	for i, c := range out {
		if i == metric || i == test {
			continue
		}
		col := fmt.Sprintf("c%d", i)
		dims = append(dims, i)
		parts = append(parts, fmt.Sprintf("CASE WHEN grouping(%s) = 0 THEN %s || coalesce(%s::text, 'NULL') END", col, lex.QuoteLiteral(c.Name+"="), col))
		listed = append(listed, ", "+col)
		shown = append(shown, ", "+col+" AS "+lex.QuoteIdent(c.Name))
	}
	sets := []string{"()"}
	var add func(from int, chosen []string) bool
	add = func(from int, chosen []string) bool {
		for k := from; k < len(dims); k++ {
			next := append(chosen[:len(chosen):len(chosen)], fmt.Sprintf("c%d", dims[k]))
			if sets = append(sets, "("+strings.Join(next, ", ")+")"); len(sets) > mostGroupings {
				return false
			}
			if len(next) < deep && !add(k+1, next) {
				return false
			}
		}
		return true
	}
	if !add(0, nil) {
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "there are more than %d combinations of %d columns", mostGroupings, len(dims)).WithHint("Lower max_dimensions, or leave columns out.")
	}
	return strings.NewReplacer("$cols", placeNames(len(out)), "$parts", strings.Join(parts, ", "), "$dims", strings.Join(listed, ""), "$shown", strings.Join(shown, ""), "$metric", fmt.Sprintf("c%d::float8", metric),
		"$test", fmt.Sprintf("c%d", test), "$sets", strings.Join(sets, ", "), "$support", strconv.FormatFloat(support, 'g', -1, 64)+"::float8", "$top", strconv.FormatInt(top, 10)).Replace(driversQuery), nil
}
