// Package tree is the families of models made of decision trees:
// gradient_boosted_trees and random_forest.
//
// Rows stay where they lie. A node keeps of each row its bins, one byte a
// column, its scores and its place among the nodes of the tree that grows:
//
//	block  ──bins──▶  [ row: c0 c1 … ]  uint8, row by row in groups of columns
//	                    scores          float64, output by output
//	                    gradients       int64: g<<shift + h, fixed point
//	                    order           rows of tree node 3 | of node 4 | of node 6 …
//
// The root grows trees level by level, or best-first where leaves are bounded:
//
//	sketch   values, labels, weights of all rows      ─▶ bins, units
//	bin      blocks become bins                       ─▶ first scores
//	round    last trees' values are added to scores,
//	         gradients, histograms of the roots       ─▶ best splits, losses
//	grow     rows are parted, histograms of the
//	         smaller children; the others are
//	         differences                              ─▶ best splits
//	renew    of leaves that are quantiles: weights
//	         of their rows by digits of residuals     ─▶ the next digit
//
// Of a node with few rows the histogram is larger than the rows: these are sent
// to the root, which grows the subtree alone (subtree.go).
//
// All sums over rows are sums of integers, so the order of rows, threads and
// nodes cannot change a model: gradients and losses are rounded to fixed point
// row by row, and samples and bootstraps are drawn by hashes of the rows'
// contents. Floats are computed from those sums at the root alone, and for each
// row by itself.
//
// Sources: Chen and Guestrin, "XGBoost" (2016), for the gain, penalties,
// sparsity-aware splits (a learnt default direction of missing values) and
// monotone constraints; Ke et al., "LightGBM" (2017), for best-first growth,
// differences of histograms and splits by category, after Fisher (1958); Shi et
// al. (2022) for quantised gradients; Breiman, "Random Forests" (2001), and Oza
// and Russell (2001) for the bootstrap by Poisson numbers; Lundberg, Erion and
// Lee (2018) and Lundberg et al. (2020), TreeSHAP, for explanations.
package tree
