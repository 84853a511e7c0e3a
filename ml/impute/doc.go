// Package impute fills gaps in rows of numbers from the other numbers of the row. A gap is NaN.
//
//	Nearest    the mean of the nearest rows of the training that have the number
//	Iterative  regressions of the columns on each other, in rounds
//
// Both are fitted once, to what the reduce tree brings together, and are then a list of numbers that is
// part of the model:
//
//	Nearest    different rows with their weights                  ─▶ Fit ─▶ numbers ─▶ Filler
//	Iterative  sums of products by the places of a row's gaps     ─▶ Fit ─▶ numbers ─▶ Filler
package impute

// Filler fills the gaps of rows. It keeps scratch space and is for one goroutine.
type Filler interface {
	Fill(row []float64)
}

// MaxColumns is how many columns a row may have.
const MaxColumns = 64
