// Package query is the one way from a query's tree to its rows. Sessions take it, and
// so does what has no session (package training):
//
//	Context  what a text means: role, search path, time zone, parameters, the time
//	   │
//	   ├─ Planner.Bind ─▶ planner.Bound  a statement whose names are found, or the one kept
//	   │
//	   └─ Planner.Begin ─▶ Run        pool, admission, environment of one run
//	                          │
//	                          └─ Open(state) ─▶ Executor: planner.Plan ─▶ planner.Planned ─▶ Runner
//
// Bind keeps what it binds for statements that come again; a Bound keeps its generic
// plan where it looks rows up by key (docs/decisions/0022).
//
// A Context is made once for a statement and never changes, so the same text in it
// means the same later and on another node; Encode is its durable form.
package query
