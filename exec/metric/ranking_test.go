package metric

import (
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

func BenchmarkRanking(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	scores := make([]float64, 200_000)
	for i := range scores {
		scores[i] = r.Float64()
	}
	for b.Loop() {
		var k Ranking
		for i, s := range scores {
			k.Add(i&1 == 0, s, 1)
		}
		k.AUC()
	}
}
