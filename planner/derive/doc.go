// Package derive has the rule that derives conditions on one side of a join from conditions on the other: what is equal to
// a value meets its conditions, and what lies below one lies below its limits. Before it another one writes conditions as
// comparisons of one side with the other.
//
//	differences.go b.t - a.t <= '2 hours'                 is b.t <= a.t + '2 hours'
//	equalities.go  a.x = b.x, conditions of a.x alone     so the same of b.x
//	bounds.go      b.t <= a.t + '2 hours', a.t < k        so b.t <= k + '2 hours'
//
// Tested by planner/opt/testdata/pushdown.txt, planner/stage/equivalence_test.go, cluster/node/testdata/sql/keyedranges.txt.
package derive
