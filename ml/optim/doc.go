// Package optim holds the optimisers, as step machines by reverse communication: an
// optimiser returns the parameters to be evaluated, receives loss, gradient and
// perhaps Hessian, and proceeds. It does no I/O, starts no goroutines, and does not
// depend on the data or the penalty, so the evaluation may be a sum over a cluster.
//
//	for {
//	    req := o.Next()                      θ, and what is wanted of it
//	    done, err := o.Tell(evaluate(req))   the mean loss with its penalty
//	    if done { break }                    o.Result() is the answer
//	}
//
// What an optimiser's Encode writes is its checkpoint: restored in a new process it
// makes the same requests, bit for bit. All its sums are computed by package f64.
package optim
