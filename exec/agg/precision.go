package agg

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/pairs"
)

// newPrecisionFold is of the average precision of scores that come in descending order: the mean, over
// the rows of a label, of the share of that label among the rows of at least their score. It is
// kept for both labels, as the greater one is known at the end alone.
func newPrecisionFold() *scoresFold {
	return &scoresFold{
		ended: func(a, b *foldSide) {
			all := float64(a.rows + a.tie + b.rows + b.tie)
			for _, d := range []*foldSide{a, b} {
				if d.tie > 0 {
					d.rows += d.tie
					d.sum += float64(float64(d.tie) * (float64(d.rows) / all))
					d.tie = 0
				}
			}
		},
		of: func(greater *foldSide, _ [2]int) float64 { return greater.sum / float64(greater.rows) },
	}
}

// averagePrecision is that of the keys of both labels' scores.
func averagePrecision(first, second *pairs.Keys) float64 {
	sorted := func(k *pairs.Keys) []uint64 {
		out := slices.Concat(k.Chunks...)
		slices.Sort(out)
		return out
	}
	f := newPrecisionFold()
	a, b := sorted(first), sorted(second)
	f.sides[0], f.sides[1] = foldSide{any: true, label: "1"}, foldSide{any: true, label: "0"}
	for len(a)+len(b) > 0 {
		now := uint64(0) // the greatest that is left
		if len(a) > 0 {
			now = a[len(a)-1]
		}
		if len(b) > 0 {
			now = max(now, b[len(b)-1])
		}
		for ; len(a) > 0 && a[len(a)-1] == now; a = a[:len(a)-1] {
			f.sides[0].tie++
		}
		for ; len(b) > 0 && b[len(b)-1] == now; b = b[:len(b)-1] {
			f.sides[1].tie++
		}
		f.ended(&f.sides[0], &f.sides[1])
	}
	v, _ := f.result()
	return v.(float64)
}
