package objective

import "github.com/tributarydb/tributary/exec/kernel/f64"

// Logistic is the binary cross-entropy log(1+e^z) - y·z, y in {0, 1}.
type Logistic struct{}

// Name implements Objective.
func (Logistic) Name() string { return "logistic" }

// Outputs implements Objective.
func (Logistic) Outputs() int { return 1 }

// Pass implements Objective.
func (Logistic) Pass(z, h, y, w []float64, acc []f64.Acc) { f64.Logistic(z, h, y, w, &acc[0]) }

// Link implements Objective.
func (Logistic) Link(z []float64, _ int) {
	for i, v := range z {
		z[i] = f64.Sigmoid1(v)
	}
}
