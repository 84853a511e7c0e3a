package gram

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// TestCoarse compares sums of products of rounded columns with plain loops, for blocks of different
// sizes, and for so many rows that 32-bit sums must be widened.
func TestCoarse(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const dense = 3
	for _, narrow := range []bool{false, true} {
		rows := make([]row, f64.CoarseRows+5000)
		for i := range rows {
			rows[i].w = 1
			for j := range dense {
				v := float64(float32(float64(j) + r.Float64()*math.Pow(10, float64(j))))
				if j == 0 {
					v = 1 // mostly the greatest bytes
					if i < 2 {
						v = float64(i) - 1
					}
				}
				rows[i].x = append(rows[i].x, v)
			}
		}
		bounds := NewBounds(dense)
		whole := blockOf(rows, dense, narrow)
		bounds.Add(whole, 0, whole.Padded())
		bounds.Fold()
		c, ok := Fit(bounds, 0, true)
		if !ok {
			t.Fatal("the rows are too large")
		}
		var got Sums
		for left := rows; len(left) > 0; {
			n := min(len(left), 1+r.IntN(len(rows)))
			b, k := blockOf(left[:n], dense, narrow), NewCoarse(&c)
			for at := 0; at < b.Padded(); at += f64.FixedRows {
				k.Add(b, at, min(f64.FixedRows, b.Padded()-at))
			}
			got.Merge(k.Take())
			left = left[n:]
		}
		at := 0
		for i := range dense + 1 {
			for j := i; j <= dense; j++ {
				sum := 0.0
				for _, q := range rows {
					v := func(j int) float64 {
						if j == dense {
							return 1
						}
						return math.RoundToEven((q.x[j]-c.Shift[j])*(CoarseScale*c.Scale[j])) + f64.CoarseMiddle
					}
					sum += v(i) * v(j)
				}
				if got.Count(at) != sum {
					t.Errorf("narrow %v: product of %d and %d is %v, want %v", narrow, i, j, got.Count(at), sum)
				}
				at++
			}
		}
	}
}
