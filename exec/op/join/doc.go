// Package join joins two inputs: by hash where there are keys, else by an order
// of the right rows, or by looking at all pairs of rows. The right input is built into a table that all threads
// share; the left one probes it.
//
//	right rows ─ layout: the columns and keys that are needed ─▶ rowset.Set, one a thread
//	                                                                │ Barrier
//	             ┌── refused: partitions (spill.go)                 ▼
//	             │                           hashTable: key ─▶ list of row ids, perhaps in an order
//	             │                                  │ publish: op.KeyFilter ─▶ scans below
//	             │                                  ▼
//	left rows ───┴──▶ prober: find ─▶ pages of pairs (left row, right id)
//	                    ─▶ keys equal? ─▶ residual? ─▶ pairs out, or which left rows match
//	                                                                │ Barrier
//	Right, Full, RightSemi, RightAnti: right rows by themselves ◀───┘
//
// A partition that does not fit is divided again by the next bits of the hash.
// One that all has the same hash is joined in several passes over its left side,
// each with as many right rows as fit.
//
// Memory: rows are charged to their thread's account, the table to one that all
// threads share, pairs that are wide to an account of their own (size.go).
package join
