// Package reduce is the shape of the tree in which partial results are merged,
// who merges what, and by whom what goes down to all is passed on. It is pure:
// bytes and numbers in, bytes and destinations out.
//
// The tree stands on leaves, fixed sets of rows, never on workers. Node (level,
// i) merges (level-1, 2i) and (level-1, 2i+1), in this order; an odd last node
// is carried up as it is:
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
// Floating-point sums depend on their order, and this order depends on nothing
// but the number of leaves: any placement of the leaves on any number of nodes
// gives the same bytes.
//
// Every tree node has a home, the worker that merges it: where both children
// live if that is one worker, else with one of the workers below, which
// the slice says, so that the slices of a long vector spread their work and
// their roots over the workers. A worker folds the subtrees it owns wholly; the
// rest goes to the home of the parent, and the root's value to who wants it.
//
//	a: leaves 0 1 2 → (1,0)          ── stays: home of (2,0) is a
//	b: leaf 3 → (0,3) ships to a     leaf 4 → (2,1) ships to a, home of the root
//
// What goes down takes two binary trees over workers, each with half of the bytes:
// Children.
package reduce
