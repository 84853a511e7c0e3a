package metric

// Bins accumulate a coarse Ranking of scores that are probabilities. They are for one
// goroutine.
type Bins struct {
	cuts    []float64
	weights []float64 // by slot, of negative and of positive rows
	grid    *Grid
}

// Grid divides [0, 1] into equal parts and holds for each the first cut that is
// not below it. It leaves few cuts to search for a score, unless many lie in
// one part.
type Grid [gridParts + 1]uint16

const gridParts = 1 << 16

// NewGrid makes that of cuts, which ascend.
func NewGrid(c []float64) *Grid {
	g, at := &Grid{}, 0
	for i := range g {
		for at < len(c) && c[at] < float64(i)/gridParts {
			at++
		}
		g[i] = uint16(at)
	}
	return g
}

// NewBins makes an empty ranking by cuts, of which g is.
func NewBins(cuts []float64, g *Grid) *Bins {
	return &Bins{cuts, make([]float64, 2*slots(len(cuts))), g}
}

// slots is the number of slots that so many cuts make.
func slots(cuts int) int { return 2*cuts + 1 }

// BinsBytes is the memory of a ranking by so many cuts and of what it is made of.
func BinsBytes(cuts int) (bins, ranking int64) {
	n := int64(slots(cuts))
	return 16 * n, 24 * n
}

// at returns the slot of a probability. It is branch-free, since which half a cut is in
// is unpredictable.
func (b *Bins) at(p float64) int {
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

// binRows is the number of rows whose slots are found at once.
const binRows = 256

// AddAll counts rows of weight 1; y is 1 of positive rows, 0 of others. All slots are
// found before the first is counted: the counters are scattered over memory, and the
// processor fetches those of many rows at once.
func (b *Bins) AddAll(p, y []float64) {
	var at [binRows]int32
	for len(p) > 0 {
		n := min(len(p), binRows)
		for i, p := range p[:n] {
			at[i] = int32(2 * b.at(p))
		}
		for i := range n {
			b.weights[int(at[i])+int(y[i])&1]++
		}
		p, y = p[n:], y[n:]
	}
}

// Add counts a row; positive is 1 or 0.
func (b *Bins) Add(positive int, p, weight float64) { b.weights[2*b.at(p)+positive] += weight }

// Ranking returns the ranking of the rows so far.
func (b *Bins) Ranking() *Ranking {
	ranks := make([]Rank, len(b.weights)/2)
	for i := range ranks {
		ranks[i] = Rank{Score: float64(i), Neg: b.weights[2*i], Pos: b.weights[2*i+1]}
	}
	return rankingOf(ranks)
}
