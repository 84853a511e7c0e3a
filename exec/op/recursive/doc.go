// Package recursive computes WITH RECURSIVE, round by round.
//
//	Init ─▶ round 0 ─▶ out         op.Buffer: a round's rows, which Step reads next
//	          │    ▲               seenRows: for UNION, all rows so far, in memory
//	          ▼    │                 and, when that is refused, in partitions on disk
//	        Step ──┘ round 1, 2, …
package recursive
