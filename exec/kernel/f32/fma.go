package f32

import "math"

// fma is a·b+c, rounded once to float32. The product is exact in float64; its
// sum with c is rounded to odd there, so that rounding again is right (Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
func fma(a, b, c float32) float32 {
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
