// Package planner is the one way from a statement to the stages that run it.
//
//	parse.Statement ──Bind──▶ Bound ──Plan──▶ Planned, with its stages
//
//	Bind      names, types and overloads are found               (planner/bind)
//	Optimize  privileges are checked, the tree is rewritten      (planner/opt)
//	Stage     exchanges are put in, the tree is cut at them      (planner/stage)
//
// A Bound statement may be kept and run again, by many at once. Plan makes a custom plan for the
// parameters of one run, or returns the generic plan that is made once for all (as PostgreSQL calls
// them). Callers that put an operator of their own above the tree, for writes and trainings, call
// Optimize and Stage separately.
package planner
