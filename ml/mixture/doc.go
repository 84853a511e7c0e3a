// Package mixture is the family gaussian_mixture: rows come from one of k Gaussian components, and what is
// learnt is the share, the mean and the covariance of each.
//
//	bounds ─▶ k-means (package kmeans) ─▶ start ─▶ expect … expect ─▶ measure
//	a grid    first components            sums of  responsibilities   likelihood
//	                                      clusters and sums by them
//
// It maximises the likelihood by expectation and maximisation (Dempster, Laird and Rubin, "Maximum likelihood from
// incomplete data via the EM algorithm", 1977; Bishop, "Pattern recognition and machine learning", 2006, section
// 9.2). A pass over the rows computes with what probability each component made each row, and sums of rows and of
// their products by that, of which the next components are made. It ends when the mean log-likelihood rises by no
// more than the tolerance. Options, defaults and the order of these steps are scikit-learn's.
//
// Densities are by the inverse L⁻¹ of the Cholesky factor of a covariance: the squared distance of x is ‖L⁻¹(x-mean)‖².
//
// The model depends on the rows alone: columns and responsibilities are rounded to grids, on which package gram
// and package f64 sum products exactly, in any order; so is the likelihood, in units of 2^-30.
//
// One-hot slots are coordinates of 0 and 1. Log densities are those of the columns as the rows have them, before
// any scaling.
package mixture
