package opt

import (
	"github.com/tributarydb/tributary/planner/derive"
	"github.com/tributarydb/tributary/planner/late"
	"github.com/tributarydb/tributary/planner/narrow"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/planner/unnest"
)

// phase is a rule of the sequence. want are the columns of the root that are read.
type phase struct {
	name string
	run  func(r *rule.Run, n plan.Node, want plan.ColSet) (plan.Node, error)
}

// phases in order. Constants first, since folded conditions simplify the rest. Subqueries become
// joins before conditions move, so that they may move through them. Conditions move before joins
// are ordered, as the order depends on what is left of each table. Columns are read late where
// sorts know their limits; windows become joins when the order of joins is settled. Narrowing comes
// before keys are extracted, as it may change how they are represented; trimming last, as its
// Projects hinder all other rules.
var phases = []phase{
	{"fold", rule.Fold},
	{"pin", rulePin},
	{"subqueries", unnest.Subqueries},
	{"decorrelate", unnest.Decorrelate},
	{"fold", rule.Fold},
	{"pin", rulePin},
	{"outerjoins", ruleOuterJoins},
	{"distinct", ruleDistinct},
	{"prune", rulePrune},
	{"mergeprojects", ruleMergeProjects},
	{"pushdown", rulePushdown},
	{"orfactor", ruleOrFactor},
	{"pushdown", rulePushdown},
	{"differences", derive.Differences},
	{"transitive", derive.Transitive},
	{"pushdown", rulePushdown},
	{"fold", rule.Fold},
	{"outerjoins", ruleOuterJoins},
	{"empty", ruleEmpty},
	{"mergeprojects", ruleMergeProjects},
	{"prune", rulePrune},
	{"mergeprojects", ruleMergeProjects},
	{"zonevalues", late.ZoneValues},
	{"groupkeys", late.GroupKeys},
	{"joinorder", ruleJoinOrder},
	{"reduce", ruleReduce},
	{"firstpartner", ruleFirstMatch},
	{"pushdown", rulePushdown},
	{"mergeprojects", ruleMergeProjects},
	{"limits", ruleLimits},
	{"lateitems", late.Items},
	{"latecolumns", ruleLateColumns},
	{"runcondition", ruleRunCondition},
	{"wholewindows", ruleWholeWindows},
	{"narrow", narrow.Numbers},
	{"joinkeys", ruleJoinKeys},
	{"residualonce", ruleResidualOnce},
	{"constantrows", unnest.ConstantRows},
	{"prune", rulePrune},
	{"stepbuffers", ruleStepBuffers},
	{"stepsides", ruleStepSides},
	{"trim", ruleTrim},
	{"mergeprojects", ruleMergeProjects},
	{"unpin", ruleUnpin},
	{"rows", ruleRows},
}
