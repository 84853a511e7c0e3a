package f64

import "math"

// Sigmoids computes Sigmoid1 of z in place; len(z) is a multiple of Lanes.
func Sigmoids(z []float64) {
	if len(z) > 0 {
		sigmoids(z)
	}
}

// sigmoidsGo has no unpredictable branch.
func sigmoidsGo(z []float64) {
	for i, v := range z {
		t := Exp1(-math.Abs(v))
		p := 1 / (1 + t)
		below := uint64(int64(math.Float64bits(v)) >> 63)
		z[i] = math.Float64frombits(math.Float64bits(p)&^below | math.Float64bits(float64(t*p))&below)
	}
}
