package model

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// overRows binds a query that reads the rows of the caller's query as "$rows", and calls models by the names of
// names, whose nodes are the caller's.
func overRows(sc *scope.Scope, text, alias string, names map[string]ast.Node, rows *ast.SubLink, n *ast.RangeFunction) (scope.FromItem, error) {
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil {
		return scope.FromItem{}, err
	}
	stmt := list[0].Node.(*ast.SelectStmt)
	aliases := query.Aliases(stmt)
	ast.Rewrite(stmt, func(c *ast.Cursor) bool {
		switch x := c.Node().(type) {
		case *ast.RangeVar:
			if x.RelName == "$rows" {
				c.Replace(ast.NewRangeSubselect(false, rows.Subselect, x.Alias))
				return false
			}
		case *ast.FuncCall:
			if x.Args == nil || len(x.Args.Items) == 0 {
				break
			}
			if lit, ok := x.Args.Items[0].(*ast.A_Const); ok {
				if s, ok := lit.Val.(*ast.String); ok && names[s.SVal] != nil {
					x.Args.Items[0] = names[s.SVal]
				}
			}
		}
		return true
	}, nil)
	as := n.Alias
	if as == nil {
		as = ast.NewAlias(alias, nil)
	}
	return query.Within(sc, aliases, stmt, as)
}

// compareQuery measures two models on the same rows: $rows has the label y, what is predicted, and for two classes
// or more the label's probability. The interval is that of the mean difference, of 95 % by the normal
// distribution. $shown are the columns in front by the names that they have inside, and $outer is what they become.
const compareQuery = `SELECT $outer metric, count, first, second, difference, standard_error,
  difference - 1.959963984540054 * standard_error AS lower_95, difference + 1.959963984540054 * standard_error AS upper_95
FROM (SELECT $shown t.metric, t.place, count(t.b - t.a) AS count, avg(t.a) AS first, avg(t.b) AS second, avg(t.b - t.a) AS difference,
    stddev_samp(t.b - t.a) / sqrt(count(t.b - t.a)) AS standard_error
  FROM ($scores) AS s, LATERAL (VALUES $measures) AS t(place, metric, a, b)
  WHERE t.a IS NOT NULL AND t.b IS NOT NULL GROUP BY $shown t.metric, t.place) AS m ORDER BY $shown m.place`

// compare binds ml.compare('model', 'other', (query)).
func compare(sc *scope.Scope, args []ast.Node, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	const full = "ml.compare"
	a, err := resolveModel(sc, args[0], full)
	if err != nil {
		return scope.FromItem{}, err
	}
	if args, err = takeBy(sc, a, args, full); err != nil {
		return scope.FromItem{}, err
	}
	takes := pgerr.New(pgerr.UndefinedFunction, "%s takes the names of two models and a query", full).
		WithHint("Write %s('model@1', 'model@2', (SELECT …)); a named argument is by.", full).At(pos.At())
	if len(args) != 3 {
		return scope.FromItem{}, takes
	}
	b, err := resolveModel(sc, args[1], full)
	if err != nil {
		return scope.FromItem{}, err
	}
	rows := queryOf(args, 2)
	if rows == nil {
		return scope.FromItem{}, takes
	}
	for _, m := range []*model{a, b} {
		if m.parts() != nil || len(m.v.Target) == 0 || m.v.Task != catalog.TaskRegression && !classifies(m.v) {
			return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" cannot be compared: it does not predict one number or class", m.name).At(pos.At())
		}
	}
	if a.v.Target[0] != b.v.Target[0] || classifies(a.v) != classifies(b.v) {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "models \"%s\" and \"%s\" do not predict the same", a.name, b.name).
			WithDetail("They predict \"%s\" and \"%s\".", a.v.Target[0], b.v.Target[0]).At(pos.At())
	}
	front, shown, outer := "", "", ""
	for i, f := range a.front() {
		key := keyInside(i)
		front, shown, outer = front+`"~q".`+lex.QuoteIdent(f)+" AS "+key+", ", shown+key+", ", outer+key+" AS "+lex.QuoteIdent(f)+", "
	}
	y := `"~q".` + lex.QuoteIdent(a.v.Target[0])
	scores := front + y + `::float8 AS y, predict('1', "~q")::float8 AS a, predict('2', "~q")::float8 AS b`
	measures := []string{"(1, 'mean_absolute_error', abs(s.y - s.a), abs(s.y - s.b))", "(2, 'mean_squared_error', (s.y - s.a) * (s.y - s.a), (s.y - s.b) * (s.y - s.b))"}
	if classifies(a.v) {
		of := func(m *model, name string) string {
			if len(m.v.Classes) == 2 {
				return "CASE " + y + "::text WHEN " + lex.QuoteLiteral(m.v.Classes[0]) + " THEN 1 - predict_proba('" + name + `', "~q") WHEN ` + lex.QuoteLiteral(m.v.Classes[1]) +
					" THEN predict_proba('" + name + `', "~q") END`
			}
			return "(predict_proba('" + name + `', "~q"))[array_position(ARRAY[` + quoted(m.v.Classes) + "], " + y + "::text)]"
		}
		scores = front + y + `::text AS y, predict('1', "~q")::text AS a, predict('2', "~q")::text AS b, ` + of(a, "1") + " AS pa, " + of(b, "2") + " AS pb"
		measures = []string{"(1, 'accuracy', (s.y = s.a)::int::float8, (s.y = s.b)::int::float8)", "(2, 'log_loss', -ln(greatest(s.pa, 2.220446049250313e-16)), -ln(greatest(s.pb, 2.220446049250313e-16)))"}
		if len(a.v.Classes) == 2 && len(b.v.Classes) == 2 {
			measures = append(measures, "(3, 'brier_score', (1 - s.pa) * (1 - s.pa), (1 - s.pb) * (1 - s.pb))")
		}
	}
	text := strings.NewReplacer("$shown ", shown, "$outer ", outer, "$scores", "SELECT "+scores+` FROM "$rows" AS "~q"`, "$measures", strings.Join(measures, ", ")).Replace(compareQuery)
	it, err := overRows(sc, text, "compare", map[string]ast.Node{"1": args[0], "2": args[1]}, rows, n)
	return it, a.needs(full, err)
}
