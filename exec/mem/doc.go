// Package mem keeps the promise of a memory limit: reserve, then allocate.
//
//	node pool  --memory less the program's own share
//	  └ group pool   one a resource group; statements of no group are the node's own
//	  └ query pool   one a statement or training job
//	      └ account  one an operator; Grow before allocating, Shrink after
//
//	used/limit   0 ........ 60 % ........ 80 % ........ 95 % .. 100 %
//	             free       the largest   no new work   the largest
//	                        holders are   is admitted   statement fails
//	                        asked to spill beside other with 53200
//
// An account takes bytes from the node in blocks, a small one in parts of a block, so that Grow is
// an addition almost always. A Grow that the limits refuse returns a *BudgetError naming the account; an operator that can spill does
// so and asks again. The pool never reaches into an operator of another statement: ShouldSpill is a
// flag that operators read at their own batch boundary. An operator of the same statement that
// waits for its input or its reader cannot read it, and is spilled by the goroutine that asks
// (OnReclaim).
//
// A statement that keeps rows takes a Ticket on each node first: as many are admitted as the memory
// that each needs allows, the others queue, by role (see queue).
//
// The package counts; it does not allocate. What is kept is charged; batches in flight are not
// charged one by one. Watch counts what lives beyond all accounts, such as unused vectors in
// sync.Pools, which a collection frees. Read buffers of connections between nodes are part of the
// program's own share: four of 64 KiB for each other node.
package mem
