// Package define carries out what planner/ddl found: the rows that a definition rewrites
// or a query gives (CREATE TABLE AS, REFRESH MATERIALIZED VIEW), its changes to the
// catalog, and the checks over the state after them.
//
// Tested by cluster/node (testdata/sql).
package define
