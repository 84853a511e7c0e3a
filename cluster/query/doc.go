// Package query leads from a parsed query to its rows. Sessions use it, and so do trainings, which have no
// session (package training):
//
//	Context  what a text means: role, search path, time zone, parameters, the time
//	   │
//	   ├─ Planner.Bind ─▶ planner.Bound  a statement whose names are found, or the one kept
//	   │
//	   └─ Planner.Begin ─▶ Run        pool, admission, environment of one run
//	                          │
//	                          └─ Open(state) ─▶ Executor: planner.Plan ─▶ planner.Planned ─▶ Runner
//
// Bind caches what it binds, for statements that are sent again; a Bound caches its generic plan if it looks
// rows up by key (docs/decisions/0022).
//
// A Caller is made once for a statement and never changes. So the same text for the same caller means the
// same later, and on another node; Encode returns its durable form.
package query
