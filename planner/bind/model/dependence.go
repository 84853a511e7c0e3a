package model

import (
	"fmt"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The values of a feature for which the dependence on it is shown: all of them, or, of more numbers than that,
// so many between the 5th and the 95th percentile, at equal distances, as in scikit-learn, which
// takes its percentiles a little differently.
const (
	allValues  = `SELECT DISTINCT r.%[1]s AS v FROM rows AS r WHERE r.%[1]s IS NOT NULL`
	gridValues = `SELECT DISTINCT r.%[1]s::float8 AS v FROM rows AS r, ends WHERE ends.n <= %[2]d AND r.%[1]s IS NOT NULL
  UNION SELECT ends.low + (ends.high - ends.low) * i / %[3]d FROM ends, generate_series(0, %[3]d) AS i WHERE ends.n > %[2]d`
	endsOfGrid = `, ends AS MATERIALIZED (SELECT count(DISTINCT r.%[1]s) AS n, percentile_cont(0.05) WITHIN GROUP (ORDER BY r.%[1]s::float8) AS low,
  percentile_cont(0.95) WITHIN GROUP (ORDER BY r.%[1]s::float8) AS high FROM rows AS r)`
)

// The arguments of partialDependence.
const (
	featureArgument = "feature"
	gridArgument    = "grid_resolution"
	mostGrid        = 1000
)

// partialDependence binds ml.partial_dependence('model', (query), 'feature'): what is predicted on average if all rows
// had a value of the feature (Friedman, "Greedy function approximation", 2001).
func partialDependence(sc *scope.Scope, args []ast.Node, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	const full = "ml.partial_dependence"
	m, err := resolveModel(sc, args[0], full)
	if err != nil {
		return scope.FromItem{}, err
	}
	takes := pgerr.New(pgerr.UndefinedFunction, "%s takes a model's name, a query and a feature's name", full).
		WithHint("Write %s('model', (SELECT …), 'feature'); named arguments are feature, grid_resolution.", full).At(pos.At())
	args, of := take(args, featureArgument)
	args, grid := take(args, gridArgument)
	if of == nil && len(args) == 3 {
		args, of = args[:2], args[2]
	}
	if of == nil || len(args) != 2 {
		return scope.FromItem{}, takes
	}
	rows := queryOf(args, 1)
	if rows == nil {
		return scope.FromItem{}, takes
	}
	points := int64(100)
	if grid != nil {
		if points, err = integer(sc, grid, full, gridArgument, 2, mostGrid); err != nil {
			return scope.FromItem{}, err
		}
	}
	d, err := constant(sc, of, full)
	if err != nil {
		return scope.FromItem{}, err
	}
	name, _ := d.(string)
	var feature *catalog.ModelFeature
	for i, f := range m.v.Features {
		if f.Name == name {
			feature = &m.v.Features[i]
		}
	}
	if feature == nil {
		return scope.FromItem{}, pgerr.New(pgerr.UndefinedColumn, "model \"%s\" has no feature \"%s\"", m.name, name).
			WithDetail("The model's features are %s.", featureList(m.v)).At(sc.Binder.PosExpr(of))
	}
	if m.parts() != nil || m.v.Task != catalog.TaskRegression && !classifies(m.v) || m.v.Windows != nil {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no partial dependence: it does not predict one number or class", m.name).At(pos.At())
	}
	front := ""
	for _, k := range m.front() {
		front += "p." + lex.QuoteIdent(k) + ", "
	}
	column := lex.QuoteIdent(name)
	ends, values := "", fmt.Sprintf(allValues, column)
	if feature.Type.IsNumber() {
		ends, values = fmt.Sprintf(endsOfGrid, column), fmt.Sprintf(gridValues, column, points, points-1)
	}
	features := m.named(func(of string) string {
		if of == name {
			return "g.v"
		}
		return "r." + lex.QuoteIdent(of)
	})
	predicted, class, average := "predict('', "+features+")::float8", "", "avg(p.predicted)"
	from := ""
	switch {
	case classifies(m.v) && len(m.v.Classes) == 2:
		predicted = "predict_proba('', " + features + ")"
	case classifies(m.v):
		predicted = "predict_proba('', " + features + ")"
		class, average = "t.class, ", "avg(p.predicted[t.place])"
		from = ", unnest(ARRAY[" + quoted(m.v.Classes) + "]) WITH ORDINALITY AS t(class, place)"
	}
	keys := strings.ReplaceAll(front, "p.", "r.")
	text := `WITH rows AS (SELECT * FROM "$rows" AS r)` + ends + " SELECT " + front + class + "p.v AS " + column + ", " + average + " AS average FROM (SELECT " + keys + "g.v, " + predicted +
		" AS predicted FROM rows AS r, (" + values + ") AS g) AS p" + from + " GROUP BY " + front + class + "p.v ORDER BY " + front + class + "p.v"
	it, err := overRows(sc, text, "partial_dependence", map[string]ast.Node{"": args[0]}, rows, n)
	if pgerr.Is(err, pgerr.UndefinedColumn) {
		err = pgerr.From(err).WithDetail("The model's features are %s.", featureList(m.v)).WithHint("ml.partial_dependence needs them and the columns of groups among the columns.")
	}
	return it, err
}
