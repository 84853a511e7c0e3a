// Package eval computes bound expressions (planner/expr) over batches.
//
//	expr.Expr ──Compile──▶ Program: a tree of nodes
//
//	Program.Eval(batch)    frame: the batch, which of its rows count
//	    │                  each node: frame ──▶ vector.Vec (a dense column of those rows)
//	    ▼
//	arrow.Array            of the rows that count, in order
//
// Kernels are typed loops with the operator chosen outside; they compute NULL rows too and consult
// the bitmap only where something went wrong. A function of one string is computed once for each
// entry where its argument is a dictionary.
//
// AND, OR, CASE and COALESCE evaluate their later parts for the rows that need
// them only, in a narrower frame, so that an excluded row never raises an error.
//
// Intermediate columns live in the Program's arena, which the next call
// reuses: a Program belongs to one goroutine. Eval copies its result out of the
// arena, EvalScratch does not.
//
// The functions themselves are in exec/function and the packages below it.
package eval
