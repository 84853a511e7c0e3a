// Package linear has the families of generalised linear models: losses of a row's
// margin, the product of weights and features, with penalties on the weights.
//
//	bounds ─▶ gram ─▶ normal equations, or coordinate descent      squared loss
//	bounds ─▶ evaluate ─▶ evaluate …    an optimiser of package optim
//	       … ─▶ evaluate, with the Hessian ─▶ standard errors      where asked for
//
// All sums over rows are integers, so that neither the order of rows nor how they lie
// on nodes matters. Sums of products with features cost no more than floats: a row's
// residual becomes a factor (f64.FixAll), and is added by the kernel that would add
// any, to accumulators that round each product to the same grid (f64.Starts; the
// pre-rounding of Demmel and Nguyen, "Parallel reproducible summation", 2015). Grids
// follow from bounds: of the columns, which one pass computes, and of residuals and
// losses, which are assumed to be at most a multiple of the greatest ones of the
// previous evaluation. Where they are greater the evaluation is repeated: all of this
// depends on the rows alone.
//
// A chunk of rows is processed from margins to gradient while it is in the cache. Where
// there are too many one-hot features for their weights to be in the cache, blocks are
// sorted by them once (block.BySlot); then weights are streamed and margins stay in
// the cache. Sums become the objective at the root, where the mean is taken and the
// penalty added, once:
//
//	F(θ) = Σ weight·loss / Σ weight  +  l1·|weights|  +  ½·l2·‖weights‖²
//
// Parameters are stored output by output: weights of the dense columns, weights of the
// slots (package feature), the intercept; then the numbers that have no weights. A
// column of offsets is a dense one whose weight is 1 and is not learnt.
package linear
