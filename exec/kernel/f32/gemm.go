package f32

import "math"

// FMA is a·b+c, rounded once to float32. The product is exact in float64; its
// sum with c is rounded to odd there, so that rounding again is right (Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
func FMA(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	t := s - p
	if err := (p - (s - t)) + (q - t); err != 0 && err == err && !math.IsInf(s, 0) {
		if u := math.Float64bits(s); u&1 == 0 {
			if (err > 0) == (s > 0) {
				u++
			} else {
				u--
			}
			s = math.Float64frombits(u)
		}
	}
	return float32(s)
}

// Gemm sets C, m×n, to op(A)·op(B), or with add adds that to it. op(X) is X or,
// where it says so, its transpose. Matrices are row-major; lda, ldb and ldc are
// the lengths of their rows in memory. Each element is one chain of FMAs over k
// from 0, or from what is in C.
func Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, add bool) {
	for i := range m {
		for j := range n {
			var s float32
			if add {
				s = c[i*ldc+j]
			}
			for l := range k {
				x, y := i*lda+l, l*ldb+j
				if transA {
					x = l*lda + i
				}
				if transB {
					y = j*ldb + l
				}
				s = FMA(a[x], b[y], s)
			}
			c[i*ldc+j] = s
		}
	}
}
