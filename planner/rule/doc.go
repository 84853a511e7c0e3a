// Package rule has what the rules of the optimiser share: the Run they belong to, which makes
// columns, keeps the first error and checks whether the statement may go on; copies of trees under
// new columns; and constant folding, which rules apply to the expressions they make.
//
//	planner/opt     lists the rules in phases, has most of them
//	planner/unnest  subqueries and lateral joins
//	planner/rule    Run
//
// Tested by planner/opt (TestPlans: fold.txt), planner/plan_test.go.
package rule
