package metric

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// MaxCuts is how many cuts a coarse ranking has at most.
//
// The area under the ROC curve of many rows is that of a coarse ranking, which is
// small enough to be sent between nodes: it distinguishes scores by their place among
// cuts, which are the distinct scores of positive rows, or a sample of them.
//
//	      slot 0 │ 1 │ 2 │ 3 │ 4 │ …          odd: equal to a cut
//	score ───────┼───────┼───────┼──▶         even: between two
//	          cuts[0] cuts[1]
//
// Where positive rows have up to MaxCuts different scores, the area is exact, however
// rare they are and however many rows have each. Of more, a slot between cuts holds
// about 1/MaxCuts to 2/MaxCuts of the scores, and the area is off by less than half of
// that even if each slot had its rows in the worst order. Cuts at even distances would
// not do, as the scores of a rare event lie all in one of them; nor would one score in
// as many as there are rows to a cut, as few scores of many rows have none then.
const MaxCuts = 1 << 15

// Cuts are a sample of the distinct scores of positive rows that were added: those whose
// level is at least the least at which no more than MaxCuts are left. A score's level is
// geometrically distributed and a function of its hash: half of all scores have level 1 or
// more, a quarter 2 or more. So the sample is the same whatever parts it is merged from, in
// whatever order; it is the adaptive sampling of Wegman (Flajolet, "On adaptive sampling",
// 1990). Scores of a lower level are dropped without a look-up, and nothing is sorted before
// all rows are added. It is for one goroutine.
type Cuts struct {
	level int
	n     int
	table []float64 // by their hashes, about twice as many places as scores or more; NaN is none
}

// leastCuts is the length of the first table.
const leastCuts = 1 << 10

// CutsBytes bounds the memory of cuts in bytes, with that of the table that a growing one is copied
// to.
const CutsBytes = 8 * (2*MaxCuts + 2*MaxCuts)

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// Add adds scores; NaN is none, which ranks below all.
func (c *Cuts) Add(scores []float64) {
	for _, s := range scores {
		h := mix(math.Float64bits(s + 0))
		if bits.TrailingZeros64(h) < c.level || s != s {
			continue
		}
		if len(c.table) == 0 || 2*c.n > len(c.table) {
			c.remake(max(2*len(c.table), leastCuts))
		}
		if c.put(s+0, h); c.n > MaxCuts {
			c.lift(c.level + 1)
		}
	}
}

// put adds a score of a level that counts.
func (c *Cuts) put(s float64, h uint64) {
	mask := uint64(len(c.table) - 1)
	at := h >> 32 & mask // the bits below are the level's
	for ; c.table[at] == c.table[at]; at = (at + 1) & mask {
		if c.table[at] == s {
			return
		}
	}
	c.table[at] = s
	c.n++
}

// lift leaves out scores below a level, and more until there are few enough.
func (c *Cuts) lift(level int) {
	for c.level < level || c.n > MaxCuts {
		c.level++
		c.remake(len(c.table))
	}
}

// remake rebuilds the table, with this length, from the scores of at least the current level.
func (c *Cuts) remake(size int) {
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

// Merge adds other cuts.
func (c *Cuts) Merge(o *Cuts) {
	c.lift(max(c.level, o.level))
	c.Add(o.table)
}

// List returns the scores, ascending.
func (c *Cuts) List() []float64 {
	out := make([]float64, 0, c.n)
	for _, s := range c.table {
		if s == s {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// Append appends the level and the scores.
func (c *Cuts) Append(dst []byte) []byte {
	dst = append(dst, uint8(c.level))
	for _, s := range c.List() {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s))
	}
	return dst
}

// Decode reads what Append wrote, and reports whether b is well-formed.
func (c *Cuts) Decode(b []byte) bool {
	if len(b)%8 != 1 {
		return false
	}
	level := int(b[0])
	list := make([]float64, len(b)/8)
	for i := range list {
		list[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[1+8*i:]))
	}
	*c = Cuts{level: level}
	c.Add(list)
	return c.n == len(list) && c.level == level && slices.IsSorted(list) // else one of them twice, or of a lower level
}
