// Package flow is the exchange between nodes, over the cluster's port. It implements
// op.Exchange for the tasks of a statement's run on this node.
//
//	task ─▶ writer ─┬─▶ inbox (this node) ───────────────▶ Receive
//	                └─▶ stream ═══ rpc Put ═══▶ Hub ─▶ inbox ─▶ Receive
//	                    one a destination       by run and stage
//
// Back-pressure. An inbox holds a bounded number of bytes, charged to the
// statement's pool; when it is full the Hub stops reading the stream, TCP's
// window fills, and the sender's Send waits. A pool that refuses shrinks the
// inbox to one batch.
//
// Errors. A stream ends well or breaks; it carries no errors. The runner of the tasks
// is notified of a failed task and stops the run on all nodes, so a reader whose sender
// breaks off waits to be stopped. Only the sender can distinguish a lost node from a
// stopped one: it gets a *LostError.
//
// Life. A Flow lives from Open, which must come before any task of the run
// starts on any node, to Close. Streams for a run that is not open here are
// refused, those of a closed one are cut; nothing of it is left then.
package flow
