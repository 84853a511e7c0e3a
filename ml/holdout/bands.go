package holdout

import (
	"slices"

	"github.com/tributarydb/tributary/ml/block"
)

// Bands part rows by their draws so that whichever holdout is chosen when all rows
// are known holds whole parts out: where its cuts may be, as far as is known before,
// each bin is a band.
type Bands struct {
	ends []int // of the parts but the last: the first bins that they have not
}

// bandBins is how far a cut may be from the share: where rows are a million, all
// different, their draws' standard deviation is 1.6 bins.
const bandBins = 16

// BandsOf is the bands for cuts within these ranges of shares of the rows, which ascend.
func BandsOf(ranges ...[2]float64) (b Bands) {
	from := 0
	for _, r := range ranges {
		from = max(from, int(r[0]*drawBins)-bandBins)
		for to := min(int(r[1]*drawBins)+bandBins, drawBins); from <= to; from++ {
			b.ends = append(b.ends, from)
		}
	}
	return b
}

// BandsAround is the bands for cuts that are about these bins.
func BandsAround(cuts []int) Bands {
	var ranges [][2]float64
	for _, c := range slices.Sorted(slices.Values(cuts)) {
		ranges = append(ranges, [2]float64{float64(c) / drawBins, float64(c) / drawBins})
	}
	return BandsOf(ranges...)
}

// Draws reports whether statistics divided by the bands, and those of the copies in c,
// separate the rows that h holds out from the others.
func (b Bands) Draws(h *Holdout, c *Copies) bool {
	held, ok := b.Held(h)
	for _, x := range c.List {
		q, common := h.Quota(x.Hash, int(x.Node))
		switch mixed := x.N - x.Apart; {
		case !common:
		case held[b.Part(x.Hash)]:
			ok = ok && q >= mixed
		default:
			ok = ok && q <= x.Apart
		}
	}
	return ok
}

// Parts is the number of parts.
func (b Bands) Parts() int { return len(b.ends) + 1 }

// Part is the part of a row.
func (b Bands) Part(h block.RowHash) int {
	at, _ := slices.BinarySearch(b.ends, bin(h)+1)
	return at
}

// Held reports of each part whether h holds its rows out, those that are not common; false
// where the parts do not say that.
func (b Bands) Held(h *Holdout) (held []bool, ok bool) {
	held = make([]bool, b.Parts())
	from, known := 0, 0
	for i := range held {
		to := drawBins
		if i < len(b.ends) {
			to = b.ends[i]
		}
		held[i] = from >= h.From && to <= h.Cut
		for _, cut := range []int{h.From, h.Cut} {
			if cut == to || cut == 0 && i == 0 {
				known++
			}
		}
		from = to
	}
	return held, known >= 2
}
