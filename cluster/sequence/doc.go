// Package sequence hands out numbers that nobody else has: values of sequences and
// object identifiers. Both are taken through Raft by blocks and are part of no
// transaction; what is not used of a block is given back, or is a gap.
//
//	catalog ─Advance─▶ Cache (a node's) ─Next─▶ nextval
//	                                             │
//	                             Session: currval, lastval
package sequence
