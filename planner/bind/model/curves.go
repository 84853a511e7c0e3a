package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// A curve is a relation over the scores of two classes: the query is its own, of the rows' scores and whether
// they hit. In it $scores is the query of scores and true labels, $by and $part are the columns in front, which
// distinguish several targets, groups and values of the argument by, $outer gives them their names, and $arg is the
// value of its own argument.
type curve struct {
	name, what string
	argument   string // of its own; "" for none
	query      string
}

// counted counts rows by score; cumulated, for each score, those whose score is at least that.
const (
	counted = `(SELECT $by score, (count(*) FILTER (WHERE hit))::float8 AS pos, (count(*) FILTER (WHERE NOT hit))::float8 AS neg
    FROM ($scores) AS r WHERE score IS NOT NULL AND hit IS NOT NULL GROUP BY $by score)`
	cumulated = ` FROM (SELECT $by score AS threshold, sum(pos) OVER w AS tp, sum(neg) OVER w AS fp, sum(pos) OVER ($part) AS p, sum(neg) OVER ($part) AS n
  FROM ` + counted + ` AS g WINDOW w AS ($part ORDER BY score DESC)) AS c ORDER BY $by c.threshold DESC`
)

var curves = []*curve{
	{name: "roc_curve", what: "ROC curve", query: `SELECT $outer threshold, tp / NULLIF(p, 0) AS recall, fp / NULLIF(n, 0) AS false_positive_rate,
  tp::int8 AS true_positives, fp::int8 AS false_positives, (n - fp)::int8 AS true_negatives, (p - tp)::int8 AS false_negatives` + cumulated},
	{name: "pr_curve", what: "curve of precision and recall", query: `SELECT $outer threshold, tp / (tp + fp) AS precision, tp / NULLIF(p, 0) AS recall,
  tp::int8 AS true_positives, fp::int8 AS false_positives, (p - tp)::int8 AS false_negatives` + cumulated},
	{name: "threshold_metrics", what: "thresholds", argument: "thresholds", query: `SELECT $outer threshold, (tp + n - fp) / (p + n) AS accuracy,
  coalesce(tp / NULLIF(tp + fp, 0), 0) AS precision, tp / NULLIF(p, 0) AS recall, coalesce(2 * tp / NULLIF(tp + fp + p, 0), 0) AS f1_score,
  (n - fp) / NULLIF(n, 0) AS specificity, (tp / NULLIF(p, 0) + (n - fp) / NULLIF(n, 0)) / 2 AS balanced_accuracy,
  tp::int8 AS true_positives, fp::int8 AS false_positives, (n - fp)::int8 AS true_negatives, (p - tp)::int8 AS false_negatives
FROM (SELECT $by t.threshold, coalesce(sum(pos) FILTER (WHERE b >= t.place), 0) AS tp, coalesce(sum(neg) FILTER (WHERE b >= t.place), 0) AS fp, sum(pos) AS p, sum(neg) AS n
  FROM (SELECT $by width_bucket(score, $arg) AS b, sum(pos) AS pos, sum(neg) AS neg FROM ` + counted + ` AS s GROUP BY $by width_bucket(score, $arg)) AS g,
    unnest($arg) WITH ORDINALITY AS t(threshold, place) GROUP BY $by t.threshold) AS c ORDER BY $by c.threshold`},
	// As scikit-learn's, with bins of equal width: a probability between two bins is in the lower one.
	{name: "calibration_curve", what: "calibration curve", argument: "bins", query: `SELECT $outer bin, mean AS prob_pred, pos / (pos + neg) AS prob_true, (pos + neg)::int8 AS count
FROM (SELECT $by greatest(ceil(score * $arg), 1)::int8 AS bin, sum(score * (pos + neg)) / sum(pos + neg) AS mean, sum(pos) AS pos, sum(neg) AS neg
  FROM ` + counted + ` AS s GROUP BY $by greatest(ceil(score * $arg), 1)::int8) AS g ORDER BY $by g.bin`},
	// Rows of the same score are in the same bin, that of the first of them.
	{name: "lift", what: "lift", argument: "bins", query: `SELECT $outer bin, threshold, count::int8 AS count, pos::int8 AS positives, pos / count AS positive_rate,
  pos * total / NULLIF(p * count, 0) AS lift, counted / total AS population, found / NULLIF(p, 0) AS gain, found * total / NULLIF(p * counted, 0) AS cumulative_lift
FROM (SELECT $by bin, threshold, count, pos, sum(count) OVER w AS counted, sum(pos) OVER w AS found, sum(count) OVER ($part) AS total, sum(pos) OVER ($part) AS p
  FROM (SELECT $by bin, min(score) AS threshold, sum(pos + neg) AS count, sum(pos) AS pos
    FROM (SELECT $by score, pos, neg, (floor((sum(pos + neg) OVER ($part ORDER BY score DESC) - pos - neg) * $arg / sum(pos + neg) OVER ($part)) + 1)::int8 AS bin
      FROM ` + counted + ` AS s) AS s GROUP BY $by bin) AS b
  WINDOW w AS ($part ORDER BY bin)) AS c ORDER BY $by c.bin`},
}

func curveOf(name string) *curve {
	for _, c := range curves {
		if c.name == name {
			return c
		}
	}
	return nil
}

// The named arguments of curves.
const (
	binsArgument       = "bins"
	thresholdsArgument = "thresholds"
	mostBins           = 1000
)

// value is the SQL of the curve's own argument, as it is given or by default.
func (c *curve) value(sc *scope.Scope, given ast.Node) (string, error) {
	full := "ml." + c.name
	switch c.argument {
	case binsArgument:
		bins := int64(10)
		if given != nil {
			var err error
			if bins, err = integer(sc, given, full, binsArgument, 2, mostBins); err != nil {
				return "", err
			}
		}
		return strconv.FormatInt(bins, 10), nil
	case thresholdsArgument:
		var list []float64
		for i := range 19 {
			list = append(list, float64(i+1)/20)
		}
		if given != nil {
			d, err := constant(sc, given, full)
			if err != nil {
				return "", err
			}
			a, ok := d.(types.Array)
			list = nil
			for _, e := range a.Elems {
				v, number := types.Float(e)
				ok = ok && number && v >= 0 && v <= 1
				list = append(list, v)
			}
			if !ok || len(list) == 0 || len(list) > mostBins {
				return "", pgerr.New(pgerr.InvalidParameterValue, "the argument thresholds of %s is an array of at most %d probabilities, from 0 to 1", full, mostBins).At(sc.Binder.PosExpr(given))
			}
			slices.Sort(list)
			list = slices.Compact(list)
		}
		texts := make([]string, len(list))
		for i, v := range list {
			texts[i] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		return "'{" + strings.Join(texts, ",") + "}'::float8[]", nil
	}
	return "", nil
}

// bind binds ml.roc_curve('model', (query)) and its like.
func (c *curve) bind(sc *scope.Scope, m *model, name ast.Node, query *ast.SubLink, value string, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	parts, front := m.classifiers(), m.front()
	if m.parts() == nil {
		parts = []*model{m}
	} else {
		front = append(front, "target")
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
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no %s: it is not a classifier of two classes", m.name, c.what).At(pos.At())
	}
	keys, by, outer := "", "", ""
	for i, f := range front {
		name, key := lex.QuoteIdent(f), keyInside(i)
		if by, outer = by+key+", ", outer+key+" AS "+name+", "; i < len(m.front()) {
			keys += "q." + name + " AS " + key + ", "
		} else {
			keys += "t.target AS " + key + ", "
		}
	}
	predictions := "SELECT " + keys + scores[0] + " FROM ml.predict('', (SELECT 1)) AS q"
	if m.parts() != nil {
		predictions = "SELECT " + keys + "t.score, t.hit FROM ml.predict('', (SELECT 1)) AS q, LATERAL (VALUES " + strings.Join(of, ", ") + ") AS t(target, score, hit)"
	}
	part := ""
	if front != nil {
		part = "PARTITION BY " + strings.TrimSuffix(by, ", ") + " "
	}
	text := strings.NewReplacer("$scores", predictions, "$by ", by, "$outer ", outer, "$part ", part, "$part", part, "$arg", value).Replace(c.query)
	return overPredictions(sc, text, c.name, name, query, n)
}

// keyInside is the name of column i in front within a query, which no column of its own has: the user may call it score.
func keyInside(i int) string { return `"~by` + strconv.Itoa(i+1) + `"` }

// overPredictions binds a query that reads ml.predict, whose arguments are the
// caller's; or, without rows, ml.model_groups, whose argument is the model.
func overPredictions(sc *scope.Scope, text, alias string, name ast.Node, rows *ast.SubLink, n *ast.RangeFunction) (scope.FromItem, error) {
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil {
		return scope.FromItem{}, err
	}
	stmt := list[0].Node.(*ast.SelectStmt)
	aliases, put := query.Aliases(stmt), false
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
	return query.Within(sc, aliases, stmt, as)
}
