// Package userfn runs the functions that users write in Starlark.
//
//	source ──wrap──▶ syntax tree ──guard──▶ program      once a process, by its hash
//	                                          │
//	one starlark.Thread a node of a program ◀─┘  rows, or a batch of them, in and out
//
// A function sees its arguments and nothing else: no files, no network, no clock, no modules. Its steps are
// counted, and whatever could make a value much larger than the values it is made of is replaced, in the tree, by a
// call that charges the memory first. So the interpreter itself needs no accounts. Results depend on arguments
// alone: dictionaries keep the order of insertion.
//
// Tested by cluster/node (testdata/sql/starlark.txt).
package userfn
