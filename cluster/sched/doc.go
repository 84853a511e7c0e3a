// Package sched decides which node reads which split of a statement's tables. It is a
// state machine without a clock, a network or goroutines: Step takes an event and
// returns the actions to carry out; it is deterministic.
//
//	events                            actions
//	Ready     a node takes splits  ┐  ┌ Assign  splits to a node's task
//	Done      a portion is read    ├─▶┤ End     a task's leaf has had its last split
//	Left      a row went out       │  │ Restart the statement, on the nodes left
//	Lost      a node is gone       │  └ Fail    the statement
//	Repaired  a node's bad file  ┘
//
// Splits are not all assigned at once: a task has at most ⌈threads × saturation⌉
// portions of a leaf's splits at a time, so that a slow node keeps few and a fast one
// takes over the rest. The places are counted for each leaf apart: a leaf that waits
// for another leaf's rows must not hold the places that one needs.
//
// A portion is one split, or as many small ones as are worth the two messages that a portion
// costs: a thousand files of thirty thousand rows each would spend a tenth of their time on
// messages. Towards the end portions shrink, to a fourth of what each thread has left, so
// that all nodes end at about the same time.
//
// Each node has a home queue of families: neighbouring splits of one partition
// with the same replicas, distributed out so that a partition stays together and the
// nodes get equal work. A node takes from the front of its own queue and, once
// nobody has room for its own, from the back of the fullest queue of a node that has
// begun. It may read what it holds, and anything that no node left holds.
//
// Rows that a node's tasks had sent depend on it, so when it dies its splits cannot
// simply be read elsewhere: the whole plan restarts without it, as long as no row of
// the result has left. After that the statement fails. A node that met damage in a file
// and has repaired it is kept: the plan restarts with it.
package sched
