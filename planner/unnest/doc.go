// Package unnest removes subqueries from expressions, and outer columns from subqueries: after it,
// no Apply and no Subquery is left in a plan.
//
//	subquery.go        a subquery in an expression ─▶ an Apply beside it
//	decorrelate.go     Apply ─▶ Join, where the right side has a shape that needs no more
//	ordered.go         the last row before a value, or an aggregate up to it, as a window
//	push_dependent.go  else the table of the outer columns' values goes down the right
//	                   side, node by node, and the join is by these values
//	push_join.go, push_recursive.go  … through joins, through recursive unions
//
// After T. Neumann and A. Kemper, "Unnesting Arbitrary Queries", BTW 2015.
//
// Tested by planner/opt/testdata/decorrelate.txt, planner/stage/equivalence_test.go.
package unnest
