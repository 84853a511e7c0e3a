package pairs

import (
	"cmp"
	"slices"
)

// Uno returns Uno's index (Uno et al. 2011): Harrell's, in which a pair counts the more the fewer rows were still
// observed when its event came, so that it does not depend on when observations end. Ties are counted as by
// Concordance. The distribution of the ends of observations is that of the rows (Kaplan and Meier), as of all of which
// have no event; an event before an end at the same time. ok is false where no pair can be compared. It reorders rows,
// whose weights do not count.
func Uno(rows []WeightedSurvival) (v float64, ok bool) {
	slices.SortFunc(rows, func(a, b WeightedSurvival) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Risk, b.Risk))
	})
	risks := make([]float64, len(rows))
	for i, r := range rows {
		risks[i] = r.Risk
	}
	slices.Sort(risks)
	risks = slices.Compact(risks)
	each := func(back bool, f func(same []WeightedSurvival)) { // rows of the same time
		for from, to := 0, len(rows); from < to; {
			k := 1
			if back {
				for k < to-from && rows[to-k-1].Time == rows[to-1].Time {
					k++
				}
				f(rows[to-k : to])
				to -= k
				continue
			}
			for k < to-from && rows[from+k].Time == rows[from].Time {
				k++
			}
			f(rows[from : from+k])
			from += k
		}
	}
	events := func(same []WeightedSurvival) (n int) {
		for _, r := range same {
			if r.Event {
				n++
			}
		}
		return n
	}
	var observed []float64 // by time: the share whose observation goes on
	share, left := 1.0, len(rows)
	each(false, func(same []WeightedSurvival) {
		n := events(same)
		if ends, at := len(same)-n, left-n; ends > 0 {
			share *= 1 - float64(ends)/float64(at)
		}
		left -= len(same)
		observed = append(observed, share)
	})
	later := make(fenwick[uint64], len(risks)+1) // rows with a longer time, by risk
	var all uint64
	var concordant, pairs float64
	place := func(r WeightedSurvival) int { at, _ := slices.BinarySearch(risks, r.Risk); return at }
	each(true, func(same []WeightedSurvival) {
		share := observed[len(observed)-1]
		observed = observed[:len(observed)-1]
		for _, r := range same {
			if !r.Event {
				later.add(place(r), 1)
				all++
			}
		}
		var halves, some uint64 // twice the concordant pairs, and the pairs
		for _, r := range same {
			if r.Event {
				at := place(r)
				halves += later.below(at) + later.below(at+1)
				some += all
			}
		}
		if share > 0 {
			concordant += float64(halves) / 2 / float64(share*share)
			pairs += float64(some) / float64(share*share)
		}
		for _, r := range same {
			if r.Event {
				later.add(place(r), 1)
				all++
			}
		}
	})
	if pairs == 0 {
		return 0, false
	}
	return concordant / pairs, true
}
