package model

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// evaluateUnlabelled binds ml.evaluate('model', (query)) of a model whose predictions
// are not compared with a label:
//
//	clustering      the distances of rows to their centroids
//	time to event   Harrell's index of durations, events and risks
//	others          the mean of each number that is predicted for a row, such as an
//	                autoencoder's reconstruction error
func evaluateUnlabelled(sc *scope.Scope, m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction, pos typing.Position) (scope.FromItem, error) {
	var cols []string
	column := func(c string) string { return "q." + lex.QuoteIdent(c) }
	switch m.v.Task {
	case catalog.TaskClustering:
		cols = []string{"sum(q.distance * q.distance) AS inertia", "avg(q.distance * q.distance) AS mean_squared_distance"}
	case catalog.TaskTimeToEvent:
		for _, o := range m.v.Options {
			if o.Name == "event" {
				cols = []string{"concordance_index(" + column(m.v.Target[0]) + "::float8, " + column(o.Value) + "::int <> 0, " + column(m.v.Outputs[0].Name) + ") AS concordance"}
			}
		}
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
	return overPredictions(sc, "SELECT "+keys+strings.Join(cols, ", ")+" FROM ml.predict('', (SELECT 1)) AS q"+by, "evaluate", name, query, n)
}
