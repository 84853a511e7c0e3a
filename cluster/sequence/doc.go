// Package sequence hands out unique numbers: values of sequences and object
// identifiers. Both are allocated through Raft in blocks, outside of any transaction;
// the unused rest of a block is returned, or becomes a gap.
//
//	catalog ─Advance─▶ Cache (a node's) ─Next─▶ nextval
//	                                             │
//	                             Session: currval, lastval
package sequence
