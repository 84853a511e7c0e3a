package exact

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestWide: sums of numbers and products are those of big integers.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var w Wide
	want := new(big.Int)
	for range 1000 {
		a, b := r.Int64N(1<<60)-1<<59, r.Int64N(1<<50)-1<<49
		w.AddProduct(a, b)
		w.Add(a)
		want.Add(want, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
		want.Add(want, big.NewInt(a))
	}
	got := new(big.Int).Lsh(big.NewInt(w.Hi), 64)
	if got.Add(got, new(big.Int).SetUint64(w.Lo)).Cmp(want) != 0 {
		t.Errorf("the sum is %v, want %v", got, want)
	}
}
