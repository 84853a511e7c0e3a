// Package selection holds the loops by which filters pick rows: a mask of those whose
// integer lies in a range, or is less than that of another column, and the numbers of the
// rows of a mask.
//
//	column     7  3  9  4 …                 range [3, 4]
//	mask       0  1  0  1 …                 a bit a row, 16 rows a word
//	selection  1  3 …                       ascending row numbers
//
// Masks of several columns are joined by AND before any row is numbered: a
// comparison of 16 rows takes a few cycles, the number of a row as much alone.
//
// A range is its least value and its width, so that one comparison without signs
// tests both ends: x is in [lo, lo+width] where x − lo, which wraps, is at most width.
package selection
