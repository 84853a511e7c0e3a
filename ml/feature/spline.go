package feature

import (
	"math"

	"github.com/tributarydb/tributary/ml/spline"
)

// Bounds of ml.spline.
const (
	maxKnots  = 100
	maxDegree = 5
)

// degree is that of a Spline's polynomials.
func (c *Col) degree() int {
	if len(c.Boundaries) > 0 {
		return int(c.Boundaries[0])
	}
	return 3
}

// fitKnots puts knots at quantiles, as scikit-learn's SplineTransformer does with knots = 'quantile'. Between them, and as
// many steps of the outermost width beyond both ends as the degree has, B-splines are 1 in sum.
func (c *FitCol) fitKnots(spec *Col, st *ColStats) {
	for i := range spec.Buckets {
		var at float64
		switch i {
		case 0:
			at = st.Number.Min
		case spec.Buckets - 1:
			at = st.Number.Max
		default:
			at = st.Sketch.Quantile(float64(i) / float64(spec.Buckets-1))
		}
		if n := len(c.Bounds); n == 0 || at > c.Bounds[n-1] {
			c.Bounds = append(c.Bounds, at)
		}
	}
	if len(c.Bounds) == 1 {
		c.Bounds = append(c.Bounds, c.Bounds[0]+max(1, math.Abs(c.Bounds[0])))
	}
	c.Dim = len(c.Bounds) + spec.degree() - 1
}

// spline writes the B-splines of a number, and whether it was NULL.
func (w *writer) spline(c *FitCol, src source, col, dense int) func(from, to int) {
	s := spline.New(c.Bounds, c.Dim-len(c.Bounds)+1)
	return func(from, to int) {
		vals := w.buf[:to-from]
		readNumbers(src, c.Type, c.Encoder, col, from, vals)
		for i, v := range vals {
			if v-v != 0 {
				if c.Indicator {
					w.b.Set(from+i, dense+c.Dim, 1)
				}
				if v = c.Fill; v != v { // left to the model
					for j := range c.Dim {
						w.b.Set(from+i, dense+j, v)
					}
					continue
				}
			}
			first := s.At(v)
			for j := range c.Dim {
				b := 0.0
				if j >= first && j < first+len(s.Values) {
					b = s.Values[j-first]
				}
				w.b.Set(from+i, dense+j, c.scaled(j, b))
			}
		}
	}
}
