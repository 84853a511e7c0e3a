// Package vector holds columns in the form that kernels work on, and the memory they lie in.
//
//	Vec     Kind · N rows · Valid: a bitmap, nil where no row is NULL · One: one
//	        value stands for all rows
//	          P         raw slices of fixed width; booleans a byte a row
//	          Off Data  strings and bytea: rows+1 offsets into the bytes
//	          Dict      strings by dictionary: P are the indices
//	          Arr       what has no form of its own (lists, rows): Arrow's
//	Arena   memory of one call's intermediate columns, which the next call reuses
//	Meter   charges what grows with the length of values to the statement, and
//	        asks now and then whether the statement is still wanted
//	Text    a value of variable length while a kernel writes it, charged as it grows
//	Writer  collects a column row by row
//
// A refusal unwinds the program that computes: Meter panics with an error that Meter.Catch,
// deferred where a program is entered, returns. So no kernel can forget to check. All of it is for
// one goroutine.
package vector
