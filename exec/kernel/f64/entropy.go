package f64

import "math"

// leastProbability is how close to 0 and 1 CrossEntropy lets a probability be.
const leastProbability = 0x1p-52

// CrossEntropy gives what rows lose that were given the probability p: -log(p)
// where y is 1, -log(1-p) where it is 0. p is kept off 0 and 1 by 2^-52.
func CrossEntropy(loss, p, y []float64) {
	n := len(loss) &^ (Lanes - 1)
	if n > 0 {
		crossEntropy(loss[:n], p[:n], y[:n])
	}
	crossEntropyGo(loss[n:], p[n:], y[n:])
}

func crossEntropyGo(loss, p, y []float64) {
	for i, v := range p {
		if v < leastProbability {
			v = leastProbability
		}
		if v > 1-leastProbability {
			v = 1 - leastProbability
		}
		// The logarithm's argument is u, and rest what u was rounded by, which is
		// where it is not small beside log(u), near 1, what the logarithm lacks.
		u, rest := v, v-v // NaN of NaN
		if y[i] == 0 {
			u = 1 - v
			rest = (1 - u) - v
		}
		b := math.Float64bits(u)
		m := math.Float64frombits(b&(1<<52-1) | 1022<<52)
		n := float64(int(b>>52) - 1022)
		if m < math.Sqrt2/2 {
			m, n = m+m, n-1
		}
		l := math.FMA(n, ln2Hi, math.FMA(n, ln2Lo, atanh2(m-1)+rest))
		loss[i] = 0 - l
	}
}
