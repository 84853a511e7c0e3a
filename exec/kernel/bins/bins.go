package bins

import "math"

const (
	// None is the bin of NaN and the infinities.
	None = 255
	// Block is how many numbers have their bins found at once; other numbers of them are slower.
	Block = 16

	tableBits  = 14
	tableShift = 32 - tableBits
)

// Table finds bins.
type Table struct {
	edges []float32
	first [1<<tableBits + 3]byte // four bytes are read for one
	most  int                    // edges between numbers with the same first bits
	// levels are a tree of fewEdges edges, of which those that are not there are NaN: 2^l from the place 2^l on are at level l.
	levels [fewEdges + 1]float32
}

// fewEdges is of how many edges there may be levels.
const fewEdges = 63

// TableBytes is about the memory that a Table takes.
const TableBytes = 1<<tableBits + 1<<10

// Set makes it the table of these edges, ascending and less than None, none of them NaN. A number lies in the bin that
// follows as many as are not above it.
func (t *Table) Set(edges []float64) {
	t.edges, t.most = t.edges[:0], 0
	at, cell := 0, 0
	for k, e := range edges {
		v := float32(e)
		t.edges = append(t.edges, v)
		c := int(Key(v) >> tableShift)
		if v != Number(uint32(c)<<tableShift) { // there are lesser numbers in its cell
			c++
		}
		for ; cell < c; cell++ {
			t.first[cell] = byte(k)
		}
	}
	for ; cell < 1<<tableBits; cell++ {
		t.first[cell] = byte(len(edges))
	}
	t.edges = append(t.edges, float32(math.NaN()))
	for i := range edges {
		in := Key(t.edges[i]) >> tableShift
		for at = max(at, i); at < len(edges) && Key(t.edges[at])>>tableShift == in; at++ {
		}
		t.most = max(t.most, at-int(t.first[in]))
	}
	for l := range 6 {
		for k := range 1 << l {
			t.levels[1<<l+k] = t.edges[min((2*k+1)<<(5-l)-1, len(edges))]
		}
	}
}

// Of returns the bin of a number that is not NaN.
func (t *Table) Of(v float32) byte {
	at := t.first[Key(v)>>tableShift]
	for range t.most {
		up := byte(0)
		if v >= t.edges[at] {
			up = 1
		}
		at += up
	}
	return at
}

// Scale says what number lies in a bin for v: (v - Center)·By, as a float32 where Narrow, less Middle.
type Scale struct {
	Center, By, Middle float64
	Narrow             bool
}

// Find sets dst to the bins of numbers.
func (t *Table) Find(dst []byte, v []float64, s Scale) {
	dst = dst[:len(v)]
	n := find(t, dst, v, s)
	t.find(dst[n:], v[n:], s)
}

func (t *Table) find(dst []byte, v []float64, s Scale) {
	for i, v := range v {
		if v-v != 0 {
			dst[i] = None
			continue
		}
		v = float64((v - s.Center) * s.By)
		if s.Narrow {
			v = float64(float32(v))
		}
		dst[i] = t.Of(float32(v - s.Middle))
	}
}

// Counter counts bins.
type Counter struct {
	few  [fewEdges + 1][4]uint64 // in parts
	many [4][256]uint32          // neighbours in different places, lest the one wait for the other
}

// Add counts bins of t, less than 2^32 between two calls of Take.
func (c *Counter) Add(bins []byte, t *Table) {
	if len(t.edges) <= len(c.few) { // one of the edges is none
		bins = bins[count(c, bins, len(t.edges)):]
	}
	c.add(bins)
}

func (c *Counter) add(bins []byte) {
	for ; len(bins) >= 4; bins = bins[4:] {
		c.many[0][bins[0]]++
		c.many[1][bins[1]]++
		c.many[2][bins[2]]++
		c.many[3][bins[3]]++
	}
	for _, b := range bins {
		c.many[0][b]++
	}
}

// Take adds what was counted since of so many rows by the bins of t to n.
func (c *Counter) Take(n *[256]int64, rows int, t *Table) {
	none := int64(rows)
	for b := range t.edges {
		var sum int64
		if b < len(c.few) {
			for k, part := range c.few[b] {
				sum += int64(part)
				c.few[b][k] = 0
			}
		}
		for k := range c.many {
			sum += int64(c.many[k][b])
			c.many[k][b] = 0
		}
		n[b] += sum
		none -= sum
	}
	for k := range c.many {
		c.many[k][None] = 0
	}
	n[None] += none
}
