// Package coord is the gateway's side of the database: an Engine joins the sessions of a
// node (package session) to what their statements do.
//
//	session ─ Command(statement) ─▶ Engine ─▶ query, dml          bind → opt → stage → Runner
//	                                   │      define, copydata    DDL, COPY
//	                                   │      training            TRAIN MODEL and its kin
//	                                   │      admin               ALTER SYSTEM, ALTER NODE
//	                                   └────▶ the session itself  BEGIN, SET, PREPARE, DECLARE
//
// It has a line for each kind of statement (dispatch.go); the work is done below
// (docs/decisions/0023). It does not depend on the wire protocol: cmd adapts sessions to
// wire/session's interfaces. Nor does it depend on Raft: Meta is the replicated catalog.
//
// Tested by cluster/node (testdata/sql, testdata/models), cmd/tributary.
package coord
