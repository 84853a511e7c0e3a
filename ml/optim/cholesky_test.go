package optim

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFactorOn: the factor has the same bits however many rows are eliminated at once, and in whichever order.
func TestFactorOn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	backwards := func(n int, do func(i int)) {
		for i := range n {
			do(n - 1 - i)
		}
	}
	for _, n := range []int{1, 8, 63, 64, 65, 72, 131, 200} {
		rows := make([][]float64, n)
		for i := range rows {
			for range n + 3 {
				rows[i] = append(rows[i], r.NormFloat64())
			}
			if i > 3 && i%29 == 5 { // of no more dimensions than those before
				copy(rows[i], rows[i-2])
			}
		}
		h := make([]float64, n*n)
		for i, x := range rows {
			for j, y := range rows {
				for k := range x {
					h[i*n+j] += x[k] * y[k]
				}
			}
		}
		plain := append([]float64{}, h...)
		want := Factor(plain, n)
		got := FactorOn(h, n, backwards)
		for i := range n {
			if got.Dead(i) != want.Dead(i) {
				t.Fatalf("%d: row %d is dead: %v", n, i, got.Dead(i))
			}
			for j := i; j < n && !want.Dead(i); j++ {
				if math.Float64bits(h[i*n+j]) != math.Float64bits(plain[i*n+j]) {
					t.Fatalf("%d: element %d, %d is %v, want %v", n, i, j, h[i*n+j], plain[i*n+j])
				}
			}
		}
		if got.Least != want.Least {
			t.Fatalf("%d: the least pivot is %v, want %v", n, got.Least, want.Least)
		}
	}
}
