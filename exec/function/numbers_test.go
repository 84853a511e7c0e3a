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

// TestIntegerPairs: a function of two integers of any widths, of which one may be constant, has the value of each row, and
// what fails or does not fit is left to the general way.
func TestIntegerPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	column := func(k vector.Kind, n int, one bool) (*vector.Vec, []int64) {
		if one {
			n = 1
		}
		vals := make([]int64, n)
		for i := range vals {
			vals[i] = int64(int16(r.Uint32()))
		}
		var v *vector.Vec
		switch k {
		case vector.I16:
			v = vector.NewFixed(k, narrow[int16](vals), nil)
		case vector.I32:
			v = vector.NewFixed(k, narrow[int32](vals), nil)
		default:
			v = vector.NewFixed(k, vals, nil)
		}
		v.One = one
		return v, vals
	}
	at := func(v []int64, i int) int64 { return v[min(i, len(v)-1)] }
	kinds := []vector.Kind{vector.I16, vector.I32, vector.I64}
	for range 300 {
		n := 2 + r.IntN(200)
		a, as := column(kinds[r.IntN(3)], n, r.IntN(3) == 0)
		b, bs := column(kinds[r.IntN(3)], n, !a.One && r.IntN(3) == 0)
		for _, ret := range []types.Type{types.Int2, types.Int4, types.Int8, types.Text} {
			c := &Call{Arena: &vector.Arena{}, N: n, Ret: ret}
			fits := ret.OID != types.TextOID
			for i := range n {
				s := at(as, i) + at(bs, i)
				fits = fits && (ret.OID != types.Int2OID || s == int64(int16(s)))
			}
			got := integerPairs(c, a, b, func(_ *Call, x, y int64) (int64, error) { return x + y, nil })
			if (got != nil) != fits {
				t.Fatalf("%v: %v, want %v", ret, got != nil, fits)
			}
			for i := 0; got != nil && i < n; i++ {
				if v := vector.IntReader(got)(i); v != at(as, i)+at(bs, i) {
					t.Fatalf("row %d: %d + %d = %d", i, at(as, i), at(bs, i), v)
				}
			}
		}
	}
}

func narrow[T int16 | int32](in []int64) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = T(v)
	}
	return out
}
