package checked

import (
	"math"
	"math/big"
	"testing"
)

func TestOverflow(t *testing.T) {
	vals := []int64{0, 1, -1, 2, -2, 3, math.MaxInt32, 1 << 32, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, math.MinInt64 / 2}
	for _, c := range []struct {
		name string
		got  func(a, b int64) (int64, bool)
		want func(z, a, b *big.Int) *big.Int
	}{{"Add", Add, (*big.Int).Add}, {"Sub", Sub, (*big.Int).Sub}, {"Mul", Mul, (*big.Int).Mul}} {
		for _, a := range vals {
			for _, b := range vals {
				want := c.want(new(big.Int), big.NewInt(a), big.NewInt(b))
				if got, ok := c.got(a, b); ok != want.IsInt64() || ok && got != want.Int64() {
					t.Errorf("%s(%d, %d) = %d, %t; want %s", c.name, a, b, got, ok, want)
				}
			}
		}
	}
	for _, a := range vals {
		if want := new(big.Int).Abs(big.NewInt(a)); want.Uint64() != Abs(a) {
			t.Errorf("Abs(%d) = %d", a, Abs(a))
		}
		for _, b := range []int64{1, 7, 86400e6} {
			if q, r := FloorDiv(a, b); r < 0 || r >= b || q*b+r != a {
				t.Errorf("FloorDiv(%d, %d) = %d, %d", a, b, q, r)
			}
		}
	}
}
