package number

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestWordArithmetic: sums, differences and products of numbers of one word, two and three, of any two scales, are those of
// numbers of any length.
func TestWordArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	some := func() Decimal {
		words := make([]big.Word, r.IntN(4))
		for i := range words {
			words[i] = big.Word(r.Uint64())
		}
		b := new(big.Int).SetBits(words)
		b.Rsh(b, uint(r.IntN(70)))
		if r.IntN(8) == 0 { // about the edges of a word and of two
			b.Lsh(big.NewInt(1), []uint{63, 64, 127, 128}[r.IntN(4)])
			b.Add(b, big.NewInt(r.Int64N(3)-1))
		}
		if r.IntN(2) == 0 {
			b.Neg(b)
		}
		return mkDecimal(b, int32(r.IntN(45)))
	}
	for range 100000 {
		a, b := some(), some()
		x, y, scale := alignBig(a, b)
		for _, c := range []struct {
			name string
			do   func(Decimal) (Decimal, error)
			want Decimal
		}{
			{"+", a.Add, mkDecimal(new(big.Int).Add(x, y), scale)},
			{"-", a.Sub, mkDecimal(new(big.Int).Sub(x, y), scale)},
			{"*", a.Mul, mkDecimal(new(big.Int).Mul(a.coefBig(), b.coefBig()), a.scale+b.scale)},
		} {
			got, err := c.do(b)
			if err != nil || got.scale != c.want.scale || (got.big == nil) != (c.want.big == nil) || got.coefBig().Cmp(c.want.coefBig()) != 0 {
				t.Fatalf("%s %s %s is %s, %v; want %s", a, c.name, b, got, err, c.want)
			}
		}
	}
}
