package f64

// MomentAcc are the lane sums of a pass over one column.
type MomentAcc struct {
	S1, S2 [Lanes]float64
}

// Moments adds x-c and its square to the lane sums, element i going to lane i
// mod Lanes. Only the last call of a pass may have a len(x) that is not a
// multiple of Lanes. A sum that is not finite betrays a value that is not.
func Moments(x []float64, c float64, a *MomentAcc) {
	s1, s2 := a.S1, a.S2
	n := len(x) &^ (Lanes - 1)
	for i := 0; i < n; i += Lanes {
		v := (*[Lanes]float64)(x[i:])
		for l := range Lanes {
			d := v[l] - c
			s1[l] += d
			s2[l] = FMA(d, d, s2[l])
		}
	}
	for i, v := range x[n:] {
		d := v - c
		s1[i] += d
		s2[i] = FMA(d, d, s2[i])
	}
	a.S1, a.S2 = s1, s2
}
