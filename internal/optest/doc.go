// Package optest runs an operator over the same rows in all combinations of row
// representation, memory and threads, and compares its output with a slow reference.
//
//	Case ─► batch sizes 1, 3, 8192 × threads 1, 4 × plain, selections, dictionaries
//	     ─► a budget so small that it must spill
//	     ─► closed early, cancelled in the middle, never opened
//
// After each run all accounts are at zero, the spill directory is gone and no goroutine
// is left. Every operator must have a case.
//
// Tested by exec/op, exec/exchange, exec/kernel.
package optest
