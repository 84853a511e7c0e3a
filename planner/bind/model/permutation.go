package model

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// permutationQuery measures the model on the rows as they are, in repeat 0, and with one feature taken from another
// row. Rows are put into a random order, which depends on their values alone, so it is the same wherever they
// lie; in a repeat the feature is that of the row so many places on.
const permutationQuery = `WITH rows AS (SELECT r.*, row_number() OVER (ORDER BY md5(r::text)) - 1 AS "$place", count(*) OVER () AS "$count" FROM "$rows" AS r)
SELECT feature, max(score) FILTER (WHERE repeat = 0) - avg(score) FILTER (WHERE repeat > 0) AS importance_mean, stddev_pop(score) FILTER (WHERE repeat > 0) AS importance_std
FROM (SELECT t.place, t.feature, s.repeat, %[1]s AS score
  FROM rows AS r, (VALUES %[2]s) AS s(repeat, share), rows AS o, LATERAL (VALUES %[3]s) AS t(place, feature, predicted)
  WHERE o."$place" = (r."$place" + CASE WHEN s.repeat > 0 THEN 1 + floor(s.share * (r."$count" - 1))::int8 ELSE 0 END) %% r."$count"
  GROUP BY t.place, t.feature, s.repeat) AS p GROUP BY place, feature ORDER BY importance_mean DESC, place`

// The arguments of permutationImportance.
const (
	repeatsArgument = "n_repeats"
	seedArgument    = "random_state"
	mostRepeats     = 100
)

// permutationImportance binds ml.permutation_importance('model', (query)): by how much r2_score, or accuracy, falls if
// a feature is another row's (Breiman, "Random forests", 2001).
func permutationImportance(sc *scope.Scope, args []ast.Node, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	const full = "ml.permutation_importance"
	m, err := resolveModel(sc, args[0], full)
	if err != nil {
		return scope.FromItem{}, err
	}
	repeats, seed := int64(5), int64(0)
	for _, a := range []struct {
		name        string
		into        *int64
		least, most int64
	}{{repeatsArgument, &repeats, 1, mostRepeats}, {seedArgument, &seed, 0, 1<<63 - 1}} {
		var val ast.Node
		if args, val = take(args, a.name); val != nil {
			if *a.into, err = integer(sc, val, full, a.name, a.least, a.most); err != nil {
				return scope.FromItem{}, err
			}
		}
	}
	rows := queryOf(args, 1)
	if rows == nil || len(args) != 2 {
		return scope.FromItem{}, pgerr.New(pgerr.UndefinedFunction, "%s takes a model's name and a query", full).
			WithHint("Write %s('model', (SELECT …)); named arguments are %s, %s.", full, repeatsArgument, seedArgument).At(pos.At())
	}
	if m.parts() != nil || len(m.v.Target) == 0 || m.v.Task != catalog.TaskRegression && !classifies(m.v) || m.v.Windows != nil {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no permutation importance: it does not predict one number or class", m.name).At(pos.At())
	}
	score := "r2_score(r." + lex.QuoteIdent(m.v.Target[0]) + "::float8, t.predicted::float8)"
	if classifies(m.v) {
		score = "accuracy(r." + lex.QuoteIdent(m.v.Target[0]) + "::text, t.predicted::text)"
	}
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	shifts := []string{"(0, 0::float8)"}
	for i := range repeats {
		shifts = append(shifts, fmt.Sprintf("(%d, %v)", i+1, random.Float64()))
	}
	var cases []string
	for i, f := range m.v.Features {
		cases = append(cases, fmt.Sprintf("(%d, %s, predict('', %s))", i, lex.QuoteLiteral(f.Name), m.named(func(name string) string {
			if name == f.Name {
				return "o." + lex.QuoteIdent(name)
			}
			return "r." + lex.QuoteIdent(name)
		})))
	}
	text := fmt.Sprintf(permutationQuery, score, strings.Join(shifts, ", "), strings.Join(cases, ", "))
	it, err := overRows(sc, text, "permutation_importance", map[string]ast.Node{"": args[0]}, rows, n)
	return it, m.needs(full, err)
}

// named are the features and the keys of groups as arguments of predict.
func (m *model) named(value func(name string) string) string {
	var out []string
	for _, f := range m.v.Features {
		out = append(out, lex.QuoteIdent(f.Name)+" => "+value(f.Name))
	}
	for _, k := range m.groupKeys() {
		out = append(out, lex.QuoteIdent(k.Name)+" => "+value(k.Name))
	}
	return strings.Join(out, ", ")
}
