// Package rowlist keeps rows as bytes, one after the other, for the aggregates that need all rows of a
// group: of values one by one the garbage collector took most of the time that a string_agg of some
// millions of rows needed.
//
//	row = value, …        value = length | binary form (types.AppendBinary)        NULL = length -1
package rowlist
