// Package subplan finds parts of an optimised plan that are the same, and computes each once.
//
//	grouping.go   groupings, but for the ids of their columns
//	join.go       joins that are grouped, but for the columns that are read of them
//
// Each becomes a buffer, which its readers scan: a common subexpression spool, as other optimisers
// call it. It is worth that where many rows are read for each that is kept.
//
// Tested by planner/opt/testdata/tpch.txt, planner/stage.
package subplan
