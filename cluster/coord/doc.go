// Package coord runs one statement from start to end: it is the gateway's side
// of the database.
//
//	Engine ── sessions by key ──▶ Session ── settings, transaction, cursors
//	                                 │
//	   text ─parse─▶ Piece ─Prepare─▶ prepared ─open─▶ result ─▶ batches
//	                                 │
//	   bind → opt → stage → Runner (this node, or all nodes)
//
// A transaction (txn.go) is a list of catalog changes not yet proposed, over a
// base state: its view is the base with the changes applied. Nothing is locked;
// conflicts show when the changes are applied to a newer state (40001).
//
// The package does not know the wire: cmd adapts Session to what wire/session
// asks for. It does not know Raft either: Meta is the replicated catalog.
package coord
