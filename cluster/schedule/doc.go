// Package schedule runs the statements of CREATE SCHEDULE when they are due.
//
//	catalog.Schedule ─▶ decide ─▶ begin: a commit that raises its number of runs
//	  (replicated)        │                │
//	                      │          the statement, in a session of its owner
//	                      │                │
//	                      └─ lost: its node is gone or was restarted ─▶ a commit that ends the run
//
// The node that leads the cluster begins runs; a run stays where it began when another node takes the
// lead. The commit that begins a run is its fence: it fails if another node was first. What was due while
// no node led is run once, late. A schedule whose run is under way when it is due again waits for it.
package schedule
