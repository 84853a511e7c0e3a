// Package op holds the relational operators. Each pulls batches from its
// inputs and gives batches; a task (package exec/task) runs a tree of them.
//
// A task runs its tree as L equal instances, the lanes, one goroutine each.
// The lanes of one operator share a state object made when the tree is built:
//
//	lane 0   scan ─ filter ─ join ─ aggregate ─┐
//	lane 1   scan ─ filter ─ join ─ aggregate ─┤ root
//	           │               │        │
//	        morsels        shared    shared
//	        by Splits      table     partitions
//
// So that no lane waits for one that will not come, every lane pulls its
// inputs in the same order, and an operator that stops early closes its input
// at once, which leaves the Barriers below. What needs one stream (a merge, a
// recursion) comes out of lane 0, the other lanes being at their end; a Funnel
// brings the rows of all lanes to lane 0.
//
// Constructors take the inputs of all lanes and give the operators of all
// lanes. Expressions come compiled, a set for each lane, as Program and Filter.
//
// Memory: an operator charges what it keeps to an account of its lane. A
// refusal of its own account makes it spill (package exec/spill); one that
// cannot returns it, which is 53200 at the wire.
package op
