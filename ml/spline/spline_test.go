package spline

import (
	"math"
	"testing"
)

// TestBasis: at each number between the knots and beyond them the splines are 1 in sum and not negative, and of degree 1 they are the
// shares of the knots around it.
func TestBasis(t *testing.T) {
	knots := []float64{-1, 0.5, 2, 7}
	for degree := range 6 {
		s := New(knots, degree)
		for x := -3.0; x < 9; x += 0.25 {
			first, sum := s.At(x), 0.0
			for _, v := range s.Values {
				if sum += v; v < 0 {
					t.Errorf("degree %d at %v: %v", degree, x, s.Values)
				}
			}
			if math.Abs(sum-1) > 1e-12 || first < 0 || first+degree >= len(knots)+degree {
				t.Errorf("degree %d at %v: %v from %d on are %v in sum", degree, x, s.Values, first, sum)
			}
			if k := min(first, len(knots)-2); degree == 1 && x >= -1 && x <= 7 {
				if got := (knots[k]*s.Values[0] + knots[k+1]*s.Values[1]); math.Abs(got-x) > 1e-12 {
					t.Errorf("%v is not %v", got, x)
				}
			}
		}
	}
}
