package train

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/metric"
)

// The area under the ROC curve of many rows is that of a coarse ranking, which
// is small enough to travel: it tells scores apart by where they lie among cuts,
// which are the scores of positive rows, each once: all of them, or a sample of those
// that differ.
//
//	      slot 0 │ 1 │ 2 │ 3 │ 4 │ …          odd: equal to a cut
//	score ───────┼───────┼───────┼──▶         even: between two
//	          cuts[0] cuts[1]
//
// Where positive rows have up to maxCuts different scores, the area is exact, however
// rare they are and however many rows have each. Of more, a slot between cuts holds
// about 1/maxCuts to 2/maxCuts of the scores, and the area is off by less than half of
// that even if each slot had its rows in the worst order. Cuts at even distances would
// not do, as the scores of a rare event lie all in one of them; nor would one score in
// as many as there are rows to a cut, as few scores of many rows have none then.
const maxCuts = 1 << 15

// coarseRows is the number of rows from which rankings are coarse.
const coarseRows = 1 << 18

// cuts are scores, ascending.
type cuts []float64

// Encode implements family.Message.
func (c cuts) Encode(e *canon.E) { e.F64s(c) }

// cutsOf gives the cuts of a block.
func (w *Worker) cutsOf(b *dataset.Block, rows family.Rows, pr family.Predictor) cuts {
	if b == nil || b.Rows == 0 {
		return nil
	}
	var out cuts
	s := w.scores(b, rows, pr)
	p := s.Probs[1]
	truth, weights := b.Targets()
	for i, y := range truth {
		if y == 1 && weights[i] > 0 {
			out = append(out, p[i]+0)
		}
	}
	w.keepScores(rows, s)
	return mergeCuts(out, nil)
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// mergeCuts gives the scores of both that have the least level at which no more than
// maxCuts have it: half of all have level 1, half of these level 2. The score itself says
// its level, so the same cuts come of any parts, put together in any order.
func mergeCuts(a, b cuts) cuts {
	a = append(a, b...)
	slices.Sort(a)
	a = slices.Compact(a)
	for level := 1; len(a) > maxCuts; level++ {
		a = slices.DeleteFunc(a, func(score float64) bool { return bits.TrailingZeros64(mix(math.Float64bits(score))) < level })
	}
	return a
}

// rankBins are a coarse ranking in the making.
type rankBins struct {
	cuts  []float64
	slots []metric.Rank
	grid  *rankGrid
}

// rankGrid holds, for each of equal parts of [0, 1], the first cut that is not
// below it: scores that are spread are found with few comparisons.
type rankGrid [gridParts + 1]int32

const gridParts = 1 << 12

// newRankGrid makes that of a measurement's cuts.
func newRankGrid(c cuts) *rankGrid {
	g, at := &rankGrid{}, 0
	for i := range g {
		for at < len(c) && c[at] < float64(i)/gridParts {
			at++
		}
		g[i] = int32(at)
	}
	return g
}

// slots is how many slots there are among cuts.
func slots(c cuts) int { return 2*len(c) + 1 }

// slotBytes is what they take.
func slotBytes(c cuts) int64 { return int64(slots(c)) * int64(unsafe.Sizeof(metric.Rank{})) }

// newRankBins makes what a measurement asks for; nil where each score counts.
func newRankBins(p *measureTask, g *rankGrid) *rankBins {
	if !p.coarse {
		return nil
	}
	return &rankBins{p.cuts, make([]metric.Rank, slots(p.cuts)), g}
}

// at gives the slot of a probability.
func (b *rankBins) at(p float64) *metric.Rank {
	part := max(0, min(int(p*gridParts), gridParts-1)) // of a NaN too
	lo, hi := int(b.grid[part]), int(b.grid[part+1])
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); b.cuts[mid] < p {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(b.cuts) && b.cuts[lo] == p {
		return &b.slots[2*lo+1]
	}
	return &b.slots[2*lo]
}

func (b *rankBins) ranking() *metric.Ranking {
	for i := range b.slots {
		b.slots[i].Score = float64(i)
	}
	return metric.RankingOf(b.slots)
}
