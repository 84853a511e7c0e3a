package bind

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// rocQuery is what ml.roc_curve stands for: a row for each threshold, counting
// the rows whose score is not below it. $label, $proba and $positive are put in;
// the arguments of ml.predict are the caller's.
const rocQuery = `SELECT threshold, tp / NULLIF(p, 0) AS recall, fp / NULLIF(n, 0) AS false_positive_rate, tp::int8 AS true_positives,
  fp::int8 AS false_positives, (n - fp)::int8 AS true_negatives, (p - tp)::int8 AS false_negatives
FROM (SELECT score AS threshold, sum(pos) OVER w AS tp, sum(neg) OVER w AS fp, sum(pos) OVER () AS p, sum(neg) OVER () AS n
  FROM (SELECT score, (count(*) FILTER (WHERE hit))::float8 AS pos, (count(*) FILTER (WHERE NOT hit))::float8 AS neg
    FROM (SELECT q.$proba AS score, q.$label = $positive AS hit FROM ml.predict('', (SELECT 1)) AS q) AS r
    WHERE score IS NOT NULL AND hit IS NOT NULL GROUP BY score) AS g
  WINDOW w AS (ORDER BY score DESC)) AS c ORDER BY threshold DESC`

// rocCurve binds ml.roc_curve('model', (query)).
func (sc *scope) rocCurve(m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction, pos spot) (fromItem, error) {
	if len(m.v.Classes) != 2 || len(m.v.Target) == 0 {
		return fromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no ROC curve: it is not a classifier of two classes", m.name).At(pos.at())
	}
	label := m.v.Target[0]
	text := strings.NewReplacer("$label", lex.QuoteIdent(label), "$proba", lex.QuoteIdent("predicted_"+label+"_proba"),
		"$positive", lex.QuoteLiteral(m.v.Classes[1])).Replace(rocQuery)
	return sc.overPredictions(text, "roc_curve", name, query, n)
}

// overPredictions binds a query that reads ml.predict, whose arguments are the
// caller's.
func (sc *scope) overPredictions(text, alias string, name ast.Node, query *ast.SubLink, n *ast.RangeFunction) (fromItem, error) {
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil {
		return fromItem{}, err
	}
	stmt := list[0].Node.(*ast.SelectStmt)
	put := false
	ast.Rewrite(stmt, func(c *ast.Cursor) bool {
		if f, ok := c.Node().(*ast.FuncCall); ok && f.Args != nil && len(f.Args.Items) == 2 {
			if _, sub := f.Args.Items[1].(*ast.SubLink); sub {
				f.Args.Items[0], f.Args.Items[1] = name, query
				put = true
				return false
			}
		}
		return true
	}, nil)
	if !put {
		return fromItem{}, pgerr.Internal("the query of ml.%s has no ml.predict", alias)
	}
	as := n.Alias
	if as == nil {
		as = ast.NewAlias(alias, nil)
	}
	return sc.item(ast.NewRangeSubselect(false, stmt, as), nil)
}
