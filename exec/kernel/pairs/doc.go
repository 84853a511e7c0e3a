// Package pairs counts the pairs of rows that are in order, without comparing each pair: pairs of a
// positive and a negative row, for the area under the ROC curve (Mann and Whitney 1947), and pairs
// of survival times with their risks, for the concordance index (Harrell et al. 1982). Counts are
// integers, so the result depends neither on the order of rows nor on the number of threads.
package pairs
