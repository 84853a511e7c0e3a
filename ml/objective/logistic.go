package objective

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

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
	var t [256]float64
	for len(z) > 0 {
		n := min(len(t), len(z))
		for i, v := range z[:n] {
			t[i] = -math.Abs(v)
		}
		f64.Exp(t[:(n+f64.Lanes-1)&^(f64.Lanes-1)])
		for i, v := range z[:n] { // as f64.Sigmoid1, without a branch that nobody could foretell
			p := 1 / (1 + t[i])
			below := uint64(int64(math.Float64bits(v)) >> 63)
			z[i] = math.Float64frombits(math.Float64bits(p)&^below | math.Float64bits(float64(t[i]*p))&below)
		}
		z = z[n:]
	}
}
