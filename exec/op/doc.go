// Package op defines what a relational operator is and implements the simple ones. Each pulls
// batches from its inputs and returns batches; a task (package exec/task) runs a tree of them.
//
// A task runs its tree as L equal instances, the threads, one goroutine each.
// The threads of one operator share a state object made when the tree is built:
//
//	thread 0   scan ─ filter ─ join ─ aggregate ─┐
//	thread 1   scan ─ filter ─ join ─ aggregate ─┤ root
//	           │               │        │
//	        morsels        shared    shared
//	        by Splits      table     partitions
//
// So that no thread waits for one that will not come, every thread pulls its inputs in the same
// order, and an operator that stops early closes its input at once, whereby it leaves the Barriers
// below. What needs one stream (a merge, a recursion) comes out of thread 0, the other threads
// being at their end; a Gather brings the rows of all threads to thread 0.
//
// Larger operators have packages of their own: join, aggregate, order (sorting and merging), window
// and recursive. They implement this package's contract with what it exports for operators:
// Instances, Drain, InHalves, Columns, Coalescer, Barrier.
//
// Constructors take the inputs of all threads and return the operators of all threads. Expressions
// come compiled, a set for each thread, as Program and Filter.
//
// Memory: an operator charges what it keeps to an account of its thread. Where its account refuses,
// it spills (package exec/spill); one that cannot returns the error, which is 53200 at the wire.
// Before that, other operators of the statement are made to spill where they wait
// (mem.Account.OnReclaim, decision 27): such an operator has a lock that it holds while it works on
// its rows.
package op
