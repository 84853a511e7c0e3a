package number

import (
	"math/big"
	"math/rand"
	"testing"
)

// TestWideDecimalBytes reads what AppendBinary writes, of up to 130 bits.
func TestWideDecimalBytes(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 5000 {
		v := new(big.Int).Rand(r, new(big.Int).Lsh(big.NewInt(1), uint(1+r.Intn(130))))
		if r.Intn(2) == 0 {
			v.Neg(v)
		}
		scale := int32(r.Intn(100))
		hi, lo, s, ok := WideDecimalBytes(DecimalFromBig(new(big.Int).Set(v), scale).AppendBinary(nil))
		if fits := v.BitLen() <= 120; ok != fits {
			t.Fatalf("%s of %d bits: read %v", v, v.BitLen(), ok)
		}
		if !ok {
			continue
		}
		got := new(big.Int).Lsh(big.NewInt(hi), 64)
		if got.Add(got, new(big.Int).SetUint64(lo)); got.Cmp(v) != 0 || s != scale {
			t.Fatalf("%s at scale %d is read as %s at %d", v, scale, got, s)
		}
	}
	for _, b := range [][]byte{nil, {formBig}, {formBig, 0, 0}, {formSpecial}, {formBig, 255, 255, 1}, {longScale << 2}} {
		if _, _, _, ok := WideDecimalBytes(b); ok {
			t.Errorf("%v is read", b)
		}
	}
}

// TestSqrt128: roots of one and two words are those of big integers, at squares
// and halfway between two roots too.
func TestSqrt128(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for i := range 100000 {
		n := new(big.Int).Rand(r, new(big.Int).Lsh(big.NewInt(1), uint(1+r.Intn(126))))
		if i%2 == 0 { // x² + x + some
			x := big.NewInt(r.Int63() >> r.Intn(63))
			n.Mul(x, x)
			if r.Intn(2) == 0 {
				n.Add(n, x)
			}
			if n.Add(n, big.NewInt(int64(r.Intn(3)-1))); n.Sign() < 0 || n.BitLen() > 126 {
				continue
			}
		}
		want := new(big.Int).Sqrt(n)
		if rest := new(big.Int).Sub(n, new(big.Int).Mul(want, want)); rest.Cmp(want) > 0 {
			want.Add(want, big.NewInt(1))
		}
		if got := sqrt128(n); got != want.Uint64() {
			t.Fatalf("the root of %s is %s, found %d", n, want, got)
		}
	}
}
