// Package neighbors is the family nearest_neighbors: a row is predicted by the training rows nearest to it. The
// model is these rows.
//
//	rows ─▶ collected, in the order of their contents, copies as one row that weighs more
//
// A prediction compares a row with all of them: which are nearest is decided by products, whose error is some
// last digits of a squared distance; the distances of the nearest are then computed by their definition. A row's
// class, or its number, is that of its nearest rows of a weight of n_neighbors in all, each with its weight or, for
// weights = 'distance', that over its distance; rows at distance 0 outvote all others. Equal distances are in the
// order of the rows' contents.
//
//	euclidean  √Σ(x-y)²      manhattan  Σ|x-y|      cosine  1 - x·y / (‖x‖·‖y‖), 1 for a row of zeros
//
// Categories are coordinates of 0 and 1, one a category, of which those that differ alone count.
//
// Sources: Fix and Hodges, "Discriminatory analysis" (1951); Cover and Hart, "Nearest neighbor pattern
// classification" (1967); Dudani, "The distance-weighted k-nearest-neighbor rule" (1976). Options and defaults are
// scikit-learn's.
package neighbors
