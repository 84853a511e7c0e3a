// Package trainer runs the parts of a training on nodes. The node that drives a
// training opens a Group: a part on every member, its own among them. A part
// is an ml/train.Worker; the group is the train.Reducer of ml/train.Run.
//
//	driver (member 0)                            member i
//	Group ── trainer.part (stream) ─────────────▶ part: lives as long as the call
//	  │        the dataset stage's plan.Collect ─▶ Worker.Add
//	Deal ──── trainer.counts, deal, assign ──────▶ ═ rows ═▶ the leaves' owners
//	Reduce ── trainer.task (parameters) ─────────▶ leaves → partials
//	  ▲                                             │
//	  └────── trainer.offer: partials up the tree ──┘  (between any two members)
//
// The tree is over leaf numbers, or over members where partials are of nodes,
// and the first is the driver's, so that the root's value is where the optimiser
// runs. A partial is offered to the home of
// its parent, which merges and offers on before it answers: once all members
// have answered, the root is there.
//
// A training in place (train.Job.InPlace) skips deal and rows: each member cuts
// its own rows into leaves, and the tree is over members.
//
// A member that is lost ends the group with an error of class 08; the driver
// then opens another group on the nodes left. The rows are dealt by their
// content, so that group has the same leaves and gives the same bits.
package trainer
