package metric

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRanksAreSorted compares the order of scores of all kinds, many of which are equal, with that of a sort by
// comparisons: equal ones stay in their order.
func TestRanksAreSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	special := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, math.Copysign(math.NaN(), -1)}
	for name, score := range map[string]func() float64{
		"probabilities": r.Float64,
		"of a sign":     func() float64 { return math.Exp(40*r.Float64() - 20) },
		"of any sign":   func() float64 { return math.Ldexp(r.NormFloat64(), r.IntN(600)-300) },
		"few":           func() float64 { return float64(r.IntN(5)) },
		"one":           func() float64 { return 0.25 },
		"special":       func() float64 { return special[r.IntN(len(special))] },
	} {
		for _, n := range []int{0, 1, fewRanks - 1, fewRanks, 5000} {
			v := make([]Rank, n)
			for i := range v {
				v[i] = Rank{Score: score() + 0, Pos: float64(i)}
			}
			want := slices.Clone(v)
			slices.SortStableFunc(want, func(a, b Rank) int { return cmp.Compare(a.Score, b.Score) })
			got := sortRanks(v)
			if !slices.EqualFunc(got, want, func(a, b Rank) bool { return a.Pos == b.Pos }) {
				t.Errorf("%s: %d ranks are in another order", name, n)
			}
		}
	}
}

// TestUnitsAreRanks: rows of weight 1 that are counted together give the ranks of rows that are counted one by one.
func TestUnitsAreRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.SmallestNonzeroFloat64, math.MaxFloat64}
	for name, score := range map[string]func() float64{
		"probabilities": r.Float64,
		"margins":       r.NormFloat64,
		"few":           func() float64 { return float64(r.IntN(5)) / 4 },
		"special":       func() float64 { return special[r.IntN(len(special))] },
	} {
		for _, n := range []int{0, 1, 100, 5000} {
			truth, scores := make([]float64, n), make([]float64, n)
			var one, all Ranking
			for i := range scores {
				truth[i], scores[i] = float64(r.IntN(2)), score()
				one.Add(truth[i] == 1, scores[i], 1)
			}
			for from := 0; from < n; from += 1000 {
				to := min(from+1000, n)
				all.AddUnits(truth[from:], scores[from:to])
				if from == 2000 {
					all.flush()
				}
			}
			a, ok := one.AUC()
			b, same := all.AUC()
			if ok != same || ok && a != b || !bytes.Equal(one.Append(nil), all.Append(nil)) {
				t.Errorf("%d %s: %v %v, not %v %v", n, name, b, same, a, ok)
			}
		}
	}
}

func BenchmarkRanking(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	truth, scores := make([]float64, 200_000), make([]float64, 200_000)
	for i := range scores {
		truth[i], scores[i] = float64(i&1), r.Float64()
	}
	for b.Loop() {
		var k Ranking
		k.AddUnits(truth, scores)
		k.AUC()
	}
}
