package calibration

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// Curve maps a score, the log-odds of a class, to a probability.
type Curve struct {
	Slope, Offset float64   // of a sigmoid
	X, Y          []float64 // of an isotonic one: scores, ascending, and their probabilities
}

// at returns the probability of a score.
func (c *Curve) at(z float64) float64 {
	if len(c.X) == 0 {
		return f64.Sigmoid1(-(float64(c.Slope*z) + c.Offset))
	}
	k, found := slices.BinarySearch(c.X, z)
	switch {
	case found:
		return c.Y[k]
	case k == 0:
		return c.Y[0]
	case k == len(c.X):
		return c.Y[k-1]
	}
	share := (z - c.X[k-1]) / (c.X[k] - c.X[k-1])
	return c.Y[k-1] + float64(share*(c.Y[k]-c.Y[k-1]))
}

// Adjustment is what becomes of the scores of a model. It is immutable.
type Adjustment struct {
	Curves []Curve     // of the second of two classes, or of each of more; nil where probabilities stay
	Costs  [][]float64 // by true and predicted class; nil where the likeliest class is predicted
	// Interval says that numbers have bounds, Radius below and above the prediction.
	Interval bool
	Radius   float64
}

// Apply returns what is predicted from scores, which stay as they are.
func (a *Adjustment) Apply(s *family.Scores) *family.Scores {
	out := *s
	switch {
	case len(a.Curves) == 1:
		p := make([]float64, s.Rows)
		for i := range p {
			p[i] = a.Curves[0].at(odds(s.Prob(1, i)))
		}
		out.Probs = [][]float64{nil, p}
	case a.Curves != nil:
		out.Probs = make([][]float64, len(s.Probs))
		for k := range out.Probs {
			out.Probs[k] = make([]float64, s.Rows)
			for i := range out.Probs[k] {
				out.Probs[k][i] = a.Curves[k].at(odds(s.Prob(k, i)))
			}
		}
		normalise(out.Probs)
	}
	out.Costs = a.Costs
	if a.Interval {
		low, high := make([]float64, s.Rows), make([]float64, s.Rows)
		for i, v := range s.Value[:s.Rows] {
			low[i], high[i] = v-a.Radius, v+a.Radius
		}
		out.Extra = append(s.Extra[:len(s.Extra):len(s.Extra)], low, high)
	}
	return &out
}

// normalise makes the probabilities of each row add up to 1, which those of classes one by one do not.
func normalise(probs [][]float64) {
	for i := range probs[0] {
		sum := 0.0
		for _, p := range probs {
			sum += p[i]
		}
		for _, p := range probs {
			if sum > 0 {
				p[i] /= sum
			} else {
				p[i] = 1 / float64(len(probs))
			}
		}
	}
}

// Bytes is about the memory that it takes.
func (a *Adjustment) Bytes() (n int64) {
	if a == nil {
		return 0
	}
	for _, c := range a.Curves {
		n += 64 + 16*int64(len(c.X))
	}
	return n + 8*int64(len(a.Costs)*len(a.Costs))
}

// Encode writes the canonical bytes.
func (a *Adjustment) Encode(e *canon.E) {
	e.U32(uint32(len(a.Curves)))
	for _, c := range a.Curves {
		e.F64(c.Slope)
		e.F64(c.Offset)
		e.F64s(c.X)
		e.F64s(c.Y)
	}
	e.U32(uint32(len(a.Costs)))
	for _, row := range a.Costs {
		e.F64s(row)
	}
	e.Bool(a.Interval)
	e.F64(a.Radius)
}

// Decode reads what Encode wrote.
func Decode(d *canon.D) *Adjustment {
	a := &Adjustment{}
	for range d.Count(24) {
		c := Curve{d.F64(), d.F64(), d.F64s(), d.F64s()}
		if len(c.X) != len(c.Y) || !slices.IsSorted(c.X) {
			d.Fail()
		}
		a.Curves = append(a.Curves, c)
	}
	for range d.Count(4) {
		a.Costs = append(a.Costs, d.F64s())
	}
	a.Interval, a.Radius = d.Bool(), d.F64()
	return a
}

// Fits reports whether it is of a model with so many classes, 0 for one of numbers.
func (a *Adjustment) Fits(classes int) bool {
	curves := classes
	if classes == 2 {
		curves = 1
	}
	if a.Curves != nil && len(a.Curves) != curves || a.Costs != nil && len(a.Costs) != classes || a.Interval && classes > 0 {
		return false
	}
	return !slices.ContainsFunc(a.Costs, func(row []float64) bool { return len(row) != classes })
}
