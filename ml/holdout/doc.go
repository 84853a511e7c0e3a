// Package holdout says which rows of a training are held out: a function of the rows, and
// of nothing else, wherever they are and in whatever order they came.
//
//	rows ─▶ Counter ─▶ Copies ─┬ Merge, over nodes ─▶ Holdout, Fold ─▶ Drawer: row by row
//	                           └ Unsure: which must be counted again
//
// Other bits of a row's hash than those that distribute it are its draw; of rows with
// many copies a share is held out. Bands part the draws where it is known about, before all
// rows are counted, which of them will be held out.
package holdout
