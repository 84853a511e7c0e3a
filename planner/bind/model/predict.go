package model

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Predict binds predict('m', row) and predict('m', a => 1, b => 2), and their
// _proba forms. Features are bound by name.
func Predict(sc *scope.Scope, name string, args []ast.Node, p scope.Place) (expr.Expr, error) {
	b := sc.Binder
	pos := b.SpotFunc(name)
	if len(args) < 2 {
		return nil, pgerr.New(pgerr.UndefinedFunction, "%s needs a model's name and its features", name).
			WithHint("Write %s('model', t) with a row of t, or %s('model', feature => value, …).", name, name).At(pos.At())
	}
	m, err := resolveModel(sc, args[0], name)
	if err == nil {
		args, m, err = takeTrial(sc, m, args, name)
	}
	if err != nil {
		return nil, err
	}
	if name == scope.SeriesCall {
		return series(sc, m, args[1:], p, pos)
	}
	if err := m.rows(name, pos); err != nil && name != scope.EffectCall {
		return nil, err
	}
	if m.v.Windows != nil {
		return nil, pgerr.Unsupported("model \"%s\" predicts windows of rows, not rows", m.name).
			WithHint("Use ml.predict('%s', (SELECT …)), which gives a row a window.", m.name).At(pos.At())
	}
	mode, class := expr.PredictValue, 0
	if name == "predict_proba" {
		mode = expr.PredictProba
		if class, err = classOf(b, m, args[1]); err != nil {
			return nil, err
		}
		if class > 0 {
			args = args[1:]
			if len(args) < 2 {
				return nil, pgerr.New(pgerr.UndefinedFunction, "predict_proba needs the features too").
					WithHint("Write predict_proba('model', 'class', t) with a row of t, or predict_proba('model', 'class', feature => value, …).").At(pos.At())
			}
		}
	}
	var threshold expr.Expr
	if mode == expr.PredictValue {
		if args, threshold, err = takeThreshold(sc, m, args, p); err != nil {
			return nil, err
		}
	}
	apply := func(fields []scope.Column, exact bool) (expr.Expr, error) {
		if threshold != nil {
			proba, err := applyModel(sc, m, expr.PredictProba, fields, exact, pos)
			if err != nil {
				return nil, err
			}
			return byThreshold(sc, m, predictType(m.v, expr.PredictValue, 0), proba, threshold)
		}
		e, err := applyModel(sc, m, mode, fields, exact, pos)
		if p, ok := e.(*expr.Predict); ok && class > 0 {
			p.Output, p.Typ = class, types.Float8
		}
		return e, err
	}
	if _, named := args[1].(*ast.NamedArgExpr); !named && len(args) == 2 {
		row, err := sc.Expr(args[1], p)
		if err != nil {
			return nil, err
		}
		fields, ok := rowFields(row)
		if !ok {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "%s needs a row, not a value of type %s", name, b.TypeName(row.Type())).
				WithHint("Write %s('model', t) with a row of t, or %s('model', feature => value, …).", name, name).At(b.PosExpr(args[1]))
		}
		for i := range fields {
			// The plan of a subquery may occur only once, so each field binds its own.
			if i > 0 && scope.HasSubquery(row) {
				if row, err = sc.Expr(args[1], p); err != nil {
					return nil, err
				}
				again, _ := rowFields(row)
				fields[i] = again[i]
			}
		}
		return apply(fields, false)
	}
	var fields []scope.Column
	for _, a := range args[1:] {
		na, ok := a.(*ast.NamedArgExpr)
		if !ok {
			class := ""
			if mode == expr.PredictProba {
				class = "'class', "
			}
			return nil, pgerr.New(pgerr.SyntaxError, "the features of %s are given by name, or as one row", name).
				WithHint("Write %s('model', %sfeature => value, …), or %s('model', %st) with a row of t.", name, class, name, class).At(b.PosExpr(a))
		}
		e, err := sc.Expr(na.Arg, p)
		if err != nil {
			return nil, err
		}
		fields = append(fields, scope.Column{Name: na.Name, Expr: e})
	}
	return apply(fields, true)
}

// classOf reads the class argument of predict_proba, a literal after the model. It returns the number of the
// class, from 1, or 0 if n is not a literal.
func classOf(b *scope.Binder, m *model, n ast.Node) (int, error) {
	lit := typing.Unparen(n)
	if cast, ok := lit.(*ast.TypeCast); ok {
		lit = typing.Unparen(cast.Arg) // true is 't'::bool
	}
	c, ok := lit.(*ast.A_Const)
	switch {
	case !ok:
		return 0, nil
	case m.classifiers() != nil:
		return 0, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has several targets: a class of which one is not said", m.name).
			WithHint("Write (predict_proba('%s', t)).%s.", m.name, m.classifiers()[0].v.Target[0]).At(b.PosExpr(n))
	case !classifies(m.v):
		return 0, nil
	}
	var text string
	switch v := c.Val.(type) {
	case *ast.String:
		text = v.SVal
	case *ast.Boolean:
		text = strconv.FormatBool(v.BoolVal)
	case *ast.Integer, *ast.Float:
		text = v.SqlString()
	default:
		return 0, nil
	}
	if m.v.TargetType.OID == types.BoolOID && (text == "t" || text == "f") {
		text = strconv.FormatBool(text == "t")
	}
	for i, have := range m.v.Classes {
		if have == text {
			return i + 1, nil
		}
	}
	return 0, pgerr.New(pgerr.UndefinedObject, "model \"%s\" has no class \"%s\"", m.name, text).
		WithDetail("Its classes are %s.", strings.Join(m.v.Classes, ", ")).At(b.PosExpr(n))
}

// rowFields returns the fields of a record by name.
func rowFields(row expr.Expr) ([]scope.Column, bool) {
	if c, ok := row.(*expr.Case); ok && c.Typ.OID == types.RecordOID && c.Else != nil {
		row = c.Else // a row that an outer join may leave out: its columns are NULL then
	}
	t := row.Type()
	if t.OID != types.RecordOID || t.Rec == nil {
		return nil, false
	}
	out := make([]scope.Column, len(t.Rec.Fields))
	for i, f := range t.Rec.Fields {
		out[i] = scope.Column{Name: f.Name, Expr: scope.FieldOf(row, i, f.Type)}
	}
	return out, true
}

// applyModel binds a model's features to the fields of these names. With
// exact, a field that is no feature is an error.
func applyModel(sc *scope.Scope, m *model, mode expr.PredictMode, fields []scope.Column, exact bool, pos typing.Position) (expr.Expr, error) {
	b := sc.Binder
	if mode == expr.PredictProba && !classifies(m.v) && m.classifiers() == nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "model \"%s\" gives no probabilities: its algorithm is %s", m.name, m.v.Algorithm).At(pos.At())
	}
	p := &expr.Predict{Model: m.name, Ref: m.ref, Mode: mode}
	p.Typ, p.Parts = m.prediction(mode)
	used := map[int]bool{}
	var missing []string
	var features []expr.Expr
	for _, f := range m.v.Features {
		at, n := findField(fields, f.Name)
		switch {
		case n == 0:
			missing = append(missing, f.Name)
			continue
		case n > 1:
			return nil, pgerr.New(pgerr.AmbiguousColumn, "the feature \"%s\" of model \"%s\" is given more than once", f.Name, m.name).At(pos.At())
		}
		used[at] = true
		e := fields[at].Expr
		if !b.CanCoerce(e.Type().OID, f.Type.OID, fn.AssignmentCast) {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "the feature \"%s\" of model \"%s\" is of type %s but the value is of type %s",
				f.Name, m.name, b.TypeName(f.Type), b.TypeName(e.Type())).At(pos.At())
		}
		want := f.Type
		if want.Mod = -1; len(m.v.Inputs) == 0 && wider(e.Type(), want) {
			want = types.Float8
		}
		if !typing.TextLike(e.Type().OID) || !typing.TextLike(want.OID) {
			var err error
			if e, err = b.Coerce(e, want, fn.AssignmentCast, typing.Position{}); err != nil {
				return nil, err
			}
		}
		features = append(features, b.AsPhysical(e, want))
	}
	if len(missing) > 0 {
		noun, verb := "feature", "is"
		if len(missing) > 1 {
			noun, verb = "features", "are"
		}
		return nil, pgerr.New(pgerr.UndefinedColumn, "model \"%s\" needs the %s \"%s\", which %s not among the columns", m.name, noun, strings.Join(missing, "\", \""), verb).
			WithDetail("The model's features are %s.", featureList(m.v)).At(pos.At())
	}
	by, err := keys(sc, m, fields, used, pos)
	if err != nil {
		return nil, err
	}
	if exact {
		for i, f := range fields {
			if !used[i] {
				return nil, pgerr.New(pgerr.UndefinedColumn, "model \"%s\" has no feature \"%s\"", m.name, f.Name).
					WithDetail("The model's features are %s.", featureList(m.v)).At(pos.At())
			}
		}
	}
	p.Args, err = inputs(sc, m, features, pos)
	p.Args = append(p.Args, by...)
	return p, err
}

// wider reports whether some numbers of type from are not of type to, such as NaN, 1e300 or 0.5 for an
// integer. Models accept such numbers as float8.
func wider(from, to types.Type) bool {
	f, t := from.Rank(), to.Rank()
	return f > 0 && t > 0 && !to.IsFloat() && (f > t || f == t && to.IsFixed() && !(from.IsFixed() && from.Scale <= to.Scale && from.Prec-from.Scale <= to.Prec-to.Scale))
}

func featureList(v *catalog.ModelVersion) string {
	out := make([]string, len(v.Features))
	for i, f := range v.Features {
		out[i] = f.Name
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

func classifies(v *catalog.ModelVersion) bool { return v.Task == catalog.TaskClassification }

func predictType(v *catalog.ModelVersion, mode expr.PredictMode, output int) types.Type {
	switch mode {
	case expr.PredictAttributions, expr.PredictInteractions:
		return types.JSONB
	case expr.PredictBaseline, expr.PredictMargin:
		return types.Float8
	case expr.PredictBins:
		return types.Bytea
	case expr.PredictTimes, expr.PredictSurvival, expr.PredictSeries:
		t, _ := types.ArrayOf(types.Float8)
		return t
	case expr.PredictProba:
		if len(v.Classes) > 2 {
			t, _ := types.ArrayOf(types.Float8)
			return t
		}
		return types.Float8
	}
	t := typing.PlainNumeric(v.Outputs[output].Type)
	t.Mod = -1
	return t
}

// Tables are the relations that are made of a query and a model, or of queries alone.
var Tables = []string{"predict", "evaluate", "confusion_matrix", "roc_curve", "pr_curve", "threshold_metrics", "calibration_curve", "lift", "residuals",
	"explain_predict", "explain_interactions", "global_explain", "partial_dependence", "permutation_importance", "compare", "survival",
	"recommend", "similar_items", "item_ranks", "neighbors", "backtest", "detect_anomalies", "describe_data", "validate_data_drift", "validate_data_skew", "key_drivers", "cumulative_incidence"}

// argumentsOf are the named arguments that a relation takes beside the model and the query.
func argumentsOf(relation string) []string {
	switch c := curveOf(relation); {
	case c != nil && c.argument != "":
		return []string{byArgument, c.argument}
	case c != nil, relation == "global_explain":
		return []string{byArgument}
	case relation == "evaluate", relation == "confusion_matrix":
		return []string{thresholdArgument, byArgument}
	case relation == "predict":
		return []string{thresholdArgument}
	}
	return nil
}

// Table binds one of Tables; ok is false for other names.
func Table(sc *scope.Scope, name string, n *ast.RangeFunction, fc *ast.FuncCall) (scope.FromItem, bool, error) {
	if name == "forecast" && readsRows(sc, typing.Items(fc.Args)) {
		it, err := forecastRows(sc, typing.Items(fc.Args), n)
		return it, true, err
	}
	if !slices.Contains(Tables, name) {
		return scope.FromItem{}, false, nil
	}
	b := sc.Binder
	args := typing.Items(fc.Args)
	if name == "cumulative_incidence" {
		it, err := incidence(sc, args, n)
		return it, true, err
	}
	if name == "key_drivers" {
		it, err := keyDrivers(sc, args, n)
		return it, true, err
	}
	if name == "validate_data_skew" || name == "validate_data_drift" && comparesModel(args) {
		it, err := dataSkew(sc, name, args, n)
		return it, true, err
	}
	if name == "describe_data" || name == "validate_data_drift" {
		it, err := ofData(sc, name, args, n)
		return it, true, err
	}
	pos := b.SpotFunc(name)
	full := "ml." + name
	takes := pgerr.New(pgerr.UndefinedFunction, "%s takes a model's name and a query", full).WithHint("Write %s('model', (SELECT …)).", full).At(pos.At())
	allowed := argumentsOf(name)
	switch len(allowed) {
	case 0:
	case 1:
		takes = takes.WithHint("Write %s('model', (SELECT …)); a named argument is %s.", full, allowed[0])
	default:
		takes = takes.WithHint("Write %s('model', (SELECT …)); named arguments are %s.", full, strings.Join(allowed, ", "))
	}
	switch {
	case len(args) == 0:
		return scope.FromItem{}, true, takes
	case name == "compare":
		it, err := compare(sc, args, n, pos)
		return it, true, err
	case name == "partial_dependence":
		it, err := partialDependence(sc, args, n, pos)
		return it, true, err
	case name == "backtest":
		it, err := backtest(sc, args, n, pos)
		return it, true, err
	case name == "detect_anomalies":
		it, err := detectAnomalies(sc, args, n, pos)
		return it, true, err
	case name == "permutation_importance":
		it, err := permutationImportance(sc, args, n, pos)
		return it, true, err
	}
	m, err := resolveModel(sc, args[0], full)
	if err == nil {
		args, m, err = takeTrial(sc, m, args, full)
	}
	if err != nil {
		return scope.FromItem{}, true, err
	}
	if r := rankingOf(name); r != nil {
		it, err := r.ranked(sc, m, args, n, pos)
		return it, true, err
	}
	if len(args) > 1 || name != "evaluate" {
		if err := m.rows(full, pos); err != nil {
			return scope.FromItem{}, true, err
		}
	}
	if len(args) == 1 && name != "evaluate" {
		return scope.FromItem{}, true, takes
	}
	var threshold expr.Expr
	if slices.Contains(allowed, thresholdArgument) {
		if args, threshold, err = takeThreshold(sc, m, args, scope.InFromClause); err != nil {
			return scope.FromItem{}, true, err
		}
		if threshold != nil && len(args) == 1 {
			return scope.FromItem{}, true, pgerr.New(pgerr.UndefinedFunction, "a threshold needs rows to predict").
				WithHint("Write %s('model', (SELECT …), threshold => 0.7).", full).At(pos.At())
		}
	}
	if slices.Contains(allowed, byArgument) {
		if args, err = takeBy(sc, m, args, full); err != nil {
			return scope.FromItem{}, true, err
		}
	}
	value := ""
	ofCurve := curveOf(name)
	if ofCurve != nil {
		var given ast.Node
		args, given = take(args, ofCurve.argument)
		if value, err = ofCurve.value(sc, given); err != nil {
			return scope.FromItem{}, true, err
		}
	}
	if len(args) > 2 {
		return scope.FromItem{}, true, takes
	}
	parts := m.parts()
	if len(args) == 1 && m.v.Groups != nil {
		it, err := storedGroups(sc, m, args[0], n)
		return it, true, err
	}
	if len(args) == 1 && parts != nil {
		it, err := storedTargets(sc, parts, n)
		return it, true, err
	}
	if len(args) == 1 {
		it, err := storedMetrics(sc, m, n)
		return it, true, err
	}
	sub := queryOf(args, 1)
	if sub == nil {
		return scope.FromItem{}, true, pgerr.New(pgerr.SyntaxError, "the second argument of %s is a query in parentheses", full).At(b.PosExpr(args[1]))
	}
	switch {
	case name == "evaluate" && parts != nil:
		it, err := evaluateTargets(sc, m, args[0], sub, n)
		return it, true, m.needs(full, err)
	case name == "evaluate" && (len(m.v.Target) == 0 || m.v.Task == catalog.TaskTimeToEvent || m.v.Task == catalog.TaskRanking || m.ranksItems()):
		it, err := evaluateUnlabelled(sc, m, args[0], sub, n, pos)
		return it, true, err
	case name == "confusion_matrix" && parts != nil:
		it, err := confusionTargets(sc, m, args[0], sub, n, pos)
		return it, true, m.needs(full, err)
	case ofCurve != nil:
		it, err := ofCurve.bind(sc, m, args[0], sub, value, n, pos)
		return it, true, m.needs(full, err)
	case name == "residuals":
		it, err := residuals(sc, m, args[0], sub, n, pos)
		return it, true, m.needs(full, err)
	case name == "global_explain":
		it, err := globalExplain(sc, m, args[0], sub, n)
		return it, true, m.needs(full, err)
	}
	r, err := query.Bind(sc, sub.Subselect.(*ast.SelectStmt), scope.InFromClause, true)
	if err != nil {
		return scope.FromItem{}, true, err
	}
	fields := fieldsOf(sc, r)
	if name == "item_ranks" {
		it, err := itemRanks(sc, m, r.Node, fields, n, pos)
		return it, true, err
	}
	if name == "survival" {
		it, err := survival(sc, m, r.Node, fields, n, pos)
		return it, true, err
	}
	predicted, err := applyModel(sc, m, expr.PredictValue, fields, false, pos)
	if err != nil {
		return scope.FromItem{}, true, err
	}
	var proba expr.Expr
	if parts == nil && classifies(m.v) {
		if proba, err = applyModel(sc, m, expr.PredictProba, fields, false, pos); err != nil {
			return scope.FromItem{}, true, err
		}
	}
	if threshold != nil {
		if predicted, err = byThreshold(sc, m, predicted.Type(), proba, threshold); err != nil {
			return scope.FromItem{}, true, err
		}
	}
	label := ""
	if len(m.v.Target) > 0 {
		label = m.v.Target[0]
	}
	shown := name == "predict" || name == "explain_predict" || name == "explain_interactions"
	if !shown && (label == "" || m.v.Task == catalog.TaskTimeToEvent) {
		return scope.FromItem{}, true, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no target to compare its predictions with", m.name).
			WithHint("Its task is %s; ml.evaluate('%s') gives what its training measured.", m.v.Task, m.name).At(pos.At())
	}
	if name == "confusion_matrix" && !classifies(m.v) {
		return scope.FromItem{}, true, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no confusion matrix: it is not a classifier", m.name).At(pos.At())
	}
	scores := []scope.Column{{Name: m.v.Outputs[0].Name, Expr: predicted}}
	if predicted.Type().OID == types.RecordOID { // each by itself, as a table can have them
		scores = nil
	}
	ofParts, err := targetScores(sc, m, fields, pos)
	if err != nil {
		return scope.FromItem{}, true, err
	}
	scores = append(scores, ofParts...)
	for i, o := range m.v.Outputs[1:] {
		if parts != nil {
			break
		}
		e, err := applyModel(sc, m, expr.PredictValue, fields, false, pos)
		if err != nil {
			return scope.FromItem{}, true, err
		}
		p := e.(*expr.Predict)
		p.Output, p.Typ = i+1, predictType(m.v, expr.PredictValue, i+1)
		scores = append(scores, scope.Column{Name: o.Name, Expr: p})
	}
	if proba != nil {
		scores = append(scores, scope.Column{Name: "predicted_" + label + "_proba", Expr: proba})
	}
	if name == "explain_predict" {
		explained, err := explained(sc, m, fields, pos)
		if err != nil {
			return scope.FromItem{}, true, err
		}
		scores = append(scores, explained...)
	}
	if name == "explain_interactions" {
		if parts != nil {
			return scope.FromItem{}, true, pgerr.Unsupported("interactions of several targets are not supported").At(pos.At())
		}
		e, err := applyModel(sc, m, expr.PredictInteractions, fields, false, pos)
		if err != nil {
			return scope.FromItem{}, true, err
		}
		scores = append(scores, scope.Column{Name: "feature_interactions", Expr: e})
	}
	node := r.Node
	if m.v.Windows != nil {
		if name != "predict" && shown {
			return scope.FromItem{}, true, pgerr.Unsupported("predictions of windows cannot be explained").At(pos.At())
		}
		if node, err = overWindows(sc, m, node, fields, scores, pos); err != nil {
			return scope.FromItem{}, true, err
		}
	}
	pr := query.NewProjector(b, sc.Level, node)
	rl := &scope.Item{Name: name}
	keepFields(pr, rl, fields, scores)
	for i, s := range scores {
		c := pr.Emit(s.Expr, s.Name)
		scores[i].Expr = scope.Col(c)
		rl.Cols = append(rl.Cols, scope.Column{Name: s.Name, Expr: scope.Col(c)})
	}
	got := scores[0].Expr
	if proba != nil {
		proba = scores[len(m.v.Outputs)].Expr
	}
	if shown {
		it, err := query.Finish(sc, pr.Node(), rl, n.Alias, "table")
		return it, true, err
	}
	var truth expr.Expr
	for _, f := range fields {
		if f.Name == label {
			truth = f.Expr
		}
	}
	if truth == nil {
		return scope.FromItem{}, true, pgerr.New(pgerr.UndefinedColumn, "%s needs the label \"%s\" of model \"%s\" among the columns", full, label, m.name).At(pos.At())
	}
	var by []scope.Column
	for _, k := range m.front() {
		at, found := findField(fields, k)
		switch {
		case found == 0:
			return scope.FromItem{}, true, pgerr.New(pgerr.UndefinedColumn, "%s is by the column \"%s\", which is not among the columns", full, k).At(pos.At())
		case found > 1:
			return scope.FromItem{}, true, pgerr.New(pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", k).At(pos.At())
		}
		by = append(by, fields[at])
	}
	if name == "confusion_matrix" {
		it, err := confusion(sc, pr.Node(), by, truth, got, n)
		return it, true, err
	}
	it, err := evaluate(sc, m, pr.Node(), by, truth, got, proba, n)
	return it, true, err
}

// keepFields emits the columns of the query, except those with the name of an output: a relation with two
// columns of the same name could not be used, and readers of the output must not find the other column.
func keepFields(pr *query.Projector, rl *scope.Item, fields, outputs []scope.Column) {
	for _, f := range fields {
		if slices.ContainsFunc(outputs, func(o scope.Column) bool { return o.Name == f.Name }) {
			continue
		}
		c := pr.Emit(f.Expr, f.Name)
		rl.Cols = append(rl.Cols, scope.Column{Name: f.Name, Expr: scope.Col(c), Table: f.Table, Num: f.Num})
	}
}
