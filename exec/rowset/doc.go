// Package rowset keeps rows in memory, column by column, for the operators that
// come back to them: joins, sorts, what is divided into partitions.
package rowset
