// Package txn implements open transactions: catalog changes over a base state that are
// not proposed yet. Its view is the base with the changes applied, so a statement reads
// what those before it wrote, and a savepoint is a number of changes. Nothing is
// locked: conflicts show when the changes are applied to a newer state (40001). Transactions
// of a node that write a row by its key mostly avoid them by taking turns (Turns).
//
// It knows neither sessions nor tables' rows; whatever else a rollback must undo is
// registered as functions.
package txn
