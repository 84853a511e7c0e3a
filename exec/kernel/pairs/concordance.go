package pairs

import (
	"cmp"
	"slices"
	"unsafe"
)

// WeightedSurvival is a row: the time of its event, or the time of censoring if there was none,
// with risk and weight.
type WeightedSurvival struct {
	Time   float64
	Event  bool
	Risk   float64
	Weight float64
}

// ConcordanceBytes returns the memory of so many rows and of their Concordance.
func ConcordanceBytes(rows int64) int64 {
	return rows * int64(unsafe.Sizeof(WeightedSurvival{})+2*unsafe.Sizeof(float64(0)))
}

// Concordance returns Harrell's index (Harrell et al. 1982): of the pairs of rows for which it is
// known whose event came first, the share in which that row has the greater risk, ties of risk
// counting half. A pair counts w·w of its weights. ok is false where no pair can be compared. Two
// rows with the same time can be compared only if one had an event and the other had none. It
// reorders rows.
func Concordance(rows []WeightedSurvival) (v float64, ok bool) {
	slices.SortFunc(rows, func(a, b WeightedSurvival) int { // a total order, so that the order of arrival does not matter
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Risk, b.Risk), cmp.Compare(a.Weight, b.Weight))
	})
	risks := make([]float64, len(rows))
	for i, r := range rows {
		risks[i] = r.Risk
	}
	slices.Sort(risks)
	risks = slices.Compact(risks)
	later := make(fenwick[float64], len(risks)+1) // weights of rows with a longer time, by risk
	var all, concordant, pairs float64
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].Time == rows[from].Time {
			to++
		}
		for pass := range 3 { // those without an event, the pairs, those with one
			for _, r := range rows[from:to] {
				at, _ := slices.BinarySearch(risks, r.Risk)
				switch {
				case pass != 1 && r.Event == (pass == 2):
					later.add(at, r.Weight)
					all += r.Weight
				case pass == 1 && r.Event:
					below, upTo := later.below(at), later.below(at+1)
					concordant += float64(r.Weight * (below + float64(0.5*(upTo-below))))
					pairs += float64(r.Weight * all)
				}
			}
		}
		from = to
	}
	if pairs == 0 {
		return 0, false
	}
	return concordant / pairs, true
}
