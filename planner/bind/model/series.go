package model

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The relations of this file read rows of series. A series is a row of arrays, made by GROUP BY, and what its model says of it is
// another array (scope.SeriesCall): $asked says what is asked, as ml/model has it. Regressors are first turned into what they add to the
// value (scope.EffectCall). $by are the keys by the names that they have inside, and $outer is what they become.
const seriesRows = `(SELECT a.*, ml."` + scope.SeriesCall + `"('', a.times, $ys, a.es, '{$asked}'::float8[]$keys) AS r
  FROM (SELECT $front$times AS times, $values AS ys, $effects AS es FROM "$rows" AS q$group) AS a) AS s`

const (
	// r has three numbers for each time, NaN for none.
	seriesTimes = `(SELECT $by s.times[i] AS time, s.ys[i] AS value, nullif(s.r[3 * i - 2], 'NaN') AS mean, nullif(s.r[3 * i - 1], 'NaN') AS sd, nullif(s.r[3 * i], 'NaN') AS p
  FROM ` + seriesRows + `, LATERAL generate_series(1, cardinality(s.times)) AS i) AS t`
	forecastQuery = `SELECT $outer t.time AS $time, t.mean AS forecast_value, t.sd AS standard_error, $confidence::float8 AS confidence_level,
  t.mean - $z * t.sd AS prediction_interval_lower_bound, t.mean + $z * t.sd AS prediction_interval_upper_bound FROM ` + seriesTimes + ` WHERE t.sd IS NOT NULL ORDER BY $by t.time`
	anomaliesQuery = `SELECT $outer t.time AS $time, t.value AS $value, t.p > $threshold AS is_anomaly, t.mean - $z * t.sd AS lower_bound, t.mean + $z * t.sd AS upper_bound, t.p AS anomaly_probability
FROM ` + seriesTimes + ` ORDER BY $by t.time`
	backtestQuery = `SELECT $outer folds::int8 AS folds, n::int8 AS forecasts, error / nullif(n, 0) AS mean_absolute_error, sqrt(square / nullif(n, 0)) AS root_mean_squared_error,
  share / nullif(shares, 0) AS mean_absolute_percentage_error, beside / nullif(n, 0) AS symmetric_mean_absolute_percentage_error,
  scaled / nullif(scaleds, 0) AS mean_absolute_scaled_error, covered / nullif(n, 0) AS coverage
FROM (SELECT $by sum(s.r[1]) AS folds, sum(s.r[2]) AS n, sum(s.r[3]) AS error, sum(s.r[4]) AS square, sum(s.r[5]) AS share, sum(s.r[6]) AS shares, sum(s.r[7]) AS beside,
    sum(s.r[8]) AS scaled, sum(s.r[9]) AS scaleds, sum(s.r[10]) AS covered FROM ` + seriesRows + `$total) AS t ORDER BY $by 1`
)

// seriesArguments are the named arguments of a relation of this file that are constants, with their defaults.
type seriesArguments map[string]types.Datum

// takeSeries takes the model, the query and named arguments of a relation.
func takeSeries(sc *scope.Scope, full string, args []ast.Node, n *ast.RangeFunction, pos typing.Position, given seriesArguments) (m *model, rows *ast.SubLink, err error) {
	b := sc.Binder
	if m, err = resolveModel(sc, args[0], full); err != nil {
		return nil, nil, err
	}
	if m.v.Time() == nil {
		if full == "ml.detect_anomalies" {
			return nil, nil, pgerr.Unsupported("%s takes models that continue series, and the task of model \"%s\" is %s", full, m.name, m.v.Task).WithHint("%s", m.instead()).At(pos.At())
		}
		return nil, nil, pgerr.New(pgerr.WrongObjectType, "model \"%s\" does not continue a series", m.name).WithHint("Its task is %s: use predict or ml.predict.", m.v.Task).At(pos.At())
	}
	rest := args[1:]
	if len(rest) > 0 {
		if rows = queryOf(rest, 0); rows != nil {
			rest = rest[1:]
		}
	}
	seen := map[string]bool{}
	for _, a := range rest {
		na, ok := a.(*ast.NamedArgExpr)
		name := ""
		if ok {
			name = strings.ToLower(na.Name)
		}
		if name == "confidence_level" {
			name = "confidence"
		}
		old, known := given[name]
		if !known || seen[name] {
			return nil, nil, pgerr.New(pgerr.UndefinedFunction, "%s takes a model's name, a query and named arguments", full).
				WithHint("Write %s('model', (SELECT …)); named arguments are %s.", full, strings.Join(given.names(), ", ")).At(b.PosExpr(a))
		}
		seen[name] = true
		d, err := constant(sc, na.Arg, full)
		if err != nil {
			return nil, nil, err
		}
		if x, ok := d.(number.Decimal); ok {
			d = x.Float64()
		}
		ok = false
		want := "true or false"
		switch old.(type) {
		case bool:
			_, ok = d.(bool)
		case float64:
			v, is := d.(float64)
			ok, want = is && v > 0 && v < 1, "a number between 0 and 1"
		case int64:
			v, is := d.(int64)
			ok, want = is && v >= 1 && v <= mostHorizon, "an integer from 1 to "+strconv.Itoa(mostHorizon)
		}
		if !ok {
			return nil, nil, pgerr.New(pgerr.InvalidParameterValue, "the argument %s of %s is %s", name, full, want).At(b.PosExpr(na.Arg))
		}
		given[name] = d
	}
	switch {
	case rows == nil && full == "ml.forecast":
		rows, err = m.nextSteps(args[0], given["horizon"].(int64))
	case rows == nil:
		rows, err = m.trainedOn(sc, full, pos)
	}
	if err != nil {
		return nil, nil, err
	}
	rows, err = m.withHolidays(sc, rows, pos)
	return m, rows, err
}

func (a seriesArguments) names() (out []string) {
	for _, name := range []string{"horizon", "folds", "step", "confidence", "over_all", "anomaly_prob_threshold"} {
		if _, ok := a[name]; ok {
			out = append(out, name)
		}
	}
	return out
}

// instead says what to use for a model that continues no series.
func (m *model) instead() string {
	switch m.v.Task {
	case catalog.TaskClustering:
		return "Use ml.predict('" + m.name + "', (SELECT …)): rows far from their centre have a large distance."
	case catalog.TaskAnomaly:
		return "Use ml.predict('" + m.name + "', (SELECT …)), which says so of each row."
	}
	return "Use ml.predict('" + m.name + "', (SELECT …)); an isolation_forest finds anomalies among rows."
}

// trainedOn is the query of the model's statement. Its rows are as they are now, and who asks must be allowed to read them.
func (m *model) trainedOn(sc *scope.Scope, full string, pos typing.Position) (*ast.SubLink, error) {
	b := sc.Binder
	give := func(e *pgerr.Error) error {
		return e.WithHint("Give the rows: %s('%s', (SELECT …)).", full, m.name).At(pos.At())
	}
	if of := b.Session.State.ModelByOID(m.ref.OID); of == nil || !b.Session.State.Inherits(b.Session.Role, of.Owner) {
		return nil, give(pgerr.New(pgerr.InsufficientPrivilege, "only the owner of model \"%s\" reads the rows that it was trained on by its statement", m.name))
	}
	st, err := parse.One(m.v.Statement, parse.Postgres)
	if err != nil {
		return nil, give(pgerr.New(pgerr.ObjectNotInPrerequisiteState, "model \"%s\" was not trained here", m.name))
	}
	t, ok := st.Extension.(*parse.TrainModel)
	if !ok || t.Query == nil {
		return nil, give(pgerr.New(pgerr.ObjectNotInPrerequisiteState, "model \"%s\" was not trained here", m.name))
	}
	return ast.NewSubLink(ast.EXPR_SUBLINK, t.Query), nil
}

// over binds a query over the rows of series. Without values it does not read those.
func (m *model) over(sc *scope.Scope, text, alias string, name ast.Node, rows *ast.SubLink, values bool, put []string, n *ast.RangeFunction) (scope.FromItem, error) {
	by, outer, front, keys, group := "", "", "", "", ""
	for i, k := range m.groupKeys() {
		key := keyInside(i)
		by, outer = by+key+", ", outer+key+" AS "+lex.QuoteIdent(k.Name)+", "
		front += "q." + lex.QuoteIdent(k.Name) + " AS " + key + ", "
		keys += ", a." + key
		if group += ", "; i == 0 {
			group = " GROUP BY "
		}
		group += "q." + lex.QuoteIdent(k.Name)
	}
	t := m.v.Time()
	target := m.v.Target[0]
	time := "q." + lex.QuoteIdent(t.Name) + "::" + types.TypeName(t.Type.OID)
	collect := func(what string) string { return "array_agg(" + what + " ORDER BY " + time + ")" }
	given, ys, effects := "NULL::float8[]", "NULL::float8[]", "NULL::float8[]"
	if values {
		given, ys = collect("q."+lex.QuoteIdent(target)+"::float8"), "a.ys"
	}
	if len(m.v.Features) > 1 {
		effects = collect(`ml."` + scope.EffectCall + `"('', q)`)
	}
	put = append(put, "$outer ", outer, "$by ", by, "$front", front, "$keys", keys, "$group", group, "$times", collect(time), "$values", given, "$ys", ys, "$effects", effects,
		"$time", lex.QuoteIdent(t.Name), "$value", lex.QuoteIdent(target))
	// $times and $values before $time and $value: the first that fits is taken.
	text = strings.NewReplacer(put...).Replace(text)
	it, err := overRows(sc, text, alias, map[string]ast.Node{"": name}, rows, n)
	if pgerr.Is(err, pgerr.UndefinedColumn) {
		columns := append([]string{t.Name}, target)
		if !values {
			columns = columns[:1]
		}
		for _, k := range m.groupKeys() {
			columns = append(columns, k.Name)
		}
		err = pgerr.From(err).WithHint("ml.%s needs the columns \"%s\", and the model's regressors.", alias, strings.Join(columns, "\", \""))
	}
	return it, err
}

// interval is how many standard deviations lie on each side of the mean of an interval.
func interval(confidence float64) string {
	return strconv.FormatFloat(float64(math.Sqrt2*math.Erfinv(confidence)), 'g', -1, 64) + "::float8"
}

// readsRows reports whether ml.forecast with these arguments is of the rows of a query, or of the holidays that come next.
func readsRows(sc *scope.Scope, args []ast.Node) bool {
	if queryOf(args, 1) != nil {
		return true
	}
	named := func(name string) bool { _, val := take(args, name); return val != nil }
	if len(args) == 0 || named("version") || named(stepsArgument) {
		return false
	}
	if len(args) > 1 {
		if _, ok := args[1].(*ast.NamedArgExpr); !ok { // a version
			return false
		}
	}
	m, err := resolveModel(sc, args[0], "ml.forecast")
	return err == nil && m.v.Time() != nil && m.foresees()
}

// forecastRows binds ml.forecast('model', (query), horizon => 28, confidence => 0.9): a forecast for each row behind the end of its
// series, with what its regressors add.
func forecastRows(sc *scope.Scope, args []ast.Node, n *ast.RangeFunction) (scope.FromItem, error) {
	given := seriesArguments{"horizon": int64(0), "confidence": defaultConfidence}
	m, rows, err := takeSeries(sc, "ml.forecast", args, n, sc.Binder.SpotFunc("forecast"), given)
	if err != nil {
		return scope.FromItem{}, err
	}
	confidence := given["confidence"].(float64)
	put := []string{"$asked", "0, " + strconv.FormatInt(given["horizon"].(int64), 10), "$z", interval(confidence), "$confidence", strconv.FormatFloat(confidence, 'g', -1, 64)}
	return m.over(sc, forecastQuery, "forecast", args[0], rows, false, put, n)
}

// detectAnomalies binds ml.detect_anomalies('model', (query), anomaly_prob_threshold => 0.95): how likely each value is from what
// came before it.
func detectAnomalies(sc *scope.Scope, args []ast.Node, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	given := seriesArguments{"anomaly_prob_threshold": 0.95}
	m, rows, err := takeSeries(sc, "ml.detect_anomalies", args, n, pos, given)
	if err != nil {
		return scope.FromItem{}, err
	}
	threshold := given["anomaly_prob_threshold"].(float64)
	put := []string{"$asked", "0, 0", "$z", interval(threshold), "$threshold", strconv.FormatFloat(threshold, 'g', -1, 64) + "::float8"}
	return m.over(sc, anomaliesQuery, "detect_anomalies", args[0], rows, true, put, n)
}

// backtest binds ml.backtest('model', (query), horizon => 28, folds => 5, step => 28, confidence => 0.9): errors of forecasts
// from earlier times, a row a series or one over all.
func backtest(sc *scope.Scope, args []ast.Node, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	given := seriesArguments{"horizon": int64(0), "folds": int64(5), "step": int64(0), "confidence": 0.9, "over_all": false}
	m, rows, err := takeSeries(sc, "ml.backtest", args, n, pos, given)
	if err != nil {
		return scope.FromItem{}, err
	}
	asked := "1"
	for _, name := range []string{"horizon", "folds", "step"} {
		asked += ", " + strconv.FormatInt(given[name].(int64), 10)
	}
	put := []string{"$asked", asked + ", " + strconv.FormatFloat(given["confidence"].(float64), 'g', -1, 64)}
	keys := make([]string, len(m.groupKeys()))
	for i := range keys {
		keys[i] = "s." + keyInside(i)
	}
	total := ""
	switch {
	case given["over_all"].(bool): // one row of all series, without their keys
		put = append(put, "$outer ", "", "SELECT $by sum", "SELECT sum", " ORDER BY $by 1", "")
	case len(keys) > 0:
		total = " GROUP BY " + strings.Join(keys, ", ")
	}
	return m.over(sc, backtestQuery, "backtest", args[0], rows, true, append(put, "$total", total), n)
}

// series binds scope.SeriesCall('model', times, values, effects, asked, keys …).
func series(sc *scope.Scope, m *model, args []ast.Node, p scope.Place, pos typing.Position) (expr.Expr, error) {
	b := sc.Binder
	by := m.groupKeys()
	if m.v.Time() == nil || len(args) != 4+len(by) {
		return nil, pgerr.New(pgerr.UndefinedFunction, "%s is for queries of relations over forecasting models", scope.SeriesCall).At(pos.At())
	}
	floats, _ := types.ArrayOf(types.Float8)
	times, _ := types.ArrayOf(m.v.Time().Type)
	out := &expr.Predict{Model: m.name, Ref: m.ref, Mode: expr.PredictSeries, Typ: floats}
	var fields []scope.Column
	for i, a := range args {
		e, err := sc.Expr(a, p)
		if err != nil {
			return nil, err
		}
		if i >= 4 {
			fields = append(fields, scope.Column{Name: by[i-4].Name, Expr: e})
			continue
		}
		want := floats
		if i == 0 {
			want = times
		}
		if want.Mod = -1; e.Type().OID != want.OID {
			if e, err = b.Coerce(e, want, fn.AssignmentCast, b.SpotExpr(a)); err != nil {
				return nil, err
			}
		}
		out.Args = append(out.Args, b.AsPhysical(e, want))
	}
	options, err := m.trainedWith()
	if err != nil {
		return nil, err
	}
	out.Args = append(out.Args, &expr.Const{Val: options, Typ: types.Text})
	of, err := keys(sc, m, fields, map[int]bool{}, pos)
	if err != nil {
		return nil, err
	}
	out.Args = append(out.Args, of...)
	return out, nil
}

// trainedWith returns the options of the training, those that a search chose for others, as JSON.
func (m *model) trainedWith() (string, error) {
	var pairs [][2]string
	put := func(list []catalog.NamedText) {
	options:
		for _, o := range list {
			name := strings.ToLower(o.Name)
			for i := range pairs {
				if pairs[i][0] == name {
					pairs[i][1] = o.Value
					continue options
				}
			}
			pairs = append(pairs, [2]string{name, o.Value})
		}
	}
	put(m.v.Options)
	if s := m.v.Search; s != nil && s.Best >= 1 && s.Best <= len(s.Trials) {
		put(s.Trials[s.Best-1].Args)
	}
	text, err := json.Marshal(pairs)
	if err != nil {
		return "", pgerr.From(err)
	}
	return string(text), nil
}
