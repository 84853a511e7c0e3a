package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The ml relations of models of several targets: results for one target are in a column of its
// name, or in a row with its name in column target.

// targetScores returns the columns of ml.predict for each of several targets, beside rows of these
// fields.
func targetScores(sc *scope.Scope, m *model, fields []scope.Column, pos typing.Position) (scores []scope.Column, err error) {
	add := func(p *model, mode expr.PredictMode, name string) error {
		e, err := applyModel(sc, p, mode, fields, false, pos)
		scores = append(scores, scope.Column{Name: name, Expr: e})
		return err
	}
	for _, p := range m.parts() {
		if err := add(p, expr.PredictValue, p.v.Outputs[0].Name); err != nil {
			return nil, err
		}
	}
	for _, p := range m.classifiers() {
		if err := add(p, expr.PredictProba, "predicted_"+p.v.Target[0]+"_proba"); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// explained returns the columns that ml.explain_predict adds to predictions.
func explained(sc *scope.Scope, m *model, fields []scope.Column, pos typing.Position) (scores []scope.Column, err error) {
	of, suffix := m.parts(), func(p *model) string { return "_" + p.v.Target[0] }
	if of == nil {
		of, suffix = []*model{m}, func(*model) string { return "" }
	}
	for _, p := range of {
		for _, c := range []struct {
			name string
			mode expr.PredictMode
		}{{"top_feature_attributions", expr.PredictAttributions}, {"baseline_prediction_value", expr.PredictBaseline}, {"prediction_value", expr.PredictMargin}} {
			e, err := applyModel(sc, p, c.mode, fields, false, pos)
			if err != nil {
				return nil, err
			}
			scores = append(scores, scope.Column{Name: c.name + suffix(p), Expr: e})
		}
	}
	return scores, nil
}

// evaluateTargets binds ml.evaluate('model', (query)), with a row for each target. Metrics that do not apply
// to a target are NULL.
func evaluateTargets(sc *scope.Scope, m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction) (scope.FromItem, error) {
	const none = "NULL::float8"
	var sums, checks, rows, cols []string
	classes, numbers := m.classifiers(), len(m.classifiers()) < len(m.v.Target)
	for i, p := range m.parts() {
		t, cast := "q."+lex.QuoteIdent(p.v.Target[0]), ""
		if sc.Binder.IsEnum(p.v.TargetType.OID) {
			t, cast = t+"::text", "::text"
		}
		sum := func(f, arg, cast string) string {
			sums = append(sums, fmt.Sprintf("%s(%s, q.%s%s) AS %s%d", f, t, lex.QuoteIdent(arg), cast, f, i))
			return fmt.Sprintf("s.%s%d", f, i)
		}
		row := []string{lex.QuoteLiteral(p.v.Target[0]), none + "[]", none, none, none + "[]"}
		if classifies(p.v) {
			positive := ""
			if len(p.v.Classes) == 2 {
				positive = ", " + lex.QuoteLiteral(p.v.Classes[1])
			}
			row[1] = sum("ml_classification", p.v.Outputs[0].Name, cast+positive)
			score := "predicted_" + p.v.Target[0] + "_proba"
			if measures(sc.Binder, "roc_auc", p) {
				row[3] = sum("roc_auc", score, "")
			}
			if len(p.v.Classes) >= 2 && measures(sc.Binder, "log_loss", p, p.classArray()) {
				sums = append(sums, fmt.Sprintf("log_loss(%s, q.%s, ARRAY[%s]) AS log_loss%d", t, lex.QuoteIdent(score), quoted(p.v.Classes), i))
				row[2] = fmt.Sprintf("s.log_loss%d", i)
			}
			if check := checkTarget(sc.Binder, p, t, i); check != "" {
				sums = append(sums, check)
				checks = append(checks, fmt.Sprintf("ml_check_labels(coalesce(s.k%d, true), %s, %s)", i, lex.QuoteLiteral(m.name), lex.QuoteLiteral(strings.Join(p.v.Classes, ", "))))
			}
		} else {
			row[4] = sum("ml_regression", p.v.Outputs[0].Name, "")
		}
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	if classes != nil {
		for i, c := range fn.ClassMetrics {
			if cols = append(cols, fmt.Sprintf("r.c[%d] AS %s", i+1, c)); c == "f1_score" {
				cols = append(cols, "r.log_loss", "r.roc_auc")
			}
		}
	}
	if numbers {
		for i, c := range fn.RegressionMetrics {
			cols = append(cols, fmt.Sprintf("r.n[%d] AS %s", i+1, c))
		}
	}
	keys, by := m.inFront("q")
	shown, _ := m.inFront("s")
	text := fmt.Sprintf("SELECT %sr.target, %s FROM (SELECT %s%s FROM ml.predict('', (SELECT 1)) AS q%s) AS s, LATERAL (VALUES %s) AS r(target, c, log_loss, roc_auc, n)",
		shown, strings.Join(cols, ", "), keys, strings.Join(sums, ", "), by, strings.Join(rows, ", "))
	if checks != nil {
		text += " WHERE " + strings.Join(checks, " AND ")
	}
	return overPredictions(sc, text, "evaluate", name, query, n)
}

// measures reports whether there is an aggregate of labels of a target and their
// probabilities.
func measures(b *scope.Binder, f string, m *model, more ...expr.Expr) bool {
	label := m.v.TargetType
	if b.IsEnum(label.OID) {
		label = types.Text
	}
	args := append([]expr.Expr{&expr.Const{Typ: label}, &expr.Const{Typ: predictType(m.v, expr.PredictProba, 0)}}, more...)
	_, err := b.Resolve(&typing.Invocation{Name: f, Args: args, Names: make([]string, len(args))})
	return err == nil
}

// checkTarget returns the SQL of column k, which says whether a label is a class of a target, NULL if there
// are no labels. It returns "" if labels may be written in other ways, or if all labels are classes. See
// checkLabels.
func checkTarget(b *scope.Binder, m *model, label string, i int) string {
	switch t := m.v.TargetType; {
	case m.knowsAll():
		return ""
	case t.IsString(), t.IsInteger(), t.Form() == types.FormBool:
	default:
		return ""
	}
	return fmt.Sprintf("bool_or(%s::text IN (%s)) AS k%d", label, quoted(m.v.Classes), i)
}

func quoted(texts []string) string {
	list := make([]string, len(texts))
	for i, c := range texts {
		list[i] = lex.QuoteLiteral(c)
	}
	return strings.Join(list, ", ")
}

// confusionTargets binds ml.confusion_matrix('model', (query)): labels as text, for
// each target that is a class.
func confusionTargets(sc *scope.Scope, m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	var rows []string
	for _, p := range m.classifiers() {
		t := p.v.Target[0]
		rows = append(rows, fmt.Sprintf("(%s, q.%s::text, q.%s::text)", lex.QuoteLiteral(t), lex.QuoteIdent(t), lex.QuoteIdent(p.v.Outputs[0].Name)))
	}
	if rows == nil {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no confusion matrix: it predicts several numbers", m.name).At(pos.At())
	}
	keys, by := m.inFront("q")
	if by != "" {
		by = strings.TrimPrefix(by, " GROUP BY ") + ", "
	}
	text := "SELECT " + keys + "t.*, count(*) AS count FROM ml.predict('', (SELECT 1)) AS q, LATERAL (VALUES " + strings.Join(rows, ", ") +
		") AS t(target, expected_label, predicted_label) GROUP BY " + by + "t.target, t.expected_label, t.predicted_label"
	return overPredictions(sc, text, "confusion_matrix", name, query, n)
}

// storedTargets binds ml.evaluate('model'): the training's metrics of each target.
func storedTargets(sc *scope.Scope, parts []*model, n *ast.RangeFunction) (scope.FromItem, error) {
	rl := &scope.Item{Name: "evaluate"}
	v := &plan.Values{}
	put := func(name string, t types.Type) {
		c := sc.Binder.NewCol(sc.Level, name, t)
		v.Cols = append(v.Cols, c)
		rl.Cols = append(rl.Cols, scope.Column{Name: name, Expr: scope.Col(c)})
	}
	put("target", types.Text)
	var names []string
	for _, p := range parts {
		for _, x := range p.v.Metrics {
			if !slices.Contains(names, x.Name) {
				names = append(names, x.Name)
				put(x.Name, types.Float8)
			}
		}
	}
	for _, p := range parts {
		row := []expr.Expr{&expr.Const{Val: p.v.Target[0], Typ: types.Text}}
		for _, name := range names {
			c := &expr.Const{Typ: types.Float8}
			if at := slices.IndexFunc(p.v.Metrics, func(x catalog.NamedValue) bool { return x.Name == name }); at >= 0 {
				c.Val = types.FiniteOrNull(p.v.Metrics[at].Value)
			}
			row = append(row, c)
		}
		v.Rows = append(v.Rows, row)
	}
	return query.Finish(sc, v, rl, n.Alias, "table")
}

// storedGroups binds ml.evaluate('model') of a model with groups: the training's metrics of each group, and of each
// of several targets.
func storedGroups(sc *scope.Scope, m *model, name ast.Node, n *ast.RangeFunction) (scope.FromItem, error) {
	var names []string
	parts := m.parts()
	if parts == nil {
		parts = []*model{m}
	}
	for _, p := range parts {
		for _, x := range p.v.Metrics {
			if !slices.Contains(names, x.Name) {
				names = append(names, x.Name)
			}
		}
	}
	keys, _ := m.inFront("g")
	var rows []string
	for _, p := range parts {
		prefix, row := "", []string{"NULL::text"}
		if m.parts() != nil {
			prefix, row[0] = p.v.Target[0]+".", lex.QuoteLiteral(p.v.Target[0])
		}
		for _, x := range names {
			row = append(row, "(g.metrics->>"+lex.QuoteLiteral(prefix+x)+")::float8")
		}
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	cols := []string{"target"}
	for _, x := range names {
		cols = append(cols, lex.QuoteIdent(x))
	}
	shown := "t.*"
	if m.parts() == nil {
		shown = "t." + strings.Join(cols[1:], ", t.")
		if names == nil {
			shown = "NULL::float8 AS metric"
		}
	}
	text := "SELECT " + keys + shown + " FROM ml.model_groups('') AS g, LATERAL (VALUES " + strings.Join(rows, ", ") + ") AS t(" + strings.Join(cols, ", ") + ") WHERE g.state = 'trained'"
	return overPredictions(sc, text, "evaluate", name, nil, n)
}
