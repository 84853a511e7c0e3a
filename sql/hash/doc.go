// Package hash folds values into 64 bits, the same on every node and in every
// process: rows are distributed by it.
package hash
