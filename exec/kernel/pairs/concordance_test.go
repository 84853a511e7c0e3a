package pairs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestConcordanceAgainstPairs compares with the definition over all pairs, in any order of the rows.
func TestConcordanceAgainstPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		n := 1 + r.IntN(50)
		rows := make([]WeightedSurvival, n)
		for i := range rows {
			rows[i] = WeightedSurvival{Time: float64(r.IntN(9)), Event: r.IntN(3) > 0, Risk: float64(r.IntN(9)), Weight: float64(r.IntN(4))}
		}
		var num, den float64
		for _, a := range rows {
			for _, b := range rows {
				if a.Event && (a.Time < b.Time || a.Time == b.Time && !b.Event) {
					w := a.Weight * b.Weight
					den += w
					if a.Risk > b.Risk {
						num += w
					} else if a.Risk == b.Risk {
						num += w / 2
					}
				}
			}
		}
		got, ok := Concordance(slices.Clone(rows))
		if ok != (den > 0) {
			t.Fatalf("ok = %v with %v pairs", ok, den)
		}
		r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if again, _ := Concordance(rows); again != got {
			t.Fatalf("in another order %v, not %v", again, got)
		}
		if ok && math.Abs(got-num/den) > 1e-12 {
			t.Errorf("concordance = %v, want %v", got, num/den)
		}
	}
}
