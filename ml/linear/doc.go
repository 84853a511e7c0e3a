// Package linear evaluates generalised linear models on blocks: the partial sums
// of loss, gradient and Hessian that the reduce tree adds up, and what the root
// makes of them.
//
//	leaf:  Pass.Run(block, θ) ─▶ reduce.Sums    plain sums over rows, float64
//	tree:  reduce.MergeSums
//	root:  Root.Eval(sums)    ─▶ optim.Eval     mean, then the penalty, once
//
// The vector of a partial is the gradient, in the order of a model's parameters
// (package model), followed by the upper triangle's square of the Hessian if it
// was asked for. A chunk of rows goes from margins to gradient while it is in
// the cache.
package linear
