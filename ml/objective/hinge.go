package objective

// SquaredHinge is the loss of a linear support vector machine, max(0, 1-s·z)²,
// s being 1 for a row of the class and -1 for others: of two classes one output,
// of more each class against the rest (Fan et al., "LIBLINEAR", 2008).
type SquaredHinge struct{ K int }

// Name implements Objective.
func (SquaredHinge) Name() string { return "squared hinge" }

// Outputs implements Objective.
func (o SquaredHinge) Outputs() int {
	if o.K <= 2 {
		return 1
	}
	return o.K
}

// Pass implements Objective.
func (o SquaredHinge) Pass(z, h, l, y, w []float64) {
	n := len(y)
	clear(l[:n])
	for k := range o.Outputs() {
		class := float64(k)
		if o.K <= 2 {
			class = 1
		}
		for i, c := range y {
			s := -1.0
			if c == class {
				s = 1
			}
			v, at := z[k*n+i], k*n+i
			z[at], h[at] = 0, 0
			if m := 1 - float64(s*v); m > 0 || m != m {
				z[at], h[at] = float64(w[i]*float64(-2*float64(s*m))), float64(2*w[i])
				l[i] += float64(w[i] * float64(m*m))
			}
		}
	}
}

// Link implements Objective. A support vector machine has no probabilities: the
// result is the sigmoid of the margin, for several classes divided by their
// sum, which orders the classes of a row as the margins do.
func (o SquaredHinge) Link(z []float64, rows int) {
	Logistic{}.Link(z, rows)
	if o.K <= 2 {
		return
	}
	for i := range rows {
		sum := 0.0
		for k := range o.K {
			sum += z[k*rows+i]
		}
		for k := range o.K {
			if sum > 0 {
				z[k*rows+i] /= sum
			} else {
				z[k*rows+i] = 1 / float64(o.K)
			}
		}
	}
}
