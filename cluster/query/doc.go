// Package query is the one way from a query's tree to its rows. Sessions take it, and
// so does what has no session (package training):
//
//	Context  what a text means: role, search path, time zone, parameters, the time
//	   │
//	   ├─ Planner.Binding ─▶ planner/bind ─▶ plan.Query
//	   │
//	   └─ Planner.Begin ─▶ Execution  pool, admission, environment of one run
//	                          │
//	                          └─ Open(state) ─▶ Run: Optimize (privileges) → stage → Runner
//
// BindQuery and BindDML keep what they bind for statements that come again, and
// the plans of those that look rows up by key (docs/decisions/0022).
//
// A Context is made once for a statement and never changes, so the same text in it
// means the same later and on another node; Encode is its durable form.
package query
