package metric

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Judged is a row of a query: what a model makes of it, and how relevant it is.
type Judged struct {
	Score float64
	Label uint8
}

// MostRelevant is the greatest label of relevance: gains of labels are 2^label - 1.
const MostRelevant = 30

// Relevance returns a label of relevance; ok is false for what is none.
func Relevance(y float64) (label uint8, ok bool) {
	if !(y >= 0 && y <= MostRelevant) || y != math.Trunc(y) {
		return 0, false
	}
	return uint8(y), true
}

// Gain is what a row of this relevance adds to the gain of a ranking, at the first place.
func Gain(label uint8) float64 { return float64(int64(1)<<label - 1) }

// Discount is what the gain of a place, from 0, counts of that of the first.
func Discount(place int) float64 { return math.Ln2 / f64.Log1(float64(place+2)) }

// ByScore puts rows into the order of their scores, the greatest first.
func ByScore(rows []Judged) {
	slices.SortFunc(rows, func(a, b Judged) int { return cmp.Compare(b.Score, a.Score) })
}

// NDCG is the normalised discounted cumulative gain of the first places of ranked rows ("IR evaluation methods",
// Järvelin and Kekäläinen, 2000). Rows of the same score share the gains of their places, so that their
// order does not matter (McSherry and Najork, 2008). It is 1 where no row is relevant, as in LightGBM.
func NDCG(ranked []Judged, places int) float64 {
	var many [MostRelevant + 1]int
	gain := 0.0
	for from := 0; from < min(len(ranked), places); {
		to, gains, share := from, 0.0, 0.0
		for ; to < len(ranked) && cmp.Compare(ranked[to].Score, ranked[from].Score) == 0; to++ {
			gains += Gain(ranked[to].Label) // exact: below 2^31 each
			if to < places {
				share += Discount(to)
			}
		}
		gain += float64(gains / float64(to-from) * share)
		from = to
	}
	for _, r := range ranked {
		many[r.Label]++
	}
	best, place := 0.0, 0
	for label := MostRelevant; label > 0; label-- {
		for range many[label] {
			if place < places {
				best += float64(Gain(uint8(label)) * Discount(place))
			}
			place++
		}
	}
	if best == 0 {
		return 1
	}
	return gain / best
}

// AveragePrecision is the mean, over the relevant rows of ranked ones, of the share of relevant rows among those
// of at least their score; 1 where no row is relevant.
func AveragePrecision(ranked []Judged) float64 {
	relevant, sum := 0, 0.0
	for from := 0; from < len(ranked); {
		to, here := from, 0
		for ; to < len(ranked) && cmp.Compare(ranked[to].Score, ranked[from].Score) == 0; to++ {
			if ranked[to].Label > 0 {
				here++
			}
		}
		relevant += here
		sum += float64(float64(here) * float64(relevant) / float64(to))
		from = to
	}
	if relevant == 0 {
		return 1
	}
	return sum / float64(relevant)
}
