package model

import (
	"fmt"
	"slices"
	"strconv"
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
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ranking is a relation that has, for each row of a query, what a model ranks first.
type ranking struct {
	name, takes   string
	by            int // ml/family.RankBy
	score, prefix string
}

// The orders of ml/family.RankBy.
const (
	rankAll = iota
	rankUnseen
	rankSimilar
	rankNearest
)

var rankings = []ranking{
	{"recommend", "(SELECT user …)", rankAll, "score", ""},
	{"similar_items", "(SELECT item …)", rankSimilar, "score", "similar_"},
	{"neighbors", "(SELECT …)", rankNearest, "distance", ""},
}

// rankingOf returns the ranking of a relation's name, nil for others.
func rankingOf(name string) *ranking {
	if i := slices.IndexFunc(rankings, func(r ranking) bool { return r.name == name }); i >= 0 {
		return &rankings[i]
	}
	return nil
}

// The arguments of rankings.
const (
	kArgument      = "k"
	unseenArgument = "exclude_seen"
	mostRanked     = 10_000
)

// pair returns the features of a recommender that are users and items; ok is false for other models.
func (m *model) pair() (user, item catalog.ModelFeature, ok bool) {
	if m.v.Task != catalog.TaskRecommendation || len(m.v.Features) != 2 {
		return user, item, false
	}
	user, item = m.v.Features[0], m.v.Features[1]
	if strings.EqualFold(item.Name, m.beside("user_col")) {
		user, item = item, user
	}
	return user, item, true
}

// ranksItems reports whether the model's predictions are of implicit feedback: how items are ranked is what counts.
func (m *model) ranksItems() bool {
	return m.v.Task == catalog.TaskRecommendation && strings.HasSuffix(m.v.Outputs[0].Name, "_confidence")
}

// ranked binds ml.recommend('model', (query), k => 10, exclude_seen => true) and ml.similar_items: a row for each of the
// first k items for each row of the query.
func (r *ranking) ranked(sc *scope.Scope, m *model, args []ast.Node, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	none, full := scope.FromItem{}, "ml."+r.name
	user, item, ok := m.pair()
	what, hint := "recommends nothing", ""
	if r.by == rankNearest {
		ok, what = m.v.Task == catalog.TaskNeighborSearch, "finds no neighbors"
		hint = "; models whose task is " + catalog.TaskNeighborSearch + ", trained without PREDICT, find rows"
	}
	if !ok {
		return none, pgerr.New(pgerr.WrongObjectType, "model \"%s\" %s", m.name, what).WithHint("Its task is %s%s.", m.v.Task, hint).At(pos.At())
	}
	by := expr.Rank{By: r.by, K: 10}
	if r.by == rankNearest {
		by.K = 5
		if k, err := strconv.Atoi(strings.Trim(m.option("n_neighbors", "k"), "'")); err == nil {
			by.K = k
		}
	}
	args, val := take(args, kArgument)
	if val != nil {
		k, err := integer(sc, val, full, kArgument, 1, mostRanked)
		if err != nil {
			return none, err
		}
		by.K = int(k)
	}
	named := "a named argument is " + kArgument
	if r.by == rankAll {
		named = "named arguments are " + kArgument + ", " + unseenArgument
		if args, val = take(args, unseenArgument); val != nil {
			d, err := constant(sc, val, full)
			if err != nil {
				return none, err
			}
			unseen, ok := d.(bool)
			if !ok {
				return none, pgerr.New(pgerr.DatatypeMismatch, "the argument %s of %s is true or false", unseenArgument, full).At(sc.Binder.PosExpr(val))
			}
			if unseen {
				by.By = rankUnseen
			}
		}
	}
	sub := queryOf(args, 1)
	if len(args) == 1 && r.by != rankNearest {
		of := user
		if r.by == rankSimilar {
			of = item
		}
		var err error
		if sub, err = m.everyone(sc, of, args[0]); err != nil {
			return none, err
		}
	}
	if sub == nil || len(args) > 2 {
		return none, pgerr.New(pgerr.UndefinedFunction, "%s takes a model's name and a query", full).
			WithHint("Write %s('model', %s); %s.", full, r.takes, named).At(pos.At())
	}
	q, err := query.Bind(sc, sub.Subselect.(*ast.SelectStmt), scope.InFromClause, true)
	if err != nil {
		return none, err
	}
	fields := fieldsOf(sc, q)
	of, absent, value := user, item, item // what the query says, what it does not, and what is ranked
	switch r.by {
	case rankSimilar:
		of, absent = item, user
	case rankNearest:
		whole := slices.Clone(fields)
		value = catalog.ModelFeature{Name: "neighbor", Type: types.Int8}
		for _, f := range m.v.Features {
			if f.Name != m.v.Beside {
				continue
			}
			value.Type = f.Type
			whole = slices.DeleteFunc(whole, func(c scope.Column) bool { return c.Name == f.Name })
			whole = append(whole, scope.Column{Name: f.Name, Expr: &expr.Const{Typ: f.Type}})
		}
		return r.lists(sc, m, q.Node, fields, whole, value, by, n, pos)
	}
	if _, found := findField(fields, absent.Name); found > 0 {
		return none, pgerr.New(pgerr.InvalidParameterValue, "the query of %s has the column \"%s\"", full, absent.Name).
			WithHint("It says for whom: SELECT %s …. Use ml.predict for pairs of both.", lex.QuoteName(of.Name)).At(pos.At())
	}
	whole := append(slices.Clone(fields), scope.Column{Name: absent.Name, Expr: &expr.Const{Typ: absent.Type}})
	value.Name = r.prefix + value.Name
	return r.lists(sc, m, q.Node, fields, whole, value, by, n, pos)
}

// everyone is the query of all users, or items, that a recommender knows: ml.weights lists them. name is its argument.
func (m *model) everyone(sc *scope.Scope, of catalog.ModelFeature, name ast.Node) (*ast.SubLink, error) {
	keys := ""
	for _, k := range m.groupKeys() {
		keys += "q." + lex.QuoteIdent(k.Name) + ", "
	}
	return asked(fmt.Sprintf("SELECT %sq.class::%s AS %s FROM ml.weights('') AS q WHERE q.feature = %s",
		keys, sc.Binder.TypeName(of.Type), lex.QuoteIdent(of.Name), lex.QuoteLiteral(of.Name+"[1]")), name)
}

// asked parses a query of a relation of models; name takes the place of the relation's first argument.
func asked(text string, name ast.Node) (*ast.SubLink, error) {
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	sel := list[0].Node.(*ast.SelectStmt)
	ast.Rewrite(sel, func(c *ast.Cursor) bool {
		if f, ok := c.Node().(*ast.FuncCall); ok {
			f.Args.Items[0] = name
			return false
		}
		return true
	}, nil)
	return ast.NewSubLink(ast.EXPR_SUBLINK, sel), nil
}

// fieldsOf are the columns of a query that is a relation's argument.
func fieldsOf(sc *scope.Scope, q *scope.Query) (fields []scope.Column) {
	for _, c := range q.Out {
		fields = append(fields, scope.Column{Name: c.Name, Expr: scope.Col(c.Column), Table: c.Table, Num: c.Num})
		sc.Binder.Stmt.Owner[c.ID] = sc.Level
		delete(sc.Binder.Stmt.Kind, c.ID)
	}
	return fields
}

// lists has for each row with these fields, from whose whole the model ranks, a row for each value that is ranked, with
// its score and its rank.
func (r *ranking) lists(sc *scope.Scope, m *model, node plan.Node, fields, whole []scope.Column, value catalog.ModelFeature, by expr.Rank, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	b := sc.Binder
	list, ok := types.ArrayOf(value.Type)
	if !ok {
		return scope.FromItem{}, pgerr.Unsupported("ml.%s is not supported where the column \"%s\" is of this type", r.name, value.Name).At(pos.At())
	}
	scores, _ := types.ArrayOf(types.Float8)
	outputs := []scope.Column{{Name: value.Name}, {Name: r.score}, {Name: "rank"}}
	pr, rl := query.NewProjector(b, sc.Level, node), &scope.Item{Name: r.name}
	keepFields(pr, rl, fields, outputs)
	var calls []plan.SetCall
	call := func(name string, t types.Type, col string, args ...expr.Expr) {
		made := b.NewCol(sc.Level, col, t)
		f := fn.Lookup(name)
		at := slices.IndexFunc(f, func(f *fn.Func) bool { return len(f.Args) == len(args) })
		calls = append(calls, plan.SetCall{Fn: f[at], Args: args, Cols: []plan.Column{made}})
		rl.Cols = append(rl.Cols, scope.Column{Name: col, Expr: scope.Col(made)})
	}
	var first expr.Expr
	for i, x := range []struct {
		mode expr.PredictMode
		list types.Type
		elem types.Type
	}{{expr.PredictRanked, list, value.Type}, {expr.PredictScores, scores, types.Float8}} {
		e, err := applyModel(sc, m, x.mode, whole, false, pos)
		if err != nil {
			return scope.FromItem{}, err
		}
		p := e.(*expr.Predict)
		p.Typ, p.Rank = x.list, by
		col := scope.Col(pr.Emit(p, outputs[i].Name))
		if i == 0 {
			first = col
		}
		call("unnest", x.elem, outputs[i].Name, col)
	}
	call("generate_subscripts", types.Int4, outputs[2].Name, first, &expr.Const{Val: int64(1), Typ: types.Int4})
	return query.Finish(sc, &plan.ProjectSet{Input: pr.Node(), Calls: calls}, rl, n.Alias, "table")
}

// itemRanks binds ml.item_ranks('model', (query)): for each row, of a user and an item, the place of the item among
// those that are new to the user, and which share of the others comes before it.
func itemRanks(sc *scope.Scope, m *model, node plan.Node, fields []scope.Column, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	if _, _, ok := m.pair(); !ok {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" recommends nothing", m.name).WithHint("Its task is %s.", m.v.Task).At(pos.At())
	}
	outputs := []scope.Column{{Name: "item_rank"}, {Name: "percentile_rank"}}
	pr, rl := query.NewProjector(sc.Binder, sc.Level, node), &scope.Item{Name: "item_ranks"}
	keepFields(pr, rl, fields, outputs)
	for i, mode := range []expr.PredictMode{expr.PredictPlace, expr.PredictPercentile} {
		e, err := applyModel(sc, m, mode, fields, false, pos)
		if err != nil {
			return scope.FromItem{}, err
		}
		e.(*expr.Predict).Typ = types.Float8
		if i == 0 {
			if e, err = sc.Binder.Coerce(e, types.Int8, fn.AssignmentCast, typing.Position{}); err != nil {
				return scope.FromItem{}, err
			}
		}
		outputs[i].Expr = scope.Col(pr.Emit(e, outputs[i].Name))
	}
	rl.Cols = append(rl.Cols, outputs...)
	return query.Finish(sc, pr.Node(), rl, n.Alias, "table")
}

// evaluatedPlaces is how many places of a user's ranking an evaluation looks at.
const evaluatedPlaces = 10

// evaluateRanks returns the query of ml.evaluate of a model of implicit feedback: for each user, how those of the rows'
// items that have feedback are ranked among the items that are new to the user; and the means over users. average_rank is
// the expected percentile ranking of Hu, Koren and Volinsky (2008): a mean over rows, by their feedback. Items that are not
// new, each ranked among those that are, may have one rank: no place is given twice.
func (m *model) evaluateRanks() string {
	column := func(c string) string { return "q." + lex.QuoteIdent(c) }
	user, _, _ := m.pair()
	shown, over := m.inFront("g")
	var of, by []string
	for _, c := range append(m.front(), user.Name) {
		of, by = append(of, column(c)), append(by, "r."+lex.QuoteIdent(c))
	}
	return fmt.Sprintf(`SELECT %[1]savg(g.hits::float8 / %[2]d) AS precision_at_%[2]d, avg(g.hits::float8 / g.n) AS recall_at_%[2]d,
 avg(g.gain / least(g.n, %[2]d)) AS mean_average_precision,
 avg(g.dcg / (SELECT sum(ln(2) / ln(i + 1)) FROM generate_series(1, least(g.n, %[2]d)) AS i)) AS normalized_discounted_cumulative_gain,
 sum(g.before) / sum(g.feedback) AS average_rank
 FROM (SELECT %[3]s, count(*) AS n, count(*) FILTER (WHERE r.place <= %[2]d) AS hits,
  coalesce(sum(r.hit / r.place::float8) FILTER (WHERE r.place <= %[2]d), 0) AS gain,
  coalesce(sum(ln(2) / ln(r.place + 1)) FILTER (WHERE r.place <= %[2]d), 0) AS dcg,
  sum(r.feedback * r.percentile_rank) AS before, sum(r.feedback) AS feedback
  FROM (SELECT r.*, r.hit + max(r.item_rank - r.hit) OVER (PARTITION BY %[3]s ORDER BY r.hit) AS place
   FROM (SELECT %[4]s, q.item_rank, q.percentile_rank, %[5]s::float8 AS feedback, row_number() OVER (PARTITION BY %[4]s ORDER BY q.item_rank) AS hit
    FROM ml.item_ranks('', (SELECT 1)) AS q WHERE q.item_rank IS NOT NULL AND %[5]s > 0) AS r) AS r GROUP BY %[3]s) AS g%[6]s`,
		shown, evaluatedPlaces, strings.Join(by, ", "), strings.Join(of, ", "), column(m.v.Target[0]), over)
}
