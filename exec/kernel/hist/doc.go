// Package hist holds the loops that tree learners spend their time in: adding
// each row's integer to one bin of every column's histogram, and dividing rows by
// their bins.
//
// Bins lie row by row, one byte a column; histograms lie column by column:
//
//	bins  [ row 0: c0 c1 … | row 1: c0 c1 … | … ]       width bytes a row
//	h     [ c0: bin 0 … stride-1 | c1: … ]              stride integers a column
//
// Sums of integers do not depend on the order, so every body has the same result.
package hist
