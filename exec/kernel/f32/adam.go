package f32

import "math"

// AdamStep is what all parameters share in a step of Adam (Kingma and Ba 2015): the decay of the
// first moment and 1 less it, of the second likewise, the bias corrections of both moments, epsilon
// and the learning rate.
type AdamStep [8]float64

// Adam moves the parameters x by their gradient g, and the moments m and v with
// them. It computes in float64.
func Adam(x, g, m, v []float32, s *AdamStep) {
	n := len(x)
	adam(x, g[:n], m[:n], v[:n], s)
}

func adamGo(x, g, m, v []float32, s *AdamStep) {
	for i, g := range g {
		g := float64(g)
		first := float64(s[0]*float64(m[i])) + float64(s[1]*g)
		second := float64(s[2]*float64(v[i])) + float64(s[3]*float64(g*g))
		m[i], v[i] = float32(first), float32(second)
		x[i] = float32(float64(x[i]) - float64(s[7]*(first/s[4]))/(math.Sqrt(second/s[5])+s[6]))
	}
}
