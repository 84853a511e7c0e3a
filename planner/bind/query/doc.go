// Package query binds SELECT, VALUES, WITH and set operations to logical plans.
//
//	FROM ─▶ WHERE ─▶ [ProjectSet] ─▶ Aggregate ─▶ HAVING ─▶ Window…
//	─▶ ProjectSet… ─▶ Project ─▶ distinct ─▶ Sort ─▶ Limit
//
// Clauses are bound in PostgreSQL's order, so that of several errors the same one
// is reported, and assembled to a plan after that.
//
// Tested by planner/bind (TestBind: select.txt, from.txt, group.txt, subquery.txt).
package query
