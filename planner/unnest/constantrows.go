package unnest

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// mostConstantRows is up to how many rows a list of constants is written out.
const mostConstantRows = 64

// ConstantRows makes a join that asks whether a row of a list of constants fits, and has no keys to look rows up by,
// a condition over the left side's row alone, which is evaluated for whole batches:
//
//	⋈ mark day between d - 3 and d + 3        project … , '2023-01-01' between d - 3 and d + 3
//	├─ orders                            ─▶                or '2023-12-25' between d - 3 and d + 3
//	└─ values ('2023-01-01'), ('2023-12-25')  └─ orders
func ConstantRows(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		j, ok := n.(*plan.Join)
		if !ok || len(j.LKeys) > 0 || len(j.Residual) == 0 || len(j.On) > 0 {
			return n
		}
		v, ok := j.R.(*plan.Values)
		if !ok || len(v.Rows) == 0 || len(v.Rows) > mostConstantRows || slices.ContainsFunc(j.Residual, notPlain) {
			return n
		}
		var fits []expr.Expr
		for _, row := range v.Rows {
			by := map[expr.ColID]expr.Expr{}
			for i, c := range v.Cols {
				if !rewrite.IsConstant(row[i]) {
					return n
				}
				by[c.ID] = rewrite.ToPhysical(row[i], c.Type)
			}
			fits = append(fits, rewrite.AndOf(rewrite.SubstAll(j.Residual, by)))
		}
		some := rewrite.OrOf(fits)
		switch j.Kind {
		case plan.Mark:
			cols := j.Schema()
			items := rewrite.PassItems(cols[:len(cols)-1])
			return &plan.Project{Input: j.L, Items: append(items, plan.Item{Col: cols[len(cols)-1], Expr: some})}
		case plan.Semi:
			return &plan.Filter{Input: j.L, Conds: []expr.Expr{some}}
		case plan.Anti:
			return &plan.Filter{Input: j.L, Conds: []expr.Expr{&expr.BoolTest{Arg: some, Kind: expr.IsTrue, Not: true}}}
		}
		return n
	}), nil
}

// notPlain reports whether an expression may have another value each time, or holds a query.
func notPlain(e expr.Expr) bool { return rewrite.IsVolatile(e) || rewrite.HasSubquery(e) }
