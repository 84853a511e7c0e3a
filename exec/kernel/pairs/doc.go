// Package pairs counts pairs of rows that are in order, without looking at each: those of two sides,
// of which the area under a ROC curve is made (Mann and Whitney 1947), and those of survival times
// and risks (Harrell et al. 1982). Counts are integers, so that neither the order of the rows nor the
// number of threads matters.
package pairs
