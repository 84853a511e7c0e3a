// Package rule is what the rules of the optimizer share: the Run they belong to, which
// makes columns, keeps the first error and asks whether the statement may go on; copies
// of trees under new columns; and folding, which others need for what they make.
//
//	planner/opt     lists the rules in phases, has most of them
//	planner/unnest  subqueries and lateral joins
//	planner/rule    Run
package rule
