package objective

import "github.com/tributarydb/tributary/exec/kernel/f64"

// Objective is a pointwise loss. Implementations have no state.
type Objective interface {
	// Name is what history and errors call the loss.
	Name() string
	// Outputs is the number of margins of a row.
	Outputs() int
	// Pass replaces the margins z by the weighted derivatives of the loss by
	// them, and adds to acc, which has one Acc per output; the loss goes to
	// acc[0]. h has the size of z: it receives the weighted second derivatives
	// (of each output by itself).
	Pass(z, h, y, w []float64, acc []f64.Acc)
	// Link replaces margins by predictions: the value, or the probability of
	// each output. rows is the number of rows of z.
	Link(z []float64, rows int)
}
