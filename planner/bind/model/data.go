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
	put, err := driftColumns(cols[0], cols[1])
	if err != nil {
		return scope.FromItem{}, pgerr.From(err).At(b.SpotFunc(name).At())
	}
	settings, err := driftSettings(sc, more)
	if err != nil {
		return scope.FromItem{}, err
	}
	return query.Over(sc, strings.NewReplacer(append(put, settings...)...).Replace(driftQuery), sels, name, n)
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
		text := col + "::text"
		row := []string{lex.QuoteLiteral(c.Name), fmt.Sprintf("format_type(%d, %d)", c.Type.OID, c.Type.Mod), "count(" + col + ")", "count(*) - count(" + col + ")", "NULL::int8",
			"approx_count_distinct(" + text + ")", "min(" + text + ")", "max(" + text + ")", "NULL::float8", "NULL::float8", "NULL::text", "NULL::float8", "NULL::text"}
		if number := asNumber(col, c.Type); number != "" {
			row[6], row[7] = "min("+col+")::text", "max("+col+")::text"
			row[4], row[8], row[9] = "count(*) FILTER (WHERE "+number+" = 0)", "avg("+number+")", "stddev_samp("+number+")"
			row[10] = "(percentile_cont(ARRAY[0, 0.25, 0.5, 0.75, 1]) WITHIN GROUP (ORDER BY " + number + "))::text"
		} else {
			row[11] = "avg(length(" + text + "))::float8"
			row[12] = "mode() WITHIN GROUP (ORDER BY " + text + ")"
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

// driftQuery compares two data sets column by column. All values of all columns are rows of d: the column's number,
// the value as a number or as a text, and of which of the two it is; g counts each value once. A column of numbers is
// cut at quantiles of the base: a value lies above as many of them as have no more than the base's rows below it.
// Each part, category, and NULL, is a row of t with the counts of both. So all results are functions of counts, and their sums are exact.
const driftQuery = `WITH names(i, feature, kind) AS (VALUES $names),
d AS (SELECT f.i, f.v, f.c, 1 AS a, 0 AS b FROM (SELECT 1) AS q($qcols), LATERAL (VALUES $q) AS f(i, v, c)
	UNION ALL SELECT f.i, f.v, f.c, 0, 1 FROM (SELECT 1) AS r($rcols), LATERAL (VALUES $r) AS f(i, v, c)),
g AS (SELECT i, v, c, sum(a)::float8 AS a, sum(b)::float8 AS b FROM d GROUP BY i, v, c),
w AS (SELECT i, a, b, sum(a) OVER o AS ca, sum(b) OVER o AS cb, sum(a) OVER p AS na, sum(b) OVER p AS nb FROM g WHERE v IS NOT NULL
	WINDOW p AS (PARTITION BY i), o AS (PARTITION BY i ORDER BY v)),
ks AS (SELECT i, max(abs(ca / nullif(na, 0) - cb / nullif(nb, 0))) AS ks FROM w GROUP BY i),
e AS (SELECT i, NULL::text AS c, true AS there, sum(a) AS a, sum(b) AS b FROM w GROUP BY i, least($bins - 1, floor($bins * (ca - a) / nullif(na, 0)))
	UNION ALL SELECT i, c, c IS NOT NULL, a, b FROM g WHERE v IS NULL),
t AS (SELECT i, c, there, a, b, nullif(sum(a) OVER p, 0) AS na, nullif(sum(b) OVER p, 0) AS nb FROM e WINDOW p AS (PARTITION BY i)),
m AS (SELECT i, coalesce(max(na), 0)::int8 AS base_rows, coalesce(max(nb), 0)::int8 AS study_rows, (sum(a) FILTER (WHERE NOT there))::int8 AS base_nulls, (sum(b) FILTER (WHERE NOT there))::int8 AS study_nulls,
	sum((greatest(b / nb, 1e-4) - greatest(a / na, 1e-4)) * ln(greatest(b / nb, 1e-4) / greatest(a / na, 1e-4))) AS psi,
	sqrt(greatest(0, sum(CASE WHEN a > 0 THEN a / na * ln(2 * (a / na) / (a / na + b / nb)) ELSE 0 END + CASE WHEN b > 0 THEN b / nb * ln(2 * (b / nb) / (a / na + b / nb)) ELSE 0 END) / 2)) AS js,
	sum((a * nb - b * na) ^ 2 / ((a + b) * na * nb)) AS chi, (count(*) FILTER (WHERE na IS NOT NULL AND nb IS NOT NULL) - 1)::int8 AS df,
	(array_agg(c ORDER BY a DESC, c) FILTER (WHERE c IS NOT NULL AND b = 0))[1:20] AS missing, (array_agg(c ORDER BY b DESC, c) FILTER (WHERE c IS NOT NULL AND a = 0))[1:20] AS added
	FROM t GROUP BY i),
x AS (SELECT i, array_remove(ARRAY[CASE WHEN psi > $psi THEN 'psi' END, CASE WHEN js > $jensen_shannon THEN 'jensen_shannon' END,
	CASE WHEN ks > $kolmogorov_smirnov THEN 'kolmogorov_smirnov' END], NULL) AS exceeded FROM m LEFT JOIN ks USING (i))
SELECT feature, kind, base_rows, study_rows, coalesce(base_nulls, 0) AS base_nulls, coalesce(study_nulls, 0) AS study_nulls, psi, js AS jensen_shannon,
	ks AS kolmogorov_smirnov, chi AS chi_square, greatest(df, 0) AS degrees_of_freedom, coalesce(missing, '{}') AS missing_categories, coalesce(added, '{}') AS new_categories,
	exceeded, cardinality(exceeded) > 0 AS drifted
FROM names LEFT JOIN m USING (i) LEFT JOIN ks USING (i) LEFT JOIN x USING (i) ORDER BY i`

// driftColumns is what stands in driftQuery for columns with the same names.
func driftColumns(base, study []plan.Column) ([]string, error) {
	at := map[string]int{}
	for i, c := range study {
		at[c.Name] = i
	}
	if len(at) < len(study) || len(base) != len(study) {
		return nil, pgerr.New(pgerr.InvalidColumnReference, "the two queries need the same columns, each once")
	}
	var names, left, right []string
	for i, c := range base {
		k, ok := at[c.Name]
		if !ok {
			return nil, pgerr.New(pgerr.UndefinedColumn, "the second query has no column %q", c.Name)
		}
		delete(at, c.Name)
		one, other, kind := asNumber(fmt.Sprintf("c%d", i), c.Type), asNumber(fmt.Sprintf("c%d", k), study[k].Type), "numeric"
		if (one == "") != (other == "") {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "column %q is of %s in one query and of %s in the other", c.Name, types.TypeName(c.Type.OID), types.TypeName(study[k].Type.OID))
		}
		if one == "" {
			kind = "categorical"
			one, other = fmt.Sprintf("NULL::float8, c%d::text", i), fmt.Sprintf("NULL::float8, c%d::text", k)
		} else {
			one, other = one+", NULL::text", other+", NULL::text"
		}
		names = append(names, fmt.Sprintf("(%d, %s, '%s')", i, lex.QuoteLiteral(c.Name), kind))
		left, right = append(left, fmt.Sprintf("(%d, %s)", i, one)), append(right, fmt.Sprintf("(%d, %s)", i, other))
	}
	cols := placeNames(len(base))
	return []string{"$names", strings.Join(names, ", "), "$qcols", cols, "$rcols", cols, "$q", strings.Join(left, ", "), "$r", strings.Join(right, ", ")}, nil
}

// driftSettings is what stands in driftQuery for its settings.
func driftSettings(sc *scope.Scope, args []ast.Node) (put []string, err error) {
	b := sc.Binder
	values := map[string]float64{"bins": 10, "psi": 0.2, "jensen_shannon": 0.1, "kolmogorov_smirnov": 0.1}
	for _, a := range args {
		na, ok := a.(*ast.NamedArgExpr)
		name := ""
		if ok {
			name = strings.ToLower(na.Name)
		}
		if _, known := values[name]; !known {
			return nil, pgerr.New(pgerr.UndefinedFunction, "ml.validate_data_drift takes two queries, and bins, psi, jensen_shannon and kolmogorov_smirnov by name").At(b.SpotFunc("validate_data_drift").At())
		}
		e, err := sc.Expr(na.Arg, scope.InFromClause)
		if err != nil {
			return nil, err
		}
		if e, err = b.Coerce(e, types.Float8, fn.AssignmentCast, b.SpotExpr(na.Arg)); err != nil {
			return nil, err
		}
		d, _, err := query.ConstArg(b, e, "ml.validate_data_drift", na.Arg)
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
	for _, name := range []string{"bins", "psi", "jensen_shannon", "kolmogorov_smirnov"} {
		put = append(put, "$"+name, strconv.FormatFloat(values[name], 'g', -1, 64)+"::float8")
	}
	return put, nil
}
