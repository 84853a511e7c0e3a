// Package trainer runs the parts of a training on nodes. The node that drives a
// training opens a Group: a part on every member, its own among them. A part
// is an ml/train.Worker; the group is the train.Reducer of ml/train.Run.
//
//	driver (member 0)                            member i
//	Group ── trainer.part (stream) ─────────────▶ part: lives as long as the call
//	  │        the dataset stage's plan.Collect ─▶ Worker.Add
//	Distribute ──── trainer.counts, distribute, assign ──────▶ ═ rows ═▶ the leaves' owners
//	Reduce ── trainer.task: parameters, down ────▶ leaves → partials
//	  ▲         two trees of members                │
//	  └──────── trainer.offer: partials, up ────────┘  (between any two members)
//
// A task goes down in pieces, which members pass on to those below them; the call
// that brings it is answered when all below are done too. Partials go up a tree
// over leaf numbers, or over members where they are of nodes, in slices where they
// are long, and the sums to the driver. A slice is offered to the home of its
// parent, which merges and offers on before it answers: once all members have
// answered, the sums are there. See docs/decisions/0019.
//
// A training in place (train.Job.InPlace) skips distribute and rows: each member cuts
// its own rows into leaves, and the tree is over members. Where members cannot hold
// the rows, Distribute only says who owns which leaf; the query is read again, members
// send each other the rows as they come, encoded, and DistributeRescan ends that.
//
// When a group has ended well, its members may keep their parts' blocks (Keep), as
// idle memory; Over opens a group over those of one origin, if all members have
// them. See docs/decisions/0021.
//
// A member that is lost ends the group with an error of class 08; the driver
// then opens another group on the nodes left. The rows are distributed by their
// content, so that group has the same leaves and gives the same bits.
package trainer
