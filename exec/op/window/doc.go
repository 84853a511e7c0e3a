// Package window computes window functions over rows that package order has
// sorted by the partition's and the order's keys.
//
//	sorted rows ─▶ block: some whole partitions, of about a batch, or a large one
//	    │            │ by row: first and last of its partition and its peer group
//	    │ memory     ▼
//	    │ refused  call: rank, lag, first_value …          a row of the frame
//	    │          aggregate.go: aggregates over frames     running states, or
//	    │          frame.go: the rows of each row's frame   differences of sums (agg.Spanner), or
//	    │                                                   tree.go: a segment tree
//	    │                                                   frameaggregate.go: aggregates that keep their rows
//	    │            │  ▲
//	    ▼            │  │ rows.go: any row of the partition, by its number
//	  file.go: the partition's rows in chunks, each a block when it is read again
//	                 ▼
//	               the input's columns and one a call, in batches
//
// A function asks for rows, peers and states by numbers of rows (rows.go), and does not know where
// they are: rows in memory are one chunk, those in a file many, of which a few are in memory. Of
// the others a summary is kept: their numbers, peer groups, ordering values, and for frames that do
// not just grow the aggregates' states.
//
// Memory: a block is charged while its functions are computed. Where that is refused, or another
// operator needs the bytes, the partition goes to a file; a few chunks and some hundred bytes for
// each other one stay. An aggregate that keeps its rows
// needs its state, but for a frame that is the whole partition, which is sorted where that does not fit
// (exec/op/fold); else a refusal is an error, 53200. Its value may be as long as the partition, and must
// fit once: it is made as the rows are given (emit.go), and those that have it in common share it.
package window
