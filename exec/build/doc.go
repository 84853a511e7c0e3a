// Package build turns a stage of a plan into operators: for each plan node the
// instances of all threads (package exec/op), with expressions compiled for each.
// It is the one place that switches over the kinds of plan nodes.
//
//	plan.Stage ──► Tree
//	               Root   an operator a thread
//	               Cols   their columns: exactly the stage's schema
//	               Stats  a counter a plan node, depth first
//
// On the way down each node learns which of its columns are needed, so that a join does not gather,
// nor a sort move, what nobody reads. What is returned upwards are the columns that the operators
// produce, which may be fewer than the node's schema and in another order.
package build
