// Package decomp is two families of models that replace rows by their
// coordinates along a few directions, the components: pca, along which the rows
// vary most around their mean, and svd, the right singular vectors of the rows as
// they are (truncated SVD). One-hot slots are columns of 0 and 1.
//
//	full        bounds ─▶ gram ─▶ eigenvectors                 XᵀX, exact sums
//	davidson    bounds ─▶ coarse ─▶ eigenvectors ─▶ apply ─▶ Ritz, correct ─▶ apply …
//	randomized  bounds ─▶ apply ─▶ orth ─▶ apply … ─▶ Ritz     XᵀX·Q, exact sums
//	tsqr        qr, merged by leaves ─▶ one-sided Jacobi       R of [1 X]
//
// All but tsqr take rows in any order: their sums of products are
// integers (package f64, AddFixed), of columns around the middle of their range,
// which keeps the digits of data far from the origin. With a column of ones
// beside the others, sums, means and the number of rows are products like any
// other:
//
//	      x1 … xd  1
//	x1  ┌           Σ ┐
//	 …  │  Gram     Σ │     covariance = (Gram - Σ·Σᵀ/n) / (n-1)
//	xd  │           Σ │
//	1   └ Σ  Σ  Σ   n ┘
//
// The Gram matrix squares the singular values: those below 1e-8 of the greatest
// are noise. tsqr has no such limit (Demmel et al., "Communication-optimal
// parallel and sequential QR", 2012): each leaf makes a triangle R of its rows by
// Householder's reflections, and two triangles on top of each other make one. The
// column of ones comes first, so that what is right of it and below is the
// triangle of the centred rows.
//
// davidson finds the components of full to about nine digits without the exact Gram
// matrix: it starts from that of columns rounded to bytes, and corrects its error by
// products of the exact one with some directions (davidson.go).
//
// randomized is Halko, Martinsson and Tropp, "Finding structure with
// randomness", 2011: subspace iterations of XᵀX, begun with random normal
// numbers that the seed and the column's number decide.
//
// Eigenvectors come by Householder's tridiagonal form, bisection with Sturm's
// sequence and inverse iteration (Parlett, "The symmetric eigenvalue problem",
// 1980), which cost little where few are wanted. A component's sign is such that
// its loading of greatest size is positive.
package decomp
