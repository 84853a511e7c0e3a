package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ofData binds ml.describe_data((query)) and ml.validate_data_drift((base), (study), …).
func ofData(sc *scope.Scope, name string, args []ast.Node, n *ast.RangeFunction) (scope.FromItem, error) {
	b := sc.Binder
	places := map[string][]string{"describe_data": {"q"}, "validate_data_drift": {"q", "r"}}[name]
	sels := map[string]*ast.SelectStmt{}
	var cols [][]plan.Column
	for i, as := range places {
		var sub ast.Node
		if i < len(args) {
			sub = typing.Unparen(args[i])
		}
		link, ok := sub.(*ast.SubLink)
		if !ok || link.SubLinkType != ast.EXPR_SUBLINK {
			return scope.FromItem{}, pgerr.New(pgerr.UndefinedFunction, "ml.%s takes %s in parentheses", name, map[int]string{1: "a query", 2: "two queries"}[len(places)]).
				WithHint("Write ml.%s(%s).", name, strings.Repeat("(SELECT …), ", len(places)-1)+"(SELECT …)").At(b.SpotFunc(name).At())
		}
		sels[as] = link.Subselect.(*ast.SelectStmt)
		r, err := query.Bind(sc, sels[as], scope.InFromClause, true)
		if err != nil {
			return scope.FromItem{}, err
		}
		var of []plan.Column
		for _, c := range r.Out {
			of = append(of, c.Column)
		}
		if of == nil {
			return scope.FromItem{}, pgerr.New(pgerr.InvalidParameterValue, "the query has no columns").At(b.PosExpr(args[i]))
		}
		cols = append(cols, of)
	}
	more := args[len(places):]
	if name == "describe_data" {
		if len(more) > 0 {
			return scope.FromItem{}, pgerr.New(pgerr.UndefinedFunction, "ml.describe_data takes one query").At(b.SpotFunc(name).At())
		}
		return query.Over(sc, describeDataText(cols[0]), sels, name, n)
	}
	values, err := driftSettings(sc, more, name, "two queries")
	if err != nil {
		return scope.FromItem{}, err
	}
	text, err := driftText(cols[0], cols[1], settingTexts(values))
	if err != nil {
		return scope.FromItem{}, pgerr.From(err).At(b.SpotFunc(name).At())
	}
	return query.Over(sc, text, sels, name, n)
}

// asNumber returns a column as a float8, where the numbers of its type are a distance apart; "" where they are not.
func asNumber(col string, t types.Type) string {
	switch {
	case t.IsNumber():
		return col + "::float8"
	case t.IsStamp():
		return "extract(epoch FROM " + col + ")::float8"
	}
	return ""
}

func placeNames(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("c%d", i))
	}
	return strings.Join(out, ", ")
}

// describeDataText is the query of ml.describe_data, as SUMMARIZE has one: all aggregates are one row, of arrays with
// an element for each column.
func describeDataText(cols []plan.Column) string {
	heads := []string{"name", "type", "num_values", "num_nulls", "num_zeros", "num_distinct", "min", "max", "mean", "stddev", "quantiles", "avg_string_length", "top_value"}
	lists := make([][]string, len(heads))
	for i, c := range cols {
		col := fmt.Sprintf("c%d", i)
		ordered := col
		if c.Type.Class() != types.ClassText && !c.Type.IsNumber() && !c.Type.IsStamp() { // few aggregates know its order
			ordered += "::text"
		}
		row := []string{lex.QuoteLiteral(c.Name), fmt.Sprintf("format_type(%d, %d)", c.Type.OID, c.Type.Mod), "count(" + col + ")", "count(*) - count(" + col + ")", "NULL::int8",
			"least(approx_count_distinct(" + ordered + "), count(" + col + "))", "min(" + ordered + ")::text", "max(" + ordered + ")::text", "NULL::float8", "NULL::float8", "NULL::text", "NULL::float8", "NULL::text"}
		if number := asNumber(col, c.Type); number != "" {
			row[4], row[8], row[9] = "count(*) FILTER (WHERE "+number+" = 0)", "avg("+number+")", "stddev_samp("+number+")"
			row[10] = "(percentile_cont(ARRAY[0, 0.25, 0.5, 0.75, 1]) WITHIN GROUP (ORDER BY " + number + "))::text"
		} else {
			row[11] = "avg(length(" + col + "::text))::float8"
			row[12] = "mode() WITHIN GROUP (ORDER BY " + col + "::text)"
		}
		for k := range heads {
			lists[k] = append(lists[k], row[k])
		}
	}
	var arrays, shown []string
	for k, h := range heads {
		arrays = append(arrays, "ARRAY["+strings.Join(lists[k], ", ")+"] AS "+h)
		item := "s." + h + "[i]"
		if h == "quantiles" {
			item = "(" + item + ")::float8[]"
		}
		shown = append(shown, item+" AS "+h)
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT %s FROM (SELECT 1) AS q(%s)) AS s, generate_series(1, %d) AS i ORDER BY i",
		strings.Join(shown, ", "), strings.Join(arrays, ", "), placeNames(len(cols)), len(cols))
}

// driftQuery compares two data sets column by column. Its relations before the caller's queries have names that nothing else has. All
// results are functions of counts, so sums are exact. A column of numbers is cut at the quantiles of the base: over the rows of
// both in order, edges has where the share of the base's rows that are no greater passes one of $bins steps; several steps
// that one value passes are one cut. Each part, each category, and NULL is a row of t with the counts of both.
const driftQuery = `WITH "~q" AS MATERIALIZED (SELECT * FROM (SELECT 1) AS q($qcols)), "~r" AS MATERIALIZED (SELECT * FROM (SELECT 1) AS r($rcols)),
nq AS (SELECT count(*)::float8 AS n, $counts FROM "~q"), nr AS (SELECT count(*)::float8 AS n, $counts FROM "~r"),
edges AS ($edges SELECT -1 AS i, 0::float8 AS j, 0::float8 AS a, 0::float8 AS b, 0::float8 AS ks WHERE false),
cats AS ($cats SELECT -1 AS i, NULL::text AS c, 0::float8 AS a, 0::float8 AS b WHERE false),
names AS (SELECT v.*, nq.n AS na, nr.n AS nb FROM nq, nr, LATERAL (VALUES $names) AS v(i, feature, kind, a, b)),
cuts AS (SELECT i, a, b FROM (SELECT i, j, a, b, coalesce(lag(j) OVER (PARTITION BY i ORDER BY j), 0) AS before FROM edges) AS e WHERE j >= 1 AND before + 1 < $bins),
parts AS (SELECT i, a - coalesce(lag(a) OVER o, 0) AS a, b - coalesce(lag(b) OVER o, 0) AS b
	FROM (SELECT i, a, b, 0 AS last FROM cuts UNION ALL SELECT i, a, b, 1 FROM names WHERE kind = 'numeric') AS x WINDOW o AS (PARTITION BY i ORDER BY last, a)),
t AS (SELECT e.*, nullif(n.na, 0) AS na, nullif(n.nb, 0) AS nb FROM (SELECT i, NULL::text AS c, a, b FROM parts UNION ALL SELECT i, c, a, b FROM cats
	UNION ALL SELECT i, NULL, na - a, nb - b FROM names) AS e JOIN names AS n USING (i) WHERE e.a + e.b > 0),
m AS (SELECT i, sum((greatest(b / nb, 1e-4) - greatest(a / na, 1e-4)) * ln(greatest(b / nb, 1e-4) / greatest(a / na, 1e-4))) AS psi,
	sqrt(greatest(0, sum(CASE WHEN a > 0 THEN a / na * ln(2 * (a / na) / (a / na + b / nb)) ELSE 0 END + CASE WHEN b > 0 THEN b / nb * ln(2 * (b / nb) / (a / na + b / nb)) ELSE 0 END) / 2)) AS js,
	sum((a * nb - b * na) ^ 2 / ((a + b) * na * nb)) AS chi, greatest(count(na + nb) - 1, 0) AS df,
	(array_agg(c ORDER BY a DESC, c) FILTER (WHERE c IS NOT NULL AND b = 0))[1:20] AS missing, (array_agg(c ORDER BY b DESC, c) FILTER (WHERE c IS NOT NULL AND a = 0))[1:20] AS added
	FROM t GROUP BY i),
k AS (SELECT i, max(ks) AS ks FROM edges GROUP BY i),
x AS (SELECT i, array_remove(ARRAY[CASE WHEN psi > $psi THEN 'psi' END, CASE WHEN js > $jensen_shannon THEN 'jensen_shannon' END,
	CASE WHEN ks > $kolmogorov_smirnov THEN 'kolmogorov_smirnov' END], NULL) AS exceeded FROM names LEFT JOIN m USING (i) LEFT JOIN k USING (i))
SELECT feature, kind, na::int8 AS base_rows, nb::int8 AS study_rows, (na - a)::int8 AS base_nulls, (nb - b)::int8 AS study_nulls, psi, js AS jensen_shannon,
	ks AS kolmogorov_smirnov, chi AS chi_square, coalesce(df, 0) AS degrees_of_freedom, coalesce(missing, '{}') AS missing_categories, coalesce(added, '{}') AS new_categories,
	exceeded, cardinality(exceeded) > 0 AS drifted
FROM names LEFT JOIN m USING (i) LEFT JOIN k USING (i) JOIN x USING (i) ORDER BY i`

// driftEdges and driftCategories are those of column $i, of the value $v.
const (
	driftEdges = `SELECT $i AS i, coalesce(floor($bins * w.ca / nullif(nq.n$i, 0)), 0) AS j, min(w.ca) AS a, min(w.cb) AS b, max(abs(w.ca / nullif(nq.n$i, 0) - w.cb / nullif(nr.n$i, 0))) AS ks
	FROM (SELECT sum(u.a) OVER (ORDER BY u.v) AS ca, sum(u.b) OVER (ORDER BY u.v) AS cb
		FROM (SELECT $v AS v, 1::float8 AS a, 0::float8 AS b FROM "~q" WHERE c$i IS NOT NULL UNION ALL SELECT $w, 0, 1 FROM "~r" WHERE c$i IS NOT NULL) AS u) AS w, nq, nr GROUP BY 2 UNION ALL `
	driftCategories = `SELECT $i AS i, u.c, sum(u.a) AS a, sum(u.b) AS b FROM (SELECT c$i::text AS c, 1::float8 AS a, 0::float8 AS b FROM "~q" WHERE c$i IS NOT NULL
		UNION ALL SELECT c$i::text, 0, 1 FROM "~r" WHERE c$i IS NOT NULL) AS u GROUP BY u.c UNION ALL `
)

const sameColumns = "Both queries need the same columns, in any order."

// driftText is driftQuery over columns with the same names.
func driftText(base, study []plan.Column, settings []string) (string, error) {
	at := map[string]int{}
	for k, c := range study {
		at[c.Name] = k
	}
	if len(at) < len(study) {
		return "", pgerr.New(pgerr.DuplicateColumn, "the second query has two columns of the same name").WithHint("Give each a name of its own, with AS.")
	}
	places := make([]string, len(study))
	var names, counts, edges, cats strings.Builder
	for i, c := range base {
		k, ok := at[c.Name]
		if !ok {
			return "", pgerr.New(pgerr.UndefinedColumn, "the second query has no column %q", c.Name).WithHint("%s", sameColumns)
		}
		delete(at, c.Name)
		col, more, kind := fmt.Sprintf("c%d", i), "", "numeric"
		if places[k] = col; i > 0 {
			more = ", "
		}
		one, other := asNumber(col, c.Type), asNumber(col, study[k].Type)
		put := strings.NewReplacer(append(settings, "$i", strconv.Itoa(i), "$v", one, "$w", other)...)
		switch {
		case (one == "") != (other == ""):
			return "", pgerr.New(pgerr.DatatypeMismatch, "column %q is of %s in one query and of %s in the other", c.Name, types.TypeName(c.Type.OID), types.TypeName(study[k].Type.OID))
		case one == "":
			kind = "categorical"
			cats.WriteString(put.Replace(driftCategories))
		default:
			edges.WriteString(put.Replace(driftEdges))
		}
		fmt.Fprintf(&names, "%s(%d, %s, '%s', nq.n%[2]d, nr.n%[2]d)", more, i, lex.QuoteLiteral(c.Name), kind)
		fmt.Fprintf(&counts, "%scount(%s)::float8 AS n%d", more, col, i)
	}
	for _, c := range study {
		if _, more := at[c.Name]; more {
			return "", pgerr.New(pgerr.UndefinedColumn, "the first query has no column %q", c.Name).WithHint("%s", sameColumns)
		}
	}
	return strings.NewReplacer(append(settings, "$names", names.String(), "$qcols", placeNames(len(base)), "$rcols", strings.Join(places, ", "), "$counts", counts.String(),
		"$edges", edges.String(), "$cats", cats.String())...).Replace(driftQuery), nil
}

// driftMeasures are the measures that have a setting, above which a feature has drifted.
var driftMeasures = []string{"psi", "jensen_shannon", "kolmogorov_smirnov"}

// driftSettings reads the named arguments of fun, which takes what beside them.
func driftSettings(sc *scope.Scope, args []ast.Node, fun, what string) (values map[string]float64, err error) {
	b := sc.Binder
	values = map[string]float64{"bins": 10, "psi": 0.2, "jensen_shannon": 0.1, "kolmogorov_smirnov": 0.1}
	for _, a := range args {
		na, ok := a.(*ast.NamedArgExpr)
		name := ""
		if ok {
			name = strings.ToLower(na.Name)
		}
		if _, known := values[name]; !known {
			return nil, pgerr.New(pgerr.UndefinedFunction, "ml.%s takes %s, and bins, psi, jensen_shannon and kolmogorov_smirnov by name", fun, what).At(b.SpotFunc(fun).At())
		}
		e, err := sc.Expr(na.Arg, scope.InFromClause)
		if err != nil {
			return nil, err
		}
		if e, err = b.Coerce(e, types.Float8, fn.AssignmentCast, b.SpotExpr(na.Arg)); err != nil {
			return nil, err
		}
		d, _, err := query.ConstArg(b, e, "ml."+fun, na.Arg)
		if err != nil {
			return nil, err
		}
		v, ok := d.(float64)
		switch {
		case name == "bins" && !(ok && v == math.Trunc(v) && v >= 2 && v <= 1000):
			return nil, pgerr.New(pgerr.InvalidParameterValue, "bins must be a whole number from 2 to 1000").At(b.PosExpr(na.Arg))
		case !ok || !(v >= 0) || math.IsInf(v, 0):
			return nil, pgerr.New(pgerr.InvalidParameterValue, "%s must be a number from 0", name).At(b.PosExpr(na.Arg))
		}
		values[name] = v
	}
	return values, nil
}

// settingTexts is what stands in driftQuery for its settings.
func settingTexts(values map[string]float64) (put []string) {
	for _, name := range append([]string{"bins"}, driftMeasures...) {
		put = append(put, "$"+name, strconv.FormatFloat(values[name], 'g', -1, 64)+"::float8")
	}
	return put
}
