package objective

import "github.com/tributarydb/tributary/exec/kernel/f64"

// Squared is half the squared difference, ½(z-y)², of linear regression.
type Squared struct{}

// Name implements Objective.
func (Squared) Name() string { return "squared" }

// Outputs implements Objective.
func (Squared) Outputs() int { return 1 }

// Pass implements Objective.
func (Squared) Pass(z, h, y, w []float64, acc []f64.Acc) { f64.Squared(z, h, y, w, &acc[0]) }

// Link implements Objective.
func (Squared) Link([]float64, int) {}
