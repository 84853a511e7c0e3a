package number

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestNearest compares the float64 of random coefficients and scales, and of halves between two floats, with that
// of the number's text.
func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	check := func(d Decimal) {
		t.Helper()
		want, _ := strconv.ParseFloat(d.String(), 64)
		if got := d.Float64(); got != want {
			t.Fatalf("%s: %b, want %b", d, got, want)
		}
	}
	for range 200_000 {
		scale := int32(r.IntN(30))
		check(DecimalFromInt64(r.Int64()>>r.IntN(63), scale))
		check(DecimalFromInt64(-r.Int64()>>r.IntN(63), scale))
		// A half between two floats, and its neighbours.
		half := new(big.Int).Lsh(big.NewInt(r.Int64N(1<<53)<<1|1), uint(r.IntN(120)))
		if s := scale % 12; r.IntN(2) == 0 {
			half.Mul(half, pow10Big(int(s)))
			half.Add(half, big.NewInt(int64(r.IntN(3)-1)))
			check(DecimalFromBig(half, s))
			continue
		}
		check(DecimalFromBig(half.Neg(half), scale))
	}
	for _, s := range []string{"0", "0.000", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-0.00000000000000000000009223372036854775808"} {
		d, err := ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		check(d)
	}
}

func BenchmarkFloat64(b *testing.B) {
	for _, c := range []struct {
		name string
		d    Decimal
	}{{"word", DecimalFromInt64(1681234567890123456, 16)}, {"big", DecimalFromBig(new(big.Int).Mul(big.NewInt(1681234567890123456), big.NewInt(1000)), 16)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				_ = c.d.Float64()
			}
		})
	}
}
