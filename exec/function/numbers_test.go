package function

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// TestFloatLoop: a function of floats has the value of each row, whether values come again in all rows, at first only,
// later only, or never.
func TestFloatLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	few := func() float64 { return float64(r.IntN(24)) * math.Pi / 12 }
	odd := func() float64 { return []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), 1}[r.IntN(5)] }
	for name, next := range map[string]func(i int) float64{
		"few":          func(int) float64 { return few() },
		"few at last":  func(i int) float64 { return []float64{r.NormFloat64(), few()}[min(i/3000, 1)] },
		"few at first": func(i int) float64 { return []float64{few(), r.NormFloat64()}[min(i/3000, 1)] },
		"many":         func(int) float64 { return r.NormFloat64() },
		"odd":          func(int) float64 { return odd() },
	} {
		for _, n := range []int{1, 511, 512, 513, 8192} {
			vals, valid := make([]float64, n), make([]byte, (n+7)/8)
			for i := range vals {
				vals[i] = next(i)
				if r.IntN(10) > 0 {
					valid[i>>3] |= 1 << (i & 7)
				}
			}
			for _, bits := range [][]byte{nil, valid} {
				c := &Call{Arena: &vector.Arena{}, N: n, Ret: types.Float8, Valid: bits}
				f := func(x float64) float64 { return 1 / math.Sin(x) }
				got := floatLoop(c, vector.NewFixed(vector.F64, vals, bits), func(x float64) (float64, error) { return f(x), nil })
				for i, v := range vector.Values[float64](got) {
					if want := f(vals[i]); !c.Skip(i) && math.Float64bits(v) != math.Float64bits(want) {
						t.Fatalf("%s: row %d of %d: %v, not %v", name, i, n, v, want)
					}
				}
			}
		}
	}
}
