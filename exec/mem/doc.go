// Package mem keeps the promise of a memory limit: reserve, then allocate.
//
//	node pool  --memory less the program's own share
//	  └ query pool   one a statement or training job
//	      └ account  one an operator; Grow before allocating, Shrink after
//
//	used/limit   0 ........ 60 % ........ 80 % ........ 95 % .. 100 %
//	             free       the largest   no new work   the largest
//	                        holders are   is admitted   statement fails
//	                        asked to spill beside other with 53200
//
// An account takes bytes from the node in blocks, so that Grow is an addition
// almost always. A Grow that the limits refuse returns a *BudgetError naming
// the account; an operator that can spill does so and asks again. Of
// another statement the pool never reaches into an operator: ShouldSpill is a flag that
// operators read at their own batch boundary. Of the asker's own, an operator that
// waits for its input or its reader cannot read it, and is written away by who asks
// (OnReclaim).
//
// A statement that keeps rows takes a Ticket on each node first: as many go on at
// once as find the room that each needs, the others queue, by role (see queue).
//
// The package counts; it does not allocate. What is kept is charged; batches in
// flight are not one by one. Watch counts what lives beyond all accounts: what sync.Pools
// have of vectors that are done with, which the collector takes when it runs. What
// connections between nodes read into is of the program's own share: four buffers of 64 KiB
// for each other node.
package mem
