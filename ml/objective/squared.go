package objective

// Squared is half the squared difference, ½(z-y)², of linear regression.
type Squared struct{}

// Name implements Objective.
func (Squared) Name() string { return "squared" }

// Outputs implements Objective.
func (Squared) Outputs() int { return 1 }

// Pass implements Objective.
func (Squared) Pass(z, h, l, y, w []float64) {
	for i, v := range z {
		e := v - y[i]
		z[i], h[i] = float64(w[i]*e), w[i]
		l[i] = float64(z[i] * float64(0.5*e))
	}
}

// Link implements Objective.
func (Squared) Link([]float64, int) {}
