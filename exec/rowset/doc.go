// Package rowset keeps rows in memory, column by column, for the operators that read them more than
// once: joins, sorts, partitioning.
package rowset
