package model

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// rocQuery is the query behind ml.roc_curve. It returns a row for each threshold and counts the rows whose
// score is at least the threshold. $scores is replaced by the query of scores and true labels, and $by and
// $part distinguish several targets.
const rocQuery = `SELECT $by threshold, tp / NULLIF(p, 0) AS recall, fp / NULLIF(n, 0) AS false_positive_rate, tp::int8 AS true_positives,
  fp::int8 AS false_positives, (n - fp)::int8 AS true_negatives, (p - tp)::int8 AS false_negatives
FROM (SELECT $by score AS threshold, sum(pos) OVER w AS tp, sum(neg) OVER w AS fp, sum(pos) OVER ($part) AS p, sum(neg) OVER ($part) AS n
  FROM (SELECT $by score, (count(*) FILTER (WHERE hit))::float8 AS pos, (count(*) FILTER (WHERE NOT hit))::float8 AS neg
    FROM ($scores) AS r WHERE score IS NOT NULL AND hit IS NOT NULL GROUP BY $by score) AS g
  WINDOW w AS ($part ORDER BY score DESC)) AS c ORDER BY $by threshold DESC`

// rocCurve binds ml.roc_curve('model', (query)).
func rocCurve(sc *scope.Scope, m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	parts, by, part := m.classifiers(), "target, ", "PARTITION BY target "
	if m.parts() == nil {
		parts, by, part = []*model{m}, "", ""
	}
	var scores, of []string
	for _, p := range parts {
		if len(p.v.Classes) != 2 || len(p.v.Target) == 0 {
			continue
		}
		label := p.v.Target[0]
		score, hit := "q."+lex.QuoteIdent("predicted_"+label+"_proba"), "q."+lex.QuoteIdent(label)+" = "+lex.QuoteLiteral(p.v.Classes[1])
		scores = append(scores, score+" AS score, "+hit+" AS hit")
		of = append(of, "("+lex.QuoteLiteral(label)+", "+score+", "+hit+")")
	}
	if scores == nil {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no ROC curve: it is not a classifier of two classes", m.name).At(pos.At())
	}
	keys, _ := m.inFront("q")
	predictions := "SELECT " + keys + scores[0] + " FROM ml.predict('', (SELECT 1)) AS q"
	if by != "" {
		predictions = "SELECT " + keys + "t.* FROM ml.predict('', (SELECT 1)) AS q, LATERAL (VALUES " + strings.Join(of, ", ") + ") AS t(target, score, hit)"
	}
	if names := m.keyNames(); names != "" {
		by = names + ", " + by
		part = "PARTITION BY " + strings.TrimSuffix(by, ", ") + " "
	}
	return overPredictions(sc, strings.NewReplacer("$scores", predictions, "$by ", by, "$part ", part, "$part", part).Replace(rocQuery), "roc_curve", name, query, n)
}

// overPredictions binds a query that reads ml.predict, whose arguments are the
// caller's; or, without rows, ml.model_groups, whose argument is the model.
func overPredictions(sc *scope.Scope, text, alias string, name ast.Node, rows *ast.SubLink, n *ast.RangeFunction) (scope.FromItem, error) {
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil {
		return scope.FromItem{}, err
	}
	stmt := list[0].Node.(*ast.SelectStmt)
	put := false
	ast.Rewrite(stmt, func(c *ast.Cursor) bool {
		f, ok := c.Node().(*ast.FuncCall)
		if ok && rows == nil && parse.ConstText(f.Funcname.Items[len(f.Funcname.Items)-1]) == "model_groups" {
			f.Args.Items[0] = name
			put = true
			return false
		}
		if ok && f.Args != nil && len(f.Args.Items) == 2 {
			if _, sub := f.Args.Items[1].(*ast.SubLink); sub {
				f.Args.Items[0], f.Args.Items[1] = name, rows
				put = true
				return false
			}
		}
		return true
	}, nil)
	if !put {
		return scope.FromItem{}, pgerr.Internal("the query of ml.%s has no ml.predict", alias)
	}
	as := n.Alias
	if as == nil {
		as = ast.NewAlias(alias, nil)
	}
	return query.FromItem(sc, ast.NewRangeSubselect(false, stmt, as), nil)
}
