package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/sql/number"
)

// TestShortScaled: a decimal in a word or two has the bound that it has by its arithmetic.
func TestShortScaled(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	some, long := 0, 0
	for range 20000 {
		v := r.Int64() >> r.IntN(64)
		if r.IntN(2) == 0 {
			v = -v
		}
		d, scale := number.DecimalFromInt64(v, int32(r.IntN(25))), uint8(r.IntN(19))
		if r.IntN(2) == 0 {
			var err error
			if d, err = d.Mul(number.DecimalFromInt64(r.Int64()>>r.IntN(64), int32(r.IntN(10)))); err != nil {
				t.Fatal(err)
			}
		}
		got := shortScaled(d.AppendBinary(nil), scale)
		if !got.ok {
			continue
		}
		if some++; len(d.AppendBinary(nil)) > 11 {
			long++
		}
		if want := scaledOf(d, int32(scale)); got != want {
			t.Fatalf("%s at scale %d: %v, want %v", d, scale, got, want)
		}
	}
	if some < 5000 || long < 500 {
		t.Errorf("only %d of them fit, %d in two words", some, long)
	}
}
