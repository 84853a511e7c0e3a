// Package recommend is the family matrix_factorization: users and items have vectors of which the products are what
// users think of items. It learns them from rows of a user, an item and a rating, by alternating least squares:
//
//	collect   the rows of all nodes ─▶ ratings by user, copies of a pair as one
//	users     the items' vectors down ─▶ those of the users up, each a least-squares problem of its own
//	items     the users' vectors down ─▶ those of the items up, and the loss
//
// Explicit feedback minimises, with intercepts as BigQuery ML has them, over the ratings r of weight w
//
//	Σ w (r - m - b_u - b_i - x_u·y_i)² + l2 (Σ |x_u|² + b_u² + Σ |y_i|² + b_i²),  m their mean
//
// Implicit feedback (Hu, Koren and Volinsky, "Collaborative filtering for implicit feedback datasets", 2008) minimises
// over all pairs, with the preference p = 1 where r > 0, else 0, and the confidence c = 1 + wals_alpha·|r|,
//
//	Σ c (p - x_u·y_i)² + l2 (Σ |x_u|² + Σ |y_i|²)
//
// where the rows of a pair are summed up. The sum over all pairs is Σ x_uᵀ (YᵀY) x_u, so that a problem costs no more
// than its ratings. Problems are solved by a few steps of conjugate gradients from the vector before (Takács, Pilászy
// and Tikk, "Applications of the conjugate gradient method for implicit feedback collaborative filtering", 2011).
//
// A model's bytes do not depend on where problems are solved: the sums of each are in the order of the other side's
// numbers, and these are in the order of the values' bytes. Each node has all ratings, at eight bytes a rating and
// direction, and solves a range of the users and of the items.
package recommend
