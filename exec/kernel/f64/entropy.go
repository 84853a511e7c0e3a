package f64

import "math"

// leastProbability is the distance from 0 and 1 that CrossEntropy clips probabilities to.
const leastProbability = 0x1p-52

// CrossEntropy computes the log loss of rows of predicted probability p: -log(p) where y is 1,
// -log(1-p) where it is 0. p is kept off 0 and 1 by 2^-52.
func CrossEntropy(loss, p, y []float64) {
	n := len(loss) &^ (Lanes - 1)
	if n > 0 {
		crossEntropy(loss[:n], p[:n], y[:n])
	}
	crossEntropyGo(loss[n:], p[n:], y[n:])
}

// LabelEntropy is CrossEntropy with y of 1 where label is hit.
func LabelEntropy(loss, p []float64, label []uint32, hit uint32) {
	n := len(loss) &^ (Lanes - 1)
	if n > 0 {
		labelEntropy(loss[:n], p[:n], label[:n], hit)
	}
	labelEntropyGo(loss[n:], p[n:], label[n:], hit)
}

func crossEntropyGo(loss, p, y []float64) {
	for i, v := range p {
		loss[i] = entropy1(v, y[i] != 0)
	}
}

func labelEntropyGo(loss, p []float64, label []uint32, hit uint32) {
	for i, v := range p {
		loss[i] = entropy1(v, label[i] == hit)
	}
}

func entropy1(v float64, hit bool) float64 {
	if v < leastProbability {
		v = leastProbability
	}
	if v > 1-leastProbability {
		v = 1 - leastProbability
	}
	// The logarithm's argument is u, and rest what u was rounded by, which is
	// where it is not small beside log(u), near 1, what the logarithm lacks.
	u, rest := v, v-v // NaN of NaN
	if !hit {
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
	return 0 - l
}

// LossRows is the most losses that LossParts adds at once.
const LossRows = 1024

// LossParts returns three numbers whose sum is that of whole lanes of losses, at most
// LossRows, of 0 or from 2^-53 to 2^10: a multiple of 2^-30, one of 2^-70 and one of 2^-105.
// None of the sums of such parts is rounded, in whatever order they are added (Splits).
func LossParts(loss []float64) (high, middle, low float64) {
	if len(loss) == 0 {
		return 0, 0, 0
	}
	var sums [3 * Lanes]float64
	lossParts(&sums, loss)
	return fold((*[Lanes]float64)(sums[:])), fold((*[Lanes]float64)(sums[Lanes:])), fold((*[Lanes]float64)(sums[2*Lanes:]))
}

func lossPartsGo(sums *[3 * Lanes]float64, loss []float64) {
	const highGrid, lowGrid = 0x1.8p22, 0x1.8p-18
	for i, v := range loss {
		h := (v + highGrid) - highGrid
		v -= h
		m := (v + lowGrid) - lowGrid
		sums[i%Lanes] += h
		sums[Lanes+i%Lanes] += m
		sums[2*Lanes+i%Lanes] += v - m
	}
}
