// Package expr is the bound, typed scalar expression: data only. Every name is
// resolved, every coercion is an explicit Cast, every overload chosen. Columns
// are named by ColID, unique within a statement, so that a rule may move an
// expression without renumbering it; exec/build turns ColIDs into ordinals of
// the input when it makes operators.
//
// A column that the input does not produce is correlated: it belongs to an
// outer query, and planner/opt removes it (decorrelation) before execution.
//
// Tested by planner/bind, planner/opt, exec/eval.
package expr
