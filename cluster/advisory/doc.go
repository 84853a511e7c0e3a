// Package advisory keeps the locks of pg_advisory_lock and its kin: who holds which,
// for its session or its transaction, shared or not, and who waits in which order.
// A wait that would close a circle fails (40P01). The locks are those of one node.
package advisory
