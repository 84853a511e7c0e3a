// Package batch holds the unit that flows between operators: a few thousand
// rows as Arrow columns, with an optional selection.
//
//	Batch
//	  Cols  [ c0 | c1 | c2 ]   arrow.Array each, all of the same length N
//	  N     rows in the columns
//	  Sel   nil: all N rows count; else the ascending row numbers that count
//
// Ownership. A batch and its arrays are immutable from the moment they are handed on, and collected
// by the garbage collector: nobody calls Retain or Release on them, anybody may keep them. Columns
// that lie in a mapped segment stay valid because the statement pins the segment until it ends.
// Whoever keeps a batch charges its Bytes to an account (package exec/mem). An operator whose
// reader keeps no batch (op.AllowReuse) may reuse the memory once it is asked for the next batch.
//
// A string column may be *array.String or *array.Dictionary with int32 indices
// and String values; Strings reads both.
package batch
