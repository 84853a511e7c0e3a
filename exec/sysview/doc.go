// Package sysview computes the relations that describe the database: those of
// pg_catalog and information_schema as PostgreSQL 15 has them, and our own ml
// and cluster. They are computed at the gateway, for one statement, from the
// statement's view of the catalog, so that they agree with what the statement
// sees; what is not in the catalog (sessions, settings, nodes, running jobs)
// comes from the Host.
//
//	tables/*.txt      the shapes: a relation's OID, kind, name and columns, and
//	                  rows that never change (operator classes, procedures)
//	producers         one function a relation: view → put(row), put(row), …
//	Open              runs a producer, keeps the columns that the plan reads
//
// A relation with a shape and no producer has no rows: it is there for clients
// that look into it. A producer puts whole rows in the order of the shape; the
// Go values are turned into those of the columns by datum.
//
// It is not where names are resolved or privileges are enforced; it only provides the OIDs and
// names of these relations.
package sysview
