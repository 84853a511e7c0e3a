// Package narrow has the rule that computes numbers in the cheapest representation that holds them: it knows of each column
// between which values the present rows lie, and of each expression what follows.
//
//	digits.go      numerics whose digits fit 64 bits are in fixed point
//	timefields.go  parts of times are integers
//	linearsums.go  sum(x + c), avg and count of one argument are folded from one set of sums
//	sumquotient.go sum(x / c) is sum(x) / c where every digit stays
//	onescale.go    a CASE of numerics of two scales is of one
//
// Tested by the tests beside it, planner/opt's golden plans and cluster/node/testdata/corpus/types_numeric.slt.
package narrow
