package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// beside returns the column that an evaluation needs beside the target; of a version from before it was
// kept what the statement gave as this option.
func (m *model) beside(option string) string {
	if m.v.Beside != "" {
		return m.v.Beside
	}
	return strings.Trim(m.option(option), `'"`)
}

// option returns the text of an option in the model's statement, by any of its names; "" for none.
func (m *model) option(names ...string) string {
	for _, o := range m.v.Options {
		if slices.Contains(names, strings.ToLower(o.Name)) {
			return o.Value
		}
	}
	return ""
}

// evaluateUnlabelled binds ml.evaluate('model', (query)) of a model whose predictions
// are not compared with a label row by row:
//
//	clustering      the distances of rows to their centroids, where there are some
//	time to event   Harrell's index of durations, events and risks
//	ranking         NDCG and the average precision of each query, and their means
//	implicit ratings  how items are ranked for each user
//	others          the mean of each number that is predicted for a row, such as an
//	                autoencoder's reconstruction error or a mixture's log density
func evaluateUnlabelled(sc *scope.Scope, m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	var cols []string
	column := func(c string) string { return "q." + lex.QuoteIdent(c) }
	measured := func(name string) bool {
		return slices.ContainsFunc(m.v.Outputs, func(o catalog.ModelFeature) bool { return o.Name == name })
	}
	switch {
	case m.v.Task == catalog.TaskClustering && measured("distance"):
		cols = []string{"sum(q.distance * q.distance) AS inertia", "avg(q.distance * q.distance) AS mean_squared_distance"}
	case m.v.Task == catalog.TaskTimeToEvent:
		if beside := m.beside("event"); beside != "" {
			risk := column(m.v.Outputs[0].Name)
			if m.v.Outputs[0].Name != "risk" { // a time: the later, the less at risk
				risk = "-" + risk
			}
			args := column(m.v.Target[0]) + "::float8, " + column(beside) + "::int <> 0, " + risk + ")"
			cols = []string{"concordance_index(" + args + " AS concordance", "concordance_index_ipcw(" + args + " AS concordance_ipcw"}
		}
	case m.v.Task == catalog.TaskRanking:
		label, score := column(m.v.Target[0])+"::float8", column(m.v.Outputs[0].Name)
		places := "10"
		if n, err := strconv.Atoi(strings.Trim(m.option("eval_at", "ndcg_eval_at"), "'")); err == nil {
			places = strconv.Itoa(n)
		}
		keys, by := m.inFront("q")
		shown, over := m.inFront("g")
		if by += ", "; over == "" {
			by = " GROUP BY "
		}
		of := "(SELECT " + keys + "ndcg(" + label + ", " + score + ", " + places + ") AS ndcg, CASE WHEN min(" + label + ") = 0 AND max(" + label +
			") > 0 THEN average_precision(" + label + " > 0, " + score + ") WHEN count(" + label + ") > 0 THEN 1 END AS map FROM ml.predict('', (SELECT 1)) AS q" + by +
			column(m.beside("query_id")) + ") AS g"
		it, err := overPredictions(sc, "SELECT "+shown+"avg(g.ndcg) AS ndcg, avg(g.map) AS map FROM "+of+over, "evaluate", name, query, n)
		return it, m.needs("ml.evaluate", err)
	case m.ranksItems():
		it, err := overPredictions(sc, m.evaluateRanks(), "evaluate", name, query, n)
		return it, m.needs("ml.evaluate", err)
	default:
		for _, o := range m.v.Outputs {
			if o.Type.OID == types.Float8OID {
				cols = append(cols, "avg("+column(o.Name)+") AS "+lex.QuoteIdent(o.Name))
			}
		}
	}
	if cols == nil {
		return scope.FromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has nothing to compare its predictions with", m.name).
			WithHint("Its task is %s; ml.evaluate('%s') gives what its training measured.", m.v.Task, m.name).At(pos.At())
	}
	keys, by := m.inFront("q")
	it, err := overPredictions(sc, "SELECT "+keys+strings.Join(cols, ", ")+" FROM ml.predict('', (SELECT 1)) AS q"+by, "evaluate", name, query, n)
	return it, m.needs("ml.evaluate", err)
}

// needs adds to the error for a column that does not exist which ones an evaluation needs.
func (m *model) needs(fun string, err error) error {
	columns := slices.Concat(m.v.Target, m.front())
	if m.v.Beside != "" {
		columns = append(columns, m.v.Beside)
	}
	if len(columns) == 0 || !pgerr.Is(err, pgerr.UndefinedColumn) {
		return err
	}
	noun := "columns"
	if len(columns) == 1 {
		noun = "column"
	}
	return pgerr.From(err).WithHint("Beside the features %s needs the %s \"%s\".", fun, noun, strings.Join(columns, "\" and \""))
}
