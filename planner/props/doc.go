// Package props derives what is known of the rows of a plan before it runs.
//
//	for sure    keys.go        unique keys, columns without NULL, at most one row
//	estimated   stats.go       a table's statistics: zone maps, distinct values
//	            selectivity.go the share of rows for which a condition holds
//	            cardinality.go rows, and distinct values by column, of each node
//
// What is for sure follows from constraints and from how nodes treat rows (plan.Traits): rules rely
// on it. Estimates choose between plans that return the same rows. All of it is a function of a
// tree and a Statistics.
package props
