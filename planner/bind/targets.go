package bind

import (
	"fmt"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/types"
)

// evaluateTargets binds ml.evaluate('model', (query)) of a model of several
// targets: a row a target.
func (sc *scope) evaluateTargets(m *model, name ast.Node, query *ast.SubLink, n *ast.RangeFunction) (fromItem, error) {
	var sums, rows, cols []string
	for i, t := range m.v.Target {
		sums = append(sums, fmt.Sprintf("ml_regression(q.%s, q.%s) AS m%d", lex.QuoteIdent(t), lex.QuoteIdent(m.v.Outputs[i+1].Name), i))
		rows = append(rows, fmt.Sprintf("(%s, s.m%d)", lex.QuoteLiteral(t), i))
	}
	for i, c := range fn.RegressionMeasures {
		cols = append(cols, fmt.Sprintf("r.m[%d] AS %s", i+1, c))
	}
	text := fmt.Sprintf("SELECT r.target, %s FROM (SELECT %s FROM ml.predict('', (SELECT 1)) AS q) AS s, LATERAL (VALUES %s) AS r(target, m)",
		strings.Join(cols, ", "), strings.Join(sums, ", "), strings.Join(rows, ", "))
	return sc.overPredictions(text, "evaluate", name, query, n)
}

// storedTargets is ml.evaluate('model') of a model of several targets: what
// training measured, whose names begin with the targets'.
func (sc *scope) storedTargets(m *model, n *ast.RangeFunction) (fromItem, error) {
	rl := &rel{name: "evaluate"}
	v := &plan.Values{}
	put := func(name string, t types.Type) {
		c := sc.b.newCol(sc.lv, name, t)
		v.Cols = append(v.Cols, c)
		rl.cols = append(rl.cols, relCol{name: name, e: col(c)})
	}
	put("target", types.Text)
	for i, t := range m.v.Target {
		row := []expr.Expr{&expr.Const{Val: t, Typ: types.Text}}
		each := len(m.v.Metrics) / len(m.v.Target)
		for _, x := range m.v.Metrics[i*each : (i+1)*each] {
			if i == 0 {
				put(strings.TrimPrefix(x.Name, t+"."), types.Float8)
			}
			row = append(row, &expr.Const{Val: x.Value, Typ: types.Float8})
		}
		v.Rows = append(v.Rows, row)
	}
	return sc.finish(v, rl, n.Alias, "table")
}
