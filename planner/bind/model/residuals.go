package model

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// residuals binds ml.residuals('model', (query)): the columns of ml.predict, and how far the numbers are from what
// is predicted.
func residuals(sc *scope.Scope, m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	parts, suffix := m.parts(), func(p *model) string { return "residual_" + p.v.Target[0] }
	if parts == nil {
		parts, suffix = []*model{m}, func(*model) string { return "residual" }
	}
	var cols []string
	for _, p := range parts {
		if p.v.Task == catalog.TaskRegression {
			cols = append(cols, "q."+lex.QuoteIdent(p.v.Target[0])+"::float8 - q."+lex.QuoteIdent(p.v.Outputs[0].Name)+"::float8 AS "+lex.QuoteIdent(suffix(p)))
		}
	}
	if cols == nil {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no residuals: it does not predict a number", m.name).
			WithHint("Its task is %s; ml.evaluate measures it.", m.v.Task).At(pos.At())
	}
	return overPredictions(sc, "SELECT q.*, "+strings.Join(cols, ", ")+" FROM ml.predict('', (SELECT 1)) AS q", "residuals", name, query, n)
}

// globalExplain binds ml.global_explain('model', (query)): the mean of the absolute attributions of each feature.
func globalExplain(sc *scope.Scope, m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction) (scope.FromItem, error) {
	keys, by := m.inFront("q")
	if by == "" {
		by = " GROUP BY "
	} else {
		by += ", "
	}
	target, lists := "", "(NULL::text, q.top_feature_attributions)"
	if parts := m.parts(); parts != nil {
		target = "t.target, "
		var rows []string
		for _, p := range parts {
			t := p.v.Target[0]
			rows = append(rows, "("+lex.QuoteLiteral(t)+", q."+lex.QuoteIdent("top_feature_attributions_"+t)+")")
		}
		lists = strings.Join(rows, ", ")
	}
	text := "SELECT " + keys + target + "e.feature, avg(abs(e.attribution)) AS attribution FROM ml.explain_predict('', (SELECT 1)) AS q, LATERAL (VALUES " + lists +
		") AS t(target, list), LATERAL jsonb_to_recordset(t.list) AS e(feature text, attribution float8)" + by + target + "e.feature ORDER BY " + strings.TrimPrefix(by, " GROUP BY ") + target + "attribution DESC, e.feature"
	return overPredictions(sc, text, "global_explain", name, query, n)
}
