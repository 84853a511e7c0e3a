package objective

import "github.com/tributarydb/tributary/exec/kernel/f64"

// Softmax is the cross-entropy of K classes, log Σ e^z_k - z_y, y the number of
// the class. Every class has its own margin, as in scikit-learn: the parameters
// are not unique without a penalty, the predictions are.
type Softmax struct{ K int }

// Name implements Objective.
func (Softmax) Name() string { return "softmax" }

// Outputs implements Objective.
func (s Softmax) Outputs() int { return s.K }

// Pass implements Objective.
func (s Softmax) Pass(z, h, l, y, w []float64) {
	n := len(y)
	// The label's margin and the largest are needed before z is overwritten by
	// the exponentials; they wait in h, which is written last.
	top, own := h[:n], h[n:2*n]
	s.tops(z, top)
	for i, c := range y {
		own[i] = z[int(c)*n+i] - top[i]
	}
	sum := s.exps(z, top) // sum takes top's place
	for i := range n {
		l[i] = float64(w[i] * (f64.Log1(sum[i]) - own[i]))
		sum[i] = 1 / sum[i]
	}
	for k := s.K - 1; k >= 0; k-- { // output 0 last: it overwrites sum
		zk, hk := z[k*n:][:n], h[k*n:][:n]
		ck := float64(k)
		for i := range n {
			p := float64(zk[i] * sum[i])
			r, c := p, float64(p*(1-p))
			if y[i] == ck {
				r = p - 1
			}
			zk[i], hk[i] = float64(r*w[i]), float64(c*w[i])
		}
	}
}

// tops writes the largest margin of each row.
func (s Softmax) tops(z, top []float64) {
	n := len(top)
	copy(top, z[:n])
	for k := 1; k < s.K; k++ {
		for i, v := range z[k*n:][:n] {
			top[i] = max(top[i], v) // without a branch, which would be mispredicted often
		}
	}
}

// exps replaces z by e^(z-top) and top by the sum over outputs.
func (s Softmax) exps(z, top []float64) []float64 {
	n := len(top)
	for k := range s.K {
		zk := z[k*n:][:n]
		for i, t := range top {
			zk[i] -= t
		}
		f64.Exp(zk)
	}
	copy(top, z[:n])
	for k := 1; k < s.K; k++ {
		f64.Add(top, z[k*n:][:n])
	}
	return top
}

// Link implements Objective.
func (s Softmax) Link(z []float64, rows int) {
	top := make([]float64, rows)
	s.tops(z, top)
	if rows%f64.Lanes != 0 { // Exp wants whole tiles
		for k := range s.K {
			for i, t := range top {
				z[k*rows+i] = f64.Exp1(z[k*rows+i] - t)
			}
		}
		copy(top, z[:rows])
		for k := 1; k < s.K; k++ {
			f64.Add(top, z[k*rows:][:rows])
		}
	} else {
		s.exps(z, top)
	}
	for k := range s.K {
		for i, t := range top {
			z[k*rows+i] /= t
		}
	}
}
