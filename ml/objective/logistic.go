package objective

import "github.com/tributarydb/tributary/exec/kernel/f64"

// Logistic is the binary cross-entropy log(1+e^z) - y·z, y in {0, 1}.
type Logistic struct{}

// Name implements Objective.
func (Logistic) Name() string { return "logistic" }

// Outputs implements Objective.
func (Logistic) Outputs() int { return 1 }

// Pass implements Objective.
func (Logistic) Pass(z, h, l, y, w []float64) { f64.Logistic(z, h, l, y, w) }

// Link implements Objective.
func (Logistic) Link(z []float64, _ int) {
	whole := len(z) &^ (f64.Lanes - 1)
	f64.Sigmoids(z[:whole])
	for i, v := range z[whole:] {
		z[whole+i] = f64.Sigmoid1(v)
	}
}
