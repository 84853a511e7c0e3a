// Package txn is what a transaction is while it is open: catalog changes that are not
// proposed yet over a base state. Its view is the base with the changes applied, so a
// statement reads what those before it wrote, and a savepoint is a number of changes.
// Nothing is locked: conflicts show when the changes are applied to a newer state
// (40001).
//
// It knows no session and no tables' rows; what else goes back with a transaction or a
// savepoint is told to it as functions.
package txn
