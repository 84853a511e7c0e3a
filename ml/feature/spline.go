package feature

import (
	"math"
	"slices"
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

// splines computes a Spline's B-splines.
type splines struct {
	degree int
	knots  []float64
	basis  []float64 // of the degree+1 that are not 0, from the first on
	left   []float64 // scratch
	right  []float64
}

func (c *FitCol) splines() *splines {
	d, n := c.Dim-len(c.Bounds)+1, len(c.Bounds)
	s := &splines{degree: d, basis: make([]float64, d+1), left: make([]float64, d+1), right: make([]float64, d+1)}
	below, above := c.Bounds[1]-c.Bounds[0], c.Bounds[n-1]-c.Bounds[n-2]
	for i := d; i > 0; i-- {
		s.knots = append(s.knots, c.Bounds[0]-float64(float64(i)*below))
	}
	s.knots = append(s.knots, c.Bounds...)
	for i := 1; i <= d; i++ {
		s.knots = append(s.knots, c.Bounds[n-1]+float64(float64(i)*above))
	}
	return s
}

// at computes the splines that are not 0 at x, the first of which it returns. Beyond the ends they are what they are at
// the ends. (Piegl and Tiller, "The NURBS Book", algorithm A2.2.)
func (s *splines) at(x float64) (first int) {
	d := s.degree
	x = min(max(x, s.knots[d]), s.knots[len(s.knots)-1-d])
	inner := s.knots[d+1 : len(s.knots)-1-d]
	k, found := slices.BinarySearch(inner, x)
	if found {
		k++ // a knot belongs to the interval above it
	}
	span := d + k
	s.basis[0] = 1
	for j := 1; j <= d; j++ {
		s.left[j], s.right[j] = x-s.knots[span+1-j], s.knots[span+j]-x
		saved := 0.0
		for r := range j {
			part := s.basis[r] / (s.right[r+1] + s.left[j-r])
			s.basis[r] = saved + float64(s.right[r+1]*part)
			saved = float64(s.left[j-r] * part)
		}
		s.basis[j] = saved
	}
	return k
}

// spline writes the B-splines of a number, and whether it was NULL.
func (w *writer) spline(c *FitCol, src source, col, dense int) func(from, to int) {
	s := c.splines()
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
			first := s.at(v)
			for j := range c.Dim {
				b := 0.0
				if j >= first && j <= first+s.degree {
					b = s.basis[j-first]
				}
				w.b.Set(from+i, dense+j, c.scaled(j, b))
			}
		}
	}
}
