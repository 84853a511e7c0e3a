// Package advisory is the lock table of pg_advisory_lock and related functions: who
// holds which lock, for its session or its transaction, shared or exclusive, and who
// waits in which order. A wait that would cause a deadlock fails (40P01).
//
//	Table     who has what: a pure state machine, in the replicated state (cluster/meta)
//	Locks     a node's sessions: their counts, their waits, the node's lease
//
// The only node of a cluster has its table in memory, and moves it into the replicated
// state before a second one is admitted. See docs/decisions/0044.
package advisory
