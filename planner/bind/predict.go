package bind

import (
	"sort"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// predict binds predict('m', row) and predict('m', a => 1, b => 2), and their
// _proba forms. Features are bound by name.
func (sc *scope) predict(name string, args []ast.Node, p place) (expr.Expr, error) {
	b := sc.b
	pos := b.spotFunc(name)
	if len(args) < 2 {
		return nil, pgerr.New(pgerr.UndefinedFunction, "%s needs a model's name and its features", name).
			WithHint("Write %s('model', t) with a row of t, or %s('model', feature => value, …).", name, name).At(pos.at())
	}
	m, err := sc.model(args[0], name)
	if err != nil {
		return nil, err
	}
	if m.v.Windows != nil {
		return nil, pgerr.Unsupported("model \"%s\" predicts windows of rows, not rows", m.name).
			WithHint("Use ml.predict('%s', (SELECT …)), which gives a row a window.", m.name).At(pos.at())
	}
	mode, class := expr.PredictValue, 0
	if name == "predict_proba" {
		mode = expr.PredictProba
		if class, err = b.classOf(m, args[1]); err != nil {
			return nil, err
		}
		if class > 0 {
			args = args[1:]
			if len(args) < 2 {
				return nil, pgerr.New(pgerr.UndefinedFunction, "predict_proba needs the features too").
					WithHint("Write predict_proba('model', 'class', t) with a row of t, or predict_proba('model', 'class', feature => value, …).").At(pos.at())
			}
		}
	}
	apply := func(fields []relCol, exact bool) (expr.Expr, error) {
		e, err := sc.applyModel(m, mode, fields, exact, pos)
		if p, ok := e.(*expr.Predict); ok && class > 0 {
			p.Output, p.Typ = class, types.Float8
		}
		return e, err
	}
	if _, named := args[1].(*ast.NamedArgExpr); !named && len(args) == 2 {
		row, err := sc.expr(args[1], p)
		if err != nil {
			return nil, err
		}
		fields, ok := rowFields(row)
		if !ok {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "%s needs a row, not a value of type %s", name, b.typeName(row.Type())).
				WithHint("Write %s('model', t) with a row of t, or %s('model', feature => value, …).", name, name).At(b.posExpr(args[1]))
		}
		for i := range fields {
			// A subquery's plan may stand once only: each field binds its own.
			if i > 0 && hasSubquery(row) {
				if row, err = sc.expr(args[1], p); err != nil {
					return nil, err
				}
				again, _ := rowFields(row)
				fields[i] = again[i]
			}
		}
		return apply(fields, false)
	}
	var fields []relCol
	for _, a := range args[1:] {
		na, ok := a.(*ast.NamedArgExpr)
		if !ok {
			return nil, pgerr.New(pgerr.SyntaxError, "the features of %s are given by name", name).
				WithHint("Write %s('model', feature => value, …).", name).At(b.posExpr(a))
		}
		e, err := sc.expr(na.Arg, p)
		if err != nil {
			return nil, err
		}
		fields = append(fields, relCol{name: na.Name, e: e})
	}
	return apply(fields, true)
}

// classOf reads the class that predict_proba is asked for, a literal after the
// model: its number from 1, or 0 where n is no literal.
func (b *binder) classOf(m *model, n ast.Node) (int, error) {
	lit := unparen(n)
	if cast, ok := lit.(*ast.TypeCast); ok {
		lit = unparen(cast.Arg) // true is 't'::bool
	}
	c, ok := lit.(*ast.A_Const)
	switch {
	case !ok:
		return 0, nil
	case m.classifiers() != nil:
		return 0, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has several targets: a class of which one is not said", m.name).
			WithHint("Write (predict_proba('%s', t)).%s.", m.name, m.classifiers()[0].v.Target[0]).At(b.posExpr(n))
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
		WithDetail("Its classes are %s.", strings.Join(m.v.Classes, ", ")).At(b.posExpr(n))
}

// rowFields are the fields of a record by name.
func rowFields(row expr.Expr) ([]relCol, bool) {
	if c, ok := row.(*expr.Case); ok && c.Typ.OID == types.RecordOID && c.Else != nil {
		row = c.Else // a row that an outer join may leave out: its columns are NULL then
	}
	t := row.Type()
	if t.OID != types.RecordOID || t.Rec == nil {
		return nil, false
	}
	out := make([]relCol, len(t.Rec.Fields))
	for i, f := range t.Rec.Fields {
		out[i] = relCol{name: f.Name, e: fieldOf(row, i, f.Type)}
	}
	return out, true
}

// applyModel binds a model's features to the fields of these names. With
// exact, a field that is no feature is an error.
func (sc *scope) applyModel(m *model, mode expr.PredictMode, fields []relCol, exact bool, pos spot) (expr.Expr, error) {
	b := sc.b
	if mode == expr.PredictProba && !classifies(m.v) && m.classifiers() == nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "model \"%s\" gives no probabilities: its algorithm is %s", m.name, m.v.Algorithm).At(pos.at())
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
			return nil, pgerr.New(pgerr.AmbiguousColumn, "the feature \"%s\" of model \"%s\" is given more than once", f.Name, m.name).At(pos.at())
		}
		used[at] = true
		e := fields[at].e
		if !b.canCoerce(e.Type().OID, f.Type.OID, fn.AssignmentCast) {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "the feature \"%s\" of model \"%s\" is of type %s but the value is of type %s",
				f.Name, m.name, b.typeName(f.Type), b.typeName(e.Type())).At(pos.at())
		}
		want := f.Type
		want.Mod = -1
		if !stringCarried(e.Type().OID) || !stringCarried(want.OID) {
			var err error
			if e, err = b.coerce(e, want, fn.AssignmentCast, spot{}); err != nil {
				return nil, err
			}
		}
		features = append(features, b.recarry(e, want))
	}
	if len(missing) > 0 {
		return nil, pgerr.New(pgerr.UndefinedColumn, "model \"%s\" needs the feature \"%s\", which is not among the columns", m.name, strings.Join(missing, "\", \"")).
			WithDetail("The model's features are %s.", featureList(m.v)).At(pos.at())
	}
	if exact {
		for i, f := range fields {
			if !used[i] {
				return nil, pgerr.New(pgerr.UndefinedColumn, "model \"%s\" has no feature \"%s\"", m.name, f.name).
					WithDetail("The model's features are %s.", featureList(m.v)).At(pos.at())
			}
		}
	}
	var err error
	p.Args, err = sc.inputs(m, features, pos)
	return p, err
}

// findField gives the field of this name, in any case where none has it as it
// is, and how many there are.
func findField(fields []relCol, name string) (at, n int) {
	at = -1
	for i, f := range fields {
		if f.name == name {
			at, n = i, n+1
		}
	}
	if n == 0 {
		for i, f := range fields {
			if strings.EqualFold(f.name, name) {
				at, n = i, n+1
			}
		}
	}
	return at, n
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
	case expr.PredictAttributions:
		return types.JSONB
	case expr.PredictBaseline, expr.PredictMargin:
		return types.Float8
	case expr.PredictTimes, expr.PredictSurvival:
		t, _ := types.ArrayOf(types.Float8)
		return t
	case expr.PredictProba:
		if len(v.Classes) > 2 {
			t, _ := types.ArrayOf(types.Float8)
			return t
		}
		return types.Float8
	}
	t := plainNumeric(v.Outputs[output].Type)
	t.Mod = -1
	return t
}

// mlRelation binds the relations that are made of a query and a model; ok is
// false for other names.
func (sc *scope) mlRelation(name string, n *ast.RangeFunction, fc *ast.FuncCall) (fromItem, bool, error) {
	switch name {
	case "predict", "evaluate", "confusion_matrix", "roc_curve", "explain_predict", "survival":
	default:
		return fromItem{}, false, nil
	}
	b := sc.b
	args := items(fc.Args)
	pos := b.spotFunc(name)
	full := "ml." + name
	if len(args) == 0 || len(args) > 2 || len(args) == 1 && name != "evaluate" {
		return fromItem{}, true, pgerr.New(pgerr.UndefinedFunction, "%s takes a model's name and a query", full).
			WithHint("Write %s('model', (SELECT …)).", full).At(pos.at())
	}
	m, err := sc.model(args[0], full)
	if err != nil {
		return fromItem{}, true, err
	}
	parts := m.parts()
	if len(args) == 1 && parts != nil {
		it, err := sc.storedTargets(parts, n)
		return it, true, err
	}
	if len(args) == 1 {
		it, err := sc.storedMetrics(m, n)
		return it, true, err
	}
	sub, ok := unparen(args[1]).(*ast.SubLink)
	if !ok || sub.SubLinkType != ast.EXPR_SUBLINK {
		return fromItem{}, true, pgerr.New(pgerr.SyntaxError, "the second argument of %s is a query in parentheses", full).At(b.posExpr(args[1]))
	}
	switch {
	case name == "evaluate" && parts != nil:
		it, err := sc.evaluateTargets(m, args[0], sub, n)
		return it, true, err
	case name == "confusion_matrix" && parts != nil:
		it, err := sc.confusionTargets(m, args[0], sub, n, pos)
		return it, true, err
	case name == "roc_curve":
		it, err := sc.rocCurve(m, args[0], sub, n, pos)
		return it, true, err
	}
	r, err := sc.query(sub.Subselect.(*ast.SelectStmt), inFromClause, true)
	if err != nil {
		return fromItem{}, true, err
	}
	var fields []relCol
	for _, c := range r.out {
		fields = append(fields, relCol{name: c.Name, e: col(c.Column), table: c.Table, num: c.Num})
		b.st.owner[c.ID] = sc.lv
		delete(b.st.kind, c.ID)
	}
	if name == "survival" {
		it, err := sc.survival(m, r.node, fields, n, pos)
		return it, true, err
	}
	value, err := sc.applyModel(m, expr.PredictValue, fields, false, pos)
	if err != nil {
		return fromItem{}, true, err
	}
	var proba expr.Expr
	if parts == nil && classifies(m.v) {
		if proba, err = sc.applyModel(m, expr.PredictProba, fields, false, pos); err != nil {
			return fromItem{}, true, err
		}
	}
	label := ""
	if len(m.v.Target) > 0 {
		label = m.v.Target[0]
	}
	if name != "predict" && name != "explain_predict" && (label == "" || m.v.Task == catalog.TaskTimeToEvent) {
		return fromItem{}, true, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no target to compare its predictions with", m.name).
			WithHint("Its task is %s; ml.evaluate('%s') gives what its training measured.", m.v.Task, m.name).At(pos.at())
	}
	scores := []relCol{{name: m.v.Outputs[0].Name, e: value}}
	if value.Type().OID == types.RecordOID { // each by itself, as a table can have them
		scores = nil
	}
	ofParts, err := sc.targetScores(m, fields, pos)
	if err != nil {
		return fromItem{}, true, err
	}
	scores = append(scores, ofParts...)
	for i, o := range m.v.Outputs[1:] {
		if parts != nil {
			break
		}
		e, err := sc.applyModel(m, expr.PredictValue, fields, false, pos)
		if err != nil {
			return fromItem{}, true, err
		}
		p := e.(*expr.Predict)
		p.Output, p.Typ = i+1, predictType(m.v, expr.PredictValue, i+1)
		scores = append(scores, relCol{name: o.Name, e: p})
	}
	if proba != nil {
		scores = append(scores, relCol{name: "predicted_" + label + "_proba", e: proba})
	}
	if name == "explain_predict" {
		explained, err := sc.explained(m, fields, pos)
		if err != nil {
			return fromItem{}, true, err
		}
		scores = append(scores, explained...)
	}
	node := r.node
	if m.v.Windows != nil {
		if name == "explain_predict" {
			return fromItem{}, true, pgerr.Unsupported("predictions of windows cannot be explained").At(pos.at())
		}
		if node, err = sc.overWindows(m, node, fields, scores, pos); err != nil {
			return fromItem{}, true, err
		}
	}
	pr := newProjector(b, sc.lv, node)
	rl := &rel{name: name}
	for _, f := range fields {
		c := pr.emit(f.e, f.name)
		rl.cols = append(rl.cols, relCol{name: f.name, e: col(c), table: f.table, num: f.num})
	}
	for i, s := range scores {
		c := pr.emit(s.e, s.name)
		scores[i].e = col(c)
		rl.cols = append(rl.cols, relCol{name: s.name, e: col(c)})
	}
	got := scores[0].e
	if proba != nil {
		proba = scores[len(m.v.Outputs)].e
	}
	if name == "predict" || name == "explain_predict" {
		it, err := sc.finish(pr.node(), rl, n.Alias, "table")
		return it, true, err
	}
	var truth expr.Expr
	for _, f := range fields {
		if f.name == label {
			truth = f.e
		}
	}
	if truth == nil {
		return fromItem{}, true, pgerr.New(pgerr.UndefinedColumn, "%s needs the label \"%s\" of model \"%s\" among the columns", full, label, m.name).At(pos.at())
	}
	if name == "confusion_matrix" {
		it, err := sc.confusion(pr.node(), truth, got, n)
		return it, true, err
	}
	it, err := sc.evaluate(m, pr.node(), truth, got, proba, n)
	return it, true, err
}

// storedMetrics is ml.evaluate('m'): what training measured.
func (sc *scope) storedMetrics(m *model, n *ast.RangeFunction) (fromItem, error) {
	v := &plan.Values{Rows: [][]expr.Expr{{}}}
	rl := &rel{name: "evaluate"}
	for _, x := range m.v.Metrics {
		c := sc.b.newCol(sc.lv, x.Name, types.Float8)
		v.Cols = append(v.Cols, c)
		v.Rows[0] = append(v.Rows[0], &expr.Const{Val: x.Value, Typ: types.Float8})
		rl.cols = append(rl.cols, relCol{name: x.Name, e: col(c)})
	}
	return sc.finish(v, rl, n.Alias, "table")
}

// evaluate aggregates the metrics that fit the model over its predictions.
func (sc *scope) evaluate(m *model, node plan.Node, truth, got, proba expr.Expr, n *ast.RangeFunction) (fromItem, error) {
	b := sc.b
	for _, e := range []*expr.Expr{&truth, &got} {
		if !b.isEnum((*e).Type().OID) {
			continue
		}
		var err error
		if *e, err = b.coerce(*e, types.Text, fn.ExplicitCast, spot{}); err != nil {
			return fromItem{}, err
		}
	}
	a := &plan.Aggregate{Input: node}
	add := func(fun string, arg expr.Expr) (plan.Column, error) {
		inv := &invocation{name: fun, args: []expr.Expr{truth, arg}, names: make([]string, 2)}
		c, err := b.resolve(inv)
		if err != nil {
			return plan.Column{}, err
		}
		args, ret, err := b.bindArgs(c, inv)
		if err != nil {
			return plan.Column{}, err
		}
		nc := b.newCol(sc.lv, fun, ret)
		a.Aggs = append(a.Aggs, plan.AggItem{Col: nc, Call: expr.AggCall{Fn: c.f, Args: args, Typ: ret}})
		return nc, nil
	}
	fun, names := "ml_regression", fn.RegressionMeasures
	if proba != nil {
		fun, names = "ml_classification", fn.ClassMeasures
	}
	all, err := add(fun, got)
	if pgerr.Is(err, pgerr.UndefinedFunction) {
		err = pgerr.New(pgerr.DatatypeMismatch, "labels of type %s cannot be compared with predictions of type %s", b.typeName(truth.Type()), b.typeName(got.Type())).
			WithHint("Give the label \"%s\" the type that it had in training.", m.v.Target[0]).At(b.posFunc("evaluate"))
	}
	if err != nil {
		return fromItem{}, err
	}
	var ofProba []plan.Column
	if proba != nil {
		for _, fun := range []string{"log_loss", "roc_auc"} {
			c, err := add(fun, proba)
			switch {
			case err == nil:
				ofProba = append(ofProba, c)
			case !pgerr.Is(err, pgerr.UndefinedFunction): // there is none for labels of this type
				return fromItem{}, err
			}
		}
	}
	out, err := sc.checkLabels(m, a, truth)
	if err != nil {
		return fromItem{}, err
	}
	pr := newProjector(b, sc.lv, out)
	rl := &rel{name: "evaluate"}
	put := func(name string, e expr.Expr) {
		rl.cols = append(rl.cols, relCol{name: name, e: col(pr.emit(e, name))})
	}
	for i, name := range names {
		put(name, &expr.Subscript{Array: col(all), Index: &expr.Const{Val: int64(i + 1), Typ: types.Int4}, Typ: types.Float8})
		if name == "f1_score" {
			for _, c := range ofProba {
				put(c.Name, col(c))
			}
		}
	}
	return sc.finish(pr.node(), rl, n.Alias, "table")
}

// checkLabels puts a check over an evaluation of a classifier: labels of which the
// model knows none, such as 'yes' and 'no' for true and false, would pass for rows
// that are all wrong.
func (sc *scope) checkLabels(m *model, a *plan.Aggregate, truth expr.Expr) (plan.Node, error) {
	b := sc.b
	if t := m.v.TargetType; len(m.v.Classes) == 0 || !b.canCoerce(truth.Type().OID, t.OID, fn.ImplicitCast) {
		return a, nil
	}
	label, err := b.coerce(truth, predictType(m.v, expr.PredictValue, 0), fn.ImplicitCast, spot{})
	if err != nil {
		return nil, err
	}
	in := &expr.In{}
	for _, c := range m.v.Classes {
		class, err := b.coerce(&expr.Const{Val: c, Typ: types.Text}, label.Type(), fn.ExplicitCast, spot{})
		if err != nil {
			return nil, err
		}
		if in.Eq, in.Arg, class, err = b.equality(label, class, spot{}); err != nil {
			return nil, err
		}
		in.List = append(in.List, class)
	}
	counts := make([]expr.Expr, 2)
	for i, filter := range []expr.Expr{in, nil} {
		inv := &invocation{name: "count", args: []expr.Expr{truth}, names: make([]string, 1)}
		c, err := b.resolve(inv)
		if err != nil {
			return nil, err
		}
		nc := b.newCol(sc.lv, "count", types.Int8)
		a.Aggs = append(a.Aggs, plan.AggItem{Col: nc, Call: expr.AggCall{Fn: c.f, Args: []expr.Expr{truth}, Filter: filter, Typ: types.Int8}})
		counts[i] = col(nc)
	}
	text := func(s string) expr.Expr { return &expr.Const{Val: s, Typ: types.Text} }
	check, err := b.call("ml_check_labels", spot{}, counts[0], counts[1], text(m.name), text(strings.Join(m.v.Classes, ", ")))
	if err != nil {
		return nil, err
	}
	return &plan.Filter{Input: a, Conds: []expr.Expr{check}}, nil
}

// confusion counts the rows by true and predicted label.
func (sc *scope) confusion(node plan.Node, truth, got expr.Expr, n *ast.RangeFunction) (fromItem, error) {
	b := sc.b
	a := &plan.Aggregate{Input: node}
	rl := &rel{name: "confusion_matrix"}
	for i, e := range []expr.Expr{truth, got} {
		c := b.newCol(sc.lv, []string{"expected_label", "predicted_label"}[i], e.Type())
		a.Groups = append(a.Groups, plan.Item{Col: c, Expr: e})
		rl.cols = append(rl.cols, relCol{name: c.Name, e: col(c)})
	}
	for _, f := range fn.Lookup("count") {
		if len(f.Args) == 0 {
			c := b.newCol(sc.lv, "count", types.Int8)
			a.Aggs = append(a.Aggs, plan.AggItem{Col: c, Call: expr.AggCall{Fn: f, Star: true, Typ: types.Int8}})
			rl.cols = append(rl.cols, relCol{name: "count", e: col(c)})
		}
	}
	return sc.finish(a, rl, n.Alias, "table")
}
