// Package partition divides rows that do not fit in memory by their hash, on disk, so that rows
// with equal keys are in the same partition. Joins, aggregation and recursion then work on one
// partition at a time.
//
//	level 0   the uppermost five bits of the hash: 32 partitions
//	level 1   the next five, of a partition that is still too large
//	…         up to MaxLevel
package partition
