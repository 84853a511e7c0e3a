package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// survival binds ml.survival('model', (query)): for each row of the query, whose
// fields these are, a row a time with the chance that the event has not come.
func (sc *scope) survival(m *model, node plan.Node, fields []relCol, n *ast.RangeFunction, pos spot) (fromItem, error) {
	b := sc.b
	if m.v.Task != catalog.TaskTimeToEvent {
		return fromItem{}, pgerr.New(pgerr.WrongObjectType, "model \"%s\" knows no times", m.name).WithHint("Its task is %s.", m.v.Task).At(pos.at())
	}
	pr := newProjector(b, sc.lv, node)
	rl := &rel{name: "survival"}
	for _, f := range fields {
		c := pr.emit(f.e, f.name)
		rl.cols = append(rl.cols, relCol{name: f.name, e: col(c), table: f.table, num: f.num})
	}
	var calls []plan.SetCall
	for _, x := range []struct {
		name string
		mode expr.PredictMode
	}{{"time", expr.PredictTimes}, {"survival", expr.PredictSurvival}} {
		e, err := sc.applyModel(m, x.mode, fields, false, pos)
		if err != nil {
			return fromItem{}, err
		}
		made := b.newCol(sc.lv, x.name, types.Float8)
		calls = append(calls, plan.SetCall{Fn: fn.Lookup("unnest")[0], Args: []expr.Expr{col(pr.emit(e, x.name))}, Cols: []plan.Column{made}})
		rl.cols = append(rl.cols, relCol{name: x.name, e: col(made)})
	}
	return sc.finish(&plan.ProjectSet{Input: pr.node(), Calls: calls}, rl, n.Alias, "table")
}
