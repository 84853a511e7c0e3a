// Package reduce defines the reduction tree in which partial results are merged, which
// worker merges what, and the broadcast trees by which parameters are forwarded to all.
// It is pure: it does no I/O.
//
// The tree is built over leaves, fixed sets of rows, never over workers. Node (level,
// i) merges (level-1, 2i) and (level-1, 2i+1), in this order; an odd last node is
// passed up unchanged:
//
//	level 3              0
//	              ┌──────┴──────┐
//	level 2       0             1
//	          ┌───┴───┐     ┌───┘
//	level 1   0       1     2
//	        ┌─┴─┐   ┌─┴─┐   │
//	level 0 0   1   2   3   4        leaves
//	owner   a   a   a   b   b
//
// Floating-point sums depend on their order, and this order depends only on the number
// of leaves: any placement of the leaves on any number of nodes produces the same
// bytes.
//
// Every tree node has a home, the worker that merges it: the owner of both children if
// that is one worker, else one of the workers below, which depends on the slice, so
// that the slices of a long vector spread their work and their roots over the workers.
// A worker folds the subtrees that it owns completely; the rest is sent to the home of
// the parent, and the root's value to its destination.
//
//	a: leaves 0 1 2 → (1,0)          ── stays: home of (2,0) is a
//	b: leaf 3 → (0,3) ships to a     leaf 4 → (2,1) ships to a, home of the root
//
// Broadcasts use two binary trees over workers, each for half of the bytes (Sanders,
// Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", 2009): Children.
package reduce
