// Package trainer runs the parts of a training on nodes. The node that drives a
// training opens a Group: a part on every member, itself included. A part is an
// ml/train.Worker; the group is the train.Reducer of ml/train.Run.
//
//	driver (member 0)                            member i
//	Group ── trainer.part (stream) ─────────────▶ part: lives as long as the call
//	  │        the dataset stage's plan.Collect ─▶ Worker.Add
//	Reduce ── trainer.task: parameters, down ────▶ leaves → partials
//	  ▲         two trees of members                │
//	  └──────── trainer.offer: partials, up ────────┘  (between any two members, and rows to the
//	                                                    owners of their leaves)
//
// A task is sent down in chunks, which members forward to their children; the call that
// brings it is answered when all children are done too. Partials go up a tree over leaf
// numbers, or over members where there is one partial a node, in slices where they are
// long, and the sums go to the driver. A slice is offered to the home of its parent,
// which merges it and offers the sum upward before it answers: once all members have
// answered, the sums are complete. See docs/decisions/0019.
//
// That the rows are counted, sent to their owners and assigned to leaves are tasks like all
// others (train.Distribute). Where members cannot hold the rows, the query is read a second
// time, and members send each other the encoded rows as they come.
//
// When a group has succeeded, its members may keep their parts' blocks (Keep), as idle
// memory; OpenCached opens a group over blocks of one origin, if all members still have them.
// See docs/decisions/0021.
//
// A member that is lost ends the group with an error of class 08; the driver
// then opens another group on the nodes left. The rows are distributed by their
// content, so that group has the same leaves and gives the same bits.
package trainer
