package f64

// MomentAcc are the lane sums of a pass over one column.
type MomentAcc struct {
	S1, S2 [Lanes]float64
}

// Moments adds x-c and its square to the lane sums, element i going to lane i
// mod Lanes. Only the last call of a pass may have a len(x) that is not a
// multiple of Lanes. A sum that is not finite betrays a value that is not.
func Moments(x []float64, c float64, a *MomentAcc) {
	n := len(x) &^ (Lanes - 1)
	if n > 0 {
		momentsOf(a, x[:n], c)
	}
	for i, v := range x[n:] {
		d := v - c
		a.S1[i] += d
		a.S2[i] = FMA(d, d, a.S2[i])
	}
}

func momentsGo(a *MomentAcc, x []float64, c float64) {
	for i := 0; i < len(x); i += Lanes {
		for l, v := range x[i : i+Lanes] {
			d := v - c
			a.S1[l] += d
			a.S2[l] = FMA(d, d, a.S2[l])
		}
	}
}
