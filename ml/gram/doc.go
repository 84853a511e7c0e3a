// Package gram sums products of blocks' columns exactly, so that neither the order of
// rows nor how they are divided matters: for families that train in place on sums of
// products.
//
//	Bounds      least and greatest value of each column, greatest weight
//	  │ Fit                    shift and scale, powers of two
//	  ▼
//	Columns.Pack               columns ─▶ factors (package f64)
//	Product.Add                sums of products, integers
//	Product.Take ─▶ Sums       merged in any order; At gives float64s
//	Coarse.Add, Take           those of columns rounded to bytes
//
// One-hot slots are columns of 0 and 1. After the columns comes one of ½, so that
// sums and the weight of rows are products like any other.
package gram
