// Package coord runs one statement from start to end: it is the gateway's side
// of the database.
//
//	Engine ── sessions by key ──▶ Session ── settings, transaction, cursors
//	                                 │
//	   text ─parse─▶ Statement ─Prepare─▶ Prepared ─Bind─▶ Portal ─▶ batches
//	                                 │
//	   bind → opt → stage → Runner (this node, or all nodes)
//
// The package has a line for each kind of statement and gives it what it needs of the
// session; the work is done below (docs/decisions/0023). It does not know the wire: cmd
// adapts Session to what wire/session asks for. It does not know Raft either: Meta is the
// replicated catalog.
package coord
