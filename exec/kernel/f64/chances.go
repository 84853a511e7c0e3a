package f64

import "math"

// Chances gives Sigmoid1 of whole lanes of z, where they lie.
func Chances(z []float64) {
	var t [256]float64
	for len(z) > 0 {
		n := min(len(t), len(z))
		for i, v := range z[:n] {
			t[i] = -math.Abs(v)
		}
		Exp(t[:n])
		chances(z[:n], t[:n])
		z = z[n:]
	}
}

// chancesGo replaces z, of which t is e^-|z|, by Sigmoid1, without a branch that nobody
// could foretell.
func chancesGo(z, t []float64) {
	for i, v := range z {
		p := 1 / (1 + t[i])
		below := uint64(int64(math.Float64bits(v)) >> 63)
		z[i] = math.Float64frombits(math.Float64bits(p)&^below | math.Float64bits(float64(t[i]*p))&below)
	}
}
