package opt

import (
	"github.com/tributarydb/tributary/planner/plan"
)

// phase is a rule at its place. want are the columns of the root that are read.
type phase struct {
	name string
	run  func(r *run, n plan.Node, want plan.ColSet) (plan.Node, error)
}

// phases in order. Constants first, since a folded condition decides what else
// there is to do. Subqueries become joins before conditions move, so that they
// may move through them. Conditions move before joins are ordered, as the order
// depends on what is left of each table. Narrowing comes before keys are taken
// out, as it may change how they are carried; trimming last, as it stands in
// the way of all others.
var phases = []phase{
	{"fold", ruleFold},
	{"pin", rulePin},
	{"subqueries", ruleSubqueries},
	{"decorrelate", ruleDecorrelate},
	{"fold", ruleFold},
	{"pin", rulePin},
	{"outerjoins", ruleOuterJoins},
	{"distinct", ruleDistinct},
	{"prune", rulePrune},
	{"mergeprojects", ruleMergeProjects},
	{"pushdown", rulePushdown},
	{"orfactor", ruleOrFactor},
	{"pushdown", rulePushdown},
	{"transitive", ruleTransitive},
	{"pushdown", rulePushdown},
	{"fold", ruleFold},
	{"outerjoins", ruleOuterJoins},
	{"empty", ruleEmpty},
	{"mergeprojects", ruleMergeProjects},
	{"prune", rulePrune},
	{"mergeprojects", ruleMergeProjects},
	{"joinorder", ruleJoinOrder},
	{"reduce", ruleReduce},
	{"pushdown", rulePushdown},
	{"mergeprojects", ruleMergeProjects},
	{"limits", ruleLimits},
	{"narrow", ruleNarrow},
	{"joinkeys", ruleJoinKeys},
	{"prune", rulePrune},
	{"stepbuffers", ruleStepBuffers},
	{"trim", ruleTrim},
	{"mergeprojects", ruleMergeProjects},
	{"unpin", ruleUnpin},
	{"rows", ruleRows},
}
