// Package window computes window functions over rows that package order has
// sorted by the partition's and the order's keys.
//
//	sorted rows ─▶ block: some whole partitions, of about a batch, or a large one
//	                 │ by row: first and last of its partition and its peer group
//	                 ▼
//	               call: rank, lag, first_value …          a row of the frame
//	               aggregate.go: aggregates over frames     running states, or
//	               frame.go: the rows of each row's frame   tree.go: a segment tree
//	                 ▼
//	               the input's columns and one a call, in batches
//
// Memory: a block is charged while its functions are computed, and cannot spill:
// a partition that does not fit is an error, 53200.
package window
