// Package bins finds the bins of numbers, a column at a time, and counts them. A table says, by the first bits of a
// number, after how many edges to begin; what is left are the edges between numbers with the same first bits, mostly
// one at most. There is no branch on whether a number is above an edge, as it would be unpredictable.
//
//	edges   -1.5   0.2   0.3   7          NaN after them: nothing is above it
//	first   0 0 0 1 1 1 1 2 … 3 3 4 4     by the first bits of -∞ … ∞
//	bins    [0]  [1]   [2]   [3]  [4]     a byte each; 255 for what is no number
package bins
