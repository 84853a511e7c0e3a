package pairs

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestUnoAgainstPairs compares with the definition over all pairs, in any order of the rows.
func TestUnoAgainstPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(40)
		rows := make([]WeightedSurvival, n)
		for i := range rows {
			rows[i] = WeightedSurvival{Time: float64(r.IntN(9)), Event: r.IntN(3) > 0, Risk: float64(r.IntN(9))}
		}
		observed := func(at float64) float64 { // Kaplan and Meier, of the ends of observations
			share := 1.0
			for t := 0.0; t <= at; t++ {
				ends, left := 0, 0
				for _, x := range rows {
					if x.Time > t || x.Time == t && !x.Event {
						left++
					}
					if x.Time == t && !x.Event {
						ends++
					}
				}
				if ends > 0 {
					share *= 1 - float64(ends)/float64(left)
				}
			}
			return share
		}
		var num, den float64
		for _, a := range rows {
			g := observed(a.Time)
			for _, b := range rows {
				if g > 0 && a.Event && (a.Time < b.Time || a.Time == b.Time && !b.Event) {
					den += 1 / (g * g)
					if a.Risk > b.Risk {
						num += 1 / (g * g)
					} else if a.Risk == b.Risk {
						num += 0.5 / (g * g)
					}
				}
			}
		}
		r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		got, ok := Uno(rows)
		if ok != (den > 0) || ok && math.Abs(got-num/den) > 1e-12 {
			t.Fatalf("%v, %v, not %v of %v", got, ok, num, den)
		}
		r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if again, _ := Uno(rows); again != got {
			t.Fatalf("in another order %v, not %v", again, got)
		}
	}
}
