// Package worker runs the stages of statements on nodes. Every node has a
// Worker, which runs tasks for others; a Gateway is the other end of it, which
// runs a statement's plans on all nodes that are alive, its own among them.
//
//	gateway                                     each other node
//	query ── sched ── attempt                   Worker
//	                    │ worker.run (stream) ───▶ run: flow, pin, spill, pool
//	                    │ ◀─ ready, done …, failed, finished
//	                    │ worker.orders ─────────▶   go, splits, ends, stop
//	                    └ part: tasks here           part: tasks there
//	                         ▲      ═ flow: rows of stages ═    │
//	                         └──────────────────────────────────┘
//
// A run opens in two steps: every node makes its end of the exchange and says
// ready; then all tasks start. So no stream finds its other end missing.
//
// A run on a node lives no longer than the call that began it: if the gateway goes away
// the call breaks and the node stops the tasks. Errors go to the gateway, which stops
// the run everywhere; the first one is the statement's. If a node is lost before a row
// of the result was returned, or anything was written, the gateway starts the plan
// again on the remaining nodes: another attempt. Later the statement fails with 57P01.
//
// Plans, parameters and settings are sent with the call, and the segments to read with
// the splits, so that a node need not have caught up with the catalog to read the
// statement's snapshot. Sequences and session state are the gateway's: functions that
// need them fail elsewhere with 0A000.
package worker
