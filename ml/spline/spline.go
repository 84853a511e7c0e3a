package spline

import "slices"

// Basis are the B-splines of a degree over knots. Between these, and as many steps of the outermost width beyond both ends as the degree
// has, they are 1 in sum.
type Basis struct {
	Values      []float64 // of the degree+1 that are not 0, from the first on
	degree      int
	knots       []float64
	left, right []float64 // scratch
}

// New returns the splines over two knots or more, which ascend.
func New(knots []float64, degree int) *Basis {
	d, n := degree, len(knots)
	s := &Basis{degree: d, Values: make([]float64, d+1), left: make([]float64, d+1), right: make([]float64, d+1)}
	below, above := knots[1]-knots[0], knots[n-1]-knots[n-2]
	for i := d; i > 0; i-- {
		s.knots = append(s.knots, knots[0]-float64(float64(i)*below))
	}
	s.knots = append(s.knots, knots...)
	for i := 1; i <= d; i++ {
		s.knots = append(s.knots, knots[n-1]+float64(float64(i)*above))
	}
	return s
}

// At computes the splines that are not 0 at x, the first of which it returns. Beyond the ends they are what they are at
// the ends. (Piegl and Tiller, "The NURBS Book", algorithm A2.2.)
func (s *Basis) At(x float64) (first int) {
	d := s.degree
	x = min(max(x, s.knots[d]), s.knots[len(s.knots)-1-d])
	inner := s.knots[d+1 : len(s.knots)-1-d]
	k, found := slices.BinarySearch(inner, x)
	if found {
		k++ // a knot belongs to the interval above it
	}
	span := d + k
	s.Values[0] = 1
	for j := 1; j <= d; j++ {
		s.left[j], s.right[j] = x-s.knots[span+1-j], s.knots[span+j]-x
		saved := 0.0
		for r := range j {
			part := s.Values[r] / (s.right[r+1] + s.left[j-r])
			s.Values[r] = saved + float64(s.right[r+1]*part)
			saved = float64(s.left[j-r] * part)
		}
		s.Values[j] = saved
	}
	return k
}
