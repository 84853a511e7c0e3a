// Package rewrite is what rules do with conditions and expressions: split and join conjunctions,
// find which columns are read, compare, substitute, and make the calls that the binder would have
// made.
//
// Tested by planner/opt.
package rewrite
