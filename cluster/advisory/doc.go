// Package advisory is the lock table of pg_advisory_lock and related functions: who
// holds which lock, for its session or its transaction, shared or exclusive, and who
// waits in which order. A wait that would cause a deadlock fails (40P01). The locks are
// local to one node.
package advisory
