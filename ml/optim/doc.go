// Package optim holds the optimisers, as step machines by reverse
// communication: an optimiser says which parameters it wants evaluated, is told
// loss, gradient and perhaps Hessian, and moves on. It does no I/O, starts
// nothing and knows neither data nor penalty, so the evaluation may be a sum
// over a cluster.
//
//	for {
//	    req := o.Next()                      θ, and what is wanted of it
//	    done, err := o.Tell(evaluate(req))   the mean loss with its penalty
//	    if done { break }                    o.Result() is the answer
//	}
//
// What an optimiser's Encode writes is the checkpoint: restored in a new process it
// asks the same question next and goes the same way, bit for bit. All its sums
// are of package f64.
package optim
