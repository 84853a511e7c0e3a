// Package pg speaks the Postgres frontend/backend protocol, versions 3.0 and
// 3.2 (PostgreSQL manual, chapter "Frontend/Backend Protocol"), to clients.
//
//	accept ─▶ startup (SSL, GSS, cancel, version) ─▶ authentication ─▶ loop
//
//	loop:  Query ─▶ each statement: RowDescription, DataRow…, CommandComplete ─▶ ReadyForQuery
//	       Parse Bind Describe Execute Close Flush … Sync ─▶ ReadyForQuery
//	       an error ─▶ ErrorResponse, then all is discarded until Sync
//
// One goroutine serves a connection: it reads a message, runs it through wire/session, and writes the answer.
// A client that reads slowly stops the write, and with it the statement; for a client that is quick the
// goroutine polls a moment before it parks (eager_unix.go). No more than one batch and one output buffer wait
// for it. Connections without a session have a limited number of places, and a new one takes that of the
// longest silent. Every length from outside is bounded before memory is allocated for it.
package pg
