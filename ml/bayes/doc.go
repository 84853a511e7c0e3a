// Package bayes is the family naive_bayes: classes by Bayes' rule, under the assumption that the features
// are independent of each other within a class.
//
//	bounds ─▶ sums                     by class: weight, Σx and Σx² of numbers, weight of each category
//	ranges    one pass over the rows   ─▶ the distribution of each feature in each class
//
// P(class | row) is proportional to P(class) · Π P(feature | class). Distributions follow the columns'
// types, or the option model:
//
//	gaussian     numbers:    density of N(mean, variance + var_smoothing · the greatest variance of a column)
//	categorical  categories: (weight of the category in the class + alpha) / (class + alpha · categories)
//	multinomial  counts:     θ^x, θ = (Σx in the class + alpha) / (Σ over all columns + alpha · columns)
//	bernoulli    x > 0:      p or 1 - p, p = (weight of the rows where it is + alpha) / (class + 2·alpha)
//
// Terms of texts are counts, by TF-IDF shares of counts, whose zeros are not stored (block.Sparse): multinomial adds what is there,
// and bernoulli begins with the sum of log(1-p) over all terms.
//
// A number that is missing says nothing: it counts neither in training nor at prediction.
//
// The model depends on the rows alone. A number is rounded to an integer of a grid that the bounds of its
// column give, at least 2^-40 of their range for a million rows; sums of these and of their squares are exact,
// in 64 and 128 bits, so that they are the same in any order. The variance is computed from them with
// more digits than a float64 has, so that nothing cancels out.
//
// Sources: Hand and Yu, "Idiot's Bayes: not so stupid after all?" (2001); McCallum and Nigam, "A comparison of
// event models for naive Bayes text classification" (1998), for multinomial and bernoulli; Lidstone's
// smoothing. Names and defaults are those of scikit-learn.
package bayes
