// Package isolation is the family isolation_forest: rows that few random splits part from all others are
// anomalies.
//
//	most ─▶ weigh ─▶ refine ─▶ draw ─▶ (trees at the root) ─▶ score
//	greatest  weight of rows      the rows  each of some of       the distribution of scores,
//	weight    by their hash       of the    the rows              for the contamination
//	                              sample
//
// A tree divides a sample of rows at random, a feature and a place between its least and greatest value, until
// each row is alone or the tree is as deep as a balanced one. A row's score is 2^(-mean depth / c), c being the mean
// depth of an unsuccessful search in a binary tree of as many rows: near 1 for anomalies, below ½ for others (Liu,
// Ting and Zhou, "Isolation forest", 2008). Options, defaults and the rule at a leaf of several rows are
// scikit-learn's. Of a category a split asks whether a row has it.
//
// The sample depends on the rows alone. Rows are in the order of a hash of their content and the seed, each as
// wide as its weight, and those at equal distances along this line are drawn (systematic sampling, Madow and
// Madow, 1944): where the sample is as long as the rows, each is drawn as often as there are copies of it. The
// line is never made. Passes sum the weight of the rows of each range of hashes, first of all ranges and then of
// parts of those in which something is drawn, until there are few rows in a part; these are collected. A row
// of weight 2 is as long as two.
package isolation
