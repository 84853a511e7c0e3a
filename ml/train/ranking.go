package train

import (
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
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

// cuts are the different scores of positive rows that are left of all that were added:
// those of the least level at which there are no more than maxCuts. Half of all scores have
// level 1, half of these level 2; the score itself says which, so that the same cuts come of
// any parts, put together in any order. What has a level too low is not even looked up, and
// nothing is sorted before all rows are there. It is for one goroutine.
type cuts struct {
	level int
	n     int
	table []float64 // by their hashes, about twice as many places as scores or more; NaN is none
}

// leastCuts is the length of the first table.
const leastCuts = 1 << 10

// cutsBytes is the most memory that cuts take, with the table that comes next.
const cutsBytes = 8 * (2*maxCuts + 2*maxCuts)

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// add adds scores; NaN is none, which ranks below all.
func (c *cuts) add(scores []float64) {
	for _, s := range scores {
		h := mix(math.Float64bits(s + 0))
		if bits.TrailingZeros64(h) < c.level || s != s {
			continue
		}
		if c.table == nil || 2*c.n > len(c.table) {
			c.remake(max(2*len(c.table), leastCuts))
		}
		if c.put(s+0, h); c.n > maxCuts {
			c.lift(c.level + 1)
		}
	}
}

// put adds a score of a level that counts.
func (c *cuts) put(s float64, h uint64) {
	mask := uint64(len(c.table) - 1)
	at := h >> 32 & mask // the bits below say the level
	for ; c.table[at] == c.table[at]; at = (at + 1) & mask {
		if c.table[at] == s {
			return
		}
	}
	c.table[at] = s
	c.n++
}

// lift leaves out scores below a level, and more until there are few enough.
func (c *cuts) lift(level int) {
	for c.level < level || c.n > maxCuts {
		c.level++
		c.remake(len(c.table))
	}
}

// remake makes a table of some length of the scores that count.
func (c *cuts) remake(size int) {
	was := c.table
	c.table, c.n = make([]float64, size), 0
	for i := range c.table {
		c.table[i] = math.NaN()
	}
	for _, s := range was {
		if h := mix(math.Float64bits(s)); s == s && bits.TrailingZeros64(h) >= c.level {
			c.put(s, h)
		}
	}
}

// merge adds other cuts.
func (c *cuts) merge(o *cuts) {
	c.lift(max(c.level, o.level))
	c.add(o.table)
}

// list returns the scores, ascending.
func (c *cuts) list() []float64 {
	out := make([]float64, 0, c.n)
	for _, s := range c.table {
		if s == s {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// Encode implements family.Message.
func (c *cuts) Encode(e *canon.E) {
	e.U8(uint8(c.level))
	e.F64s(c.list())
}

func decodeCuts(d *canon.D) *cuts {
	c := &cuts{level: int(d.U8())}
	level, list := c.level, d.F64s()
	if c.add(list); c.n != len(list) || c.level != level || !slices.IsSorted(list) { // one of them twice, or of a lower level
		d.Fail()
	}
	return c
}

// rankBins are a coarse ranking in the making.
type rankBins struct {
	cuts    []float64
	weights []float64 // by slot, of negative and of positive rows
	grid    *rankGrid
}

// rankGrid holds, for each of equal parts of [0, 1], the first cut that is not
// below it: scores that are spread are found with few comparisons.
type rankGrid [gridParts + 1]uint16

const gridParts = 1 << 16

// newRankGrid makes that of a measurement's cuts.
func newRankGrid(c []float64) *rankGrid {
	g, at := &rankGrid{}, 0
	for i := range g {
		for at < len(c) && c[at] < float64(i)/gridParts {
			at++
		}
		g[i] = uint16(at)
	}
	return g
}

// newRankBins makes what a measurement asks for; nil where each score counts.
func newRankBins(p *measureTask, g *rankGrid) *rankBins {
	if !p.coarse {
		return nil
	}
	return &rankBins{p.cuts, make([]float64, 2*slots(len(p.cuts))), g}
}

// slots is the number of slots that so many cuts make.
func slots(cuts int) int { return 2*cuts + 1 }

// rankBytes is the memory of a ranking by so many cuts and of what it is made of.
func rankBytes(cuts int) (bins, ranking int64) {
	n := int64(slots(cuts))
	return 16 * n, 24 * n
}

// at returns the slot of a probability. Which half a cut lies in nobody could foretell: it is
// no branch.
func (b *rankBins) at(p float64) int {
	part := max(0, min(int(p*gridParts), gridParts-1)) // of a NaN too
	lo := int(b.grid[part])
	for n := int(b.grid[part+1]) - lo; n > 0; {
		half := (n + 1) / 2
		next := lo
		if b.cuts[lo+half-1] < p {
			next = lo + half
		}
		lo, n = next, n/2
	}
	slot := 2 * lo
	if lo < len(b.cuts) && b.cuts[lo] == p {
		slot++
	}
	return slot
}

// addAll counts rows of weight 1, at most dataset.ChunkRows. Slots are found first: what is
// counted lies far apart, and is fetched for many rows at once.
func (b *rankBins) addAll(p, y []float64) {
	var at [dataset.ChunkRows]int32
	for i, p := range p {
		at[i] = int32(2 * b.at(p))
	}
	for i := range p {
		b.weights[int(at[i])+int(y[i])&1]++
	}
}

// add counts a row.
func (b *rankBins) add(positive int, p, weight float64) { b.weights[2*b.at(p)+positive] += weight }

func (b *rankBins) ranking() *metric.Ranking {
	ranks := make([]metric.Rank, len(b.weights)/2)
	for i := range ranks {
		ranks[i] = metric.Rank{Score: float64(i), Neg: b.weights[2*i], Pos: b.weights[2*i+1]}
	}
	return metric.RankingOf(ranks)
}
