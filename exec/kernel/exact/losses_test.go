package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestLossesAreExact adds losses of all sizes, at once, one by one, in parts that are merged and
// that are encoded, and compares with a sum in big.Float.
func TestLossesAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 40 {
		x := make([]float64, r.IntN(5000))
		want := new(big.Float).SetPrec(400)
		for i := range x {
			switch x[i] = math.Ldexp(1+r.Float64(), 8-r.IntN(60)); r.IntN(20) {
			case 0:
				x[i] = 0
			case 1:
				x[i] = 0x1p-53
			case 2:
				x[i] = math.Nextafter(64, 0)
			}
			if round%2 == 0 {
				x[i] = math.Ldexp(1+r.Float64(), -52) // small losses, near 2⁻⁵²
			}
			want.Add(want, big.NewFloat(x[i]))
		}
		exact, _ := want.Float64()
		var all, one, merged Losses
		all.AddAll(x)
		for _, v := range x {
			one.Add(v)
		}
		for left := x; len(left) > 0; {
			n := min(1+r.IntN(1500), len(left))
			var part, read Losses
			part.AddAll(left[:n])
			b := part.Append(nil)
			if len(b) != LossesBytes {
				t.Fatalf("%d bytes", len(b))
			}
			read.Decode(b)
			merged.Merge(&read)
			left = left[n:]
		}
		for i, s := range []*Losses{&all, &one, &merged} {
			if s.Value() != exact || s.N() != int64(len(x)) {
				t.Errorf("round %d, way %d: %v of %d, want %v of %d", round, i, s.Value(), s.N(), exact, len(x))
			}
		}
		if all != one || all != merged {
			t.Errorf("round %d: %v, %v, %v", round, all, one, merged)
		}
	}
}

// TestLossOfNaN: a NaN among the losses makes their sum NaN, wherever it stands.
func TestLossOfNaN(t *testing.T) {
	for _, at := range []int{0, 7, 1023, 1030} {
		x := make([]float64, 1031)
		x[at] = math.NaN()
		var s, other Losses
		s.AddAll(x)
		other.Decode(s.Append(nil))
		if v := other.Value(); v == v || other.N() != 1031 {
			t.Errorf("a NaN at %d: %v of %d", at, v, other.N())
		}
	}
}
