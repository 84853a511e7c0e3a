// Package eval computes bound expressions (planner/expr) over batches.
//
//	expr.Expr ──Compile──▶ Program: a tree of nodes
//
//	Program.Eval(batch)    frame: the batch, which of its rows count
//	    │                  each node: frame ──▶ vec (a dense column of those rows)
//	    ▼
//	arrow.Array            of the rows that count, in order
//
// A vec is a column in the form kernels like: raw slices, booleans a byte a
// row, NULLs in a bitmap apart, strings plain or by dictionary, and a flag for
// "one value stands for all rows". Kernels are typed loops with the operator
// chosen outside; they compute NULL rows too and look at the bitmap only where
// something went wrong. Functions that are rare go through Go values or
// datums, one call a row (adapt.go), and once a dictionary entry where they
// may.
//
// AND, OR, CASE and COALESCE evaluate their later parts for the rows that need
// them only, in a narrower frame, so that an excluded row never raises an error.
//
// Intermediate columns live in the Program's arena, which the next call
// reuses: a Program belongs to one goroutine. Eval copies its result out of the
// arena, EvalScratch does not.
//
// What an implementation does is keyed by fn.Func.ID; a test checks that each
// scalar and set-returning function that planner/fn lists has one.
package eval
