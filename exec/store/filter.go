package store

import (
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

func compileFilter(conds []expr.Expr, in []plan.Column, env *function.Env) (op.Filter, error) {
	return eval.CompileFilter(conds, in, env)
}
