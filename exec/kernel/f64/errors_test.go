package f64

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestErrorsAreExact compares sums of prediction errors with exact ones: float32s and float64s, in
// the range of the fixed-point sums and outside; and the kernels of all instruction sets with each
// other.
func TestErrorsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	var e Errors
	truths, errors := 0, 0
	for round := range 600 {
		n := Lanes * (1 + r.IntN(SplitRows/Lanes))
		y, p := make([]float64, n), make([]float64, n)
		scale := math.Ldexp(1, r.IntN(61)-30)
		for i := range y {
			y[i] = r.NormFloat64() * scale
			if round%4 > 0 {
				y[i] = float64(float32(y[i]))
			}
			switch {
			case round%5 == 1 && r.IntN(9) == 0:
				y[i] = 0
			case round%5 == 2:
				y[i] = 0
			case round%5 == 3 && i == n/2:
				y[i] *= 0x1p-30
			}
			p[i] = y[i] + r.NormFloat64()*scale/100
			if round%7 == 0 {
				p[i] = y[i]
			}
		}
		var wild bool
		if wild = round%50 == 49; wild {
			y[r.IntN(n)] = []float64{math.NaN(), math.Inf(1), math.MaxFloat64, 5e-324}[round/50%4]
		}
		truth, errs := e.Parts(y, p)
		check := func(name string, parts []float64, of func(y, d *big.Float) *big.Float) {
			want, got := new(big.Float).SetPrec(3000), new(big.Float).SetPrec(3000)
			for i, v := range y {
				want.Add(want, of(new(big.Float).SetPrec(200).SetFloat64(v), new(big.Float).SetPrec(200).SetFloat64(v-p[i])))
			}
			for _, v := range parts {
				got.Add(got, new(big.Float).SetFloat64(v))
			}
			if got.Cmp(want) != 0 {
				t.Fatalf("round %d: %s is %v, not %v", round, name, got, want)
			}
		}
		square := func(v *big.Float) *big.Float { return new(big.Float).SetPrec(200).Mul(v, v) }
		if truth != nil {
			truths++
			check("Σy", truth[:2], func(y, d *big.Float) *big.Float { return y })
			check("Σy²", truth[2:], func(y, d *big.Float) *big.Float { return square(y) })
		}
		if errs != nil {
			errors++
			check("Σd", errs[:2], func(y, d *big.Float) *big.Float { return d })
			check("Σ|d|", errs[2:4], func(y, d *big.Float) *big.Float { return d.Abs(d) })
			check("Σd²", errs[4:], func(y, d *big.Float) *big.Float { return square(d) })
		}
		if wild && truth != nil {
			t.Fatalf("round %d: truths that are wild have sums", round)
		}
		if wild {
			continue // the payload of a NaN is not defined
		}
		var ends [4 * Lanes]float64
		var sums [13 * Lanes]float64
		errorEndsGo(&ends, y, p)
		errorPartsGo(&sums, &e.grids, y, p)
		for _, l := range errorLevels() {
			var otherEnds [4 * Lanes]float64
			var otherSums [13 * Lanes]float64
			l.ends(&otherEnds, y, p)
			l.parts(&otherSums, &e.grids, y, p)
			sameBits(t, "ends", otherEnds[:], ends[:])
			sameBits(t, "parts", otherSums[:], sums[:])
		}
	}
	if truths < 200 || errors < 300 {
		t.Errorf("of 600 only %d have sums of truths, %d of errors", truths, errors)
	}
}

func BenchmarkErrors(b *testing.B) {
	r := rand.New(rand.NewPCG(41, 2))
	y, p := make([]float64, SplitRows), make([]float64, SplitRows)
	for i := range y {
		y[i] = float64(float32(r.NormFloat64() * 100))
		p[i] = y[i] + r.NormFloat64()
	}
	var e Errors
	for b.Loop() {
		e.Parts(y, p)
	}
}

// errorBodies are the kernels of one instruction set.
type errorBodies struct {
	ends  func(ends *[4 * Lanes]float64, y, p []float64)
	parts func(sums *[13 * Lanes]float64, grids *[5]float64, y, p []float64)
}
