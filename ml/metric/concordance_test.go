package metric

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/ml/canon"
)

// TestConcordanceAgainstPairs compares with the definition over all pairs, and merged states of any
// division with the whole.
func TestConcordanceAgainstPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		n := 1 + r.IntN(50)
		rows := make([]pairs.WeightedSurvival, n)
		var whole Concordance
		parts := make([]Concordance, 3)
		for i := range rows {
			rows[i] = pairs.WeightedSurvival{Time: float64(r.IntN(9)), Event: r.IntN(3) > 0, Risk: float64(r.IntN(9)), Weight: float64(r.IntN(4))}
			whole.Add(rows[i])
			parts[r.IntN(3)].Add(rows[i])
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
		got, ok := whole.Value()
		if ok != (den > 0) {
			t.Fatalf("ok = %v with %v pairs", ok, den)
		}
		parts[0].Merge(&parts[1])
		parts[0].Merge(&parts[2])
		if again, _ := parts[0].Value(); again != got {
			t.Fatalf("in parts %v, not %v", again, got)
		}
		if ok {
			near(t, "concordance", got, num/den)
		}
		var a, b canon.E
		whole.Encode(&a)
		d := canon.Read(a.B)
		DecodeConcordance(d).Encode(&b)
		if d.Done("a concordance") != nil || !bytes.Equal(a.B, b.B) {
			t.Fatal("it does not decode to itself")
		}
	}
}
