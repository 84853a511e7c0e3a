// Package meta is the cluster's replicated state machine: it applies committed
// commands to the catalog (sql/catalog.State), in the same order on every node.
//
//	Raft log ─▶ Apply ─▶ State n ─▶ State n+1 ─▶ …     Current: the newest,
//	                        └─ Snapshot, Restore                 without a lock
//
//	command   type byte │ payload            bit 7 of the type: a node that does
//	                                         not know the command may skip it
//
// A commit carries an id. A proposer that does not learn the outcome of its commit (the
// leader died) proposes it again with the same id, and it has one outcome, applied or
// refused: the outcomes of each gateway's commits, back to the oldest that it may still
// ask for, are part of the state (sessions.go).
//
// Beside the catalog the machine has the advisory locks of all nodes' sessions
// (cluster/advisory): they end with their gateway's epoch.
//
// Commands that fail (a conflict, a name taken) leave the state as it was;
// their Response says why. The same log gives the same bytes on every node.
package meta
