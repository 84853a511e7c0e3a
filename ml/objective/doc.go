// Package objective holds the pointwise losses of generalised linear models:
// loss, gradient and curvature of a row as functions of its margins, label and
// weight. Features and parameters are package linear's.
//
// A chunk of rows is worked at once; margins lie output by output:
//
//	z  [ output 0: row 0 … n-1 | output 1: row 0 … n-1 | … ]   n a multiple of f64.Lanes
//	y  [ row 0 … n-1 ]   a number, or the number of a class
//	w  [ row 0 … n-1 ]   ≥ 0; zero for the rows that fill up a tile
//
// Losses are those of rows times their weight: sums are taken elsewhere, and the
// mean once, at the root of the reduce tree.
package objective
