// Package rewrite is what rules do with conditions and expressions: take conjunctions
// apart and put them together, tell which columns are read, compare, substitute, and
// make the calls that the binder would have made.
package rewrite
