// Package plan holds the relational plan: logical as the binder makes it, then
// rewritten by planner/opt, then physical as planner/stage leaves it. One set
// of nodes serves all three; the comment of a node says where it may occur.
//
//	bind:   Scan Values Virtual Source FuncScan Filter Project ProjectSet Join
//	        Apply Aggregate Window Sort Limit SetOp DistinctOn Max1Row Buffer
//	        RecursiveUnion                                  (expressions may hold Subquery)
//	opt:    the same without Apply and Subquery; Joins have Keys and Residual
//	stage:  plus Exchange, then cut: Exchange below becomes Receive above
//
// Nodes are immutable; WithChildren makes changed ones. A column is a ColID,
// unique in the statement. Every node's Schema lists what it emits, in order.
package plan
