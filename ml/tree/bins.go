package tree

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
)

// bins map values to small integers, column by column: the dense columns in
// their order, then the codes.
type bins struct {
	cols []column
	layout
}

// column maps the values of one column to bins 0 … n-1; missing values have a
// bin of their own.
type column struct {
	category bool
	missing  bool      // the training rows have missing values
	n        int       // bins
	bounds   []float64 // number: bin b holds bounds[b-1] < x ≤ bounds[b]; there are n-1
	bin      []uint8   // category: the bin by the category's number
	first    int32     // category: the slot of its number 0
	code     int       // category: which code of a row
	at       int       // offset of its histogram in a node's, in bins
	stride   int       // of its histogram: a power of two above n; the last bin is the missing values'; 0 for a column that cannot split
	room     int       // the group's stride: the offset of the next column's histogram less at
	before   int       // number of columns in the groups before its own
	width    int       // columns of its group
	k        int       // its index in the group
}

// miss is the bin of missing values.
func (c *column) miss() int { return c.stride - 1 }

// layout is the order of bins in a block, and of columns' histograms in a node's.
// Columns of similar strides form a group, and the bins of a group are stored row
// by row, so that a row's update of a histogram reads consecutive bytes and a
// group's histogram stays in the first-level cache. Each group costs time for
// each row, so there are few groups: a column's histogram may have up to
// groupLike times its stride.
type layout struct {
	groups []group
	total  int   // length of a node's histogram of all columns
	order  []int // columns that can split, in the order of their bins
}

// group is a run of columns whose bins are stored together.
type group struct {
	cols   []int
	stride int // of each column's histogram: the greatest of their strides
	at     int // of the group's histogram
	first  int // columns of the groups before it
}

// The size of a group.
const (
	groupCols = 64
	groupBins = 4096
	groupLike = 8 // times a column's stride is the group's at most
)

// place computes the layout.
func (b *bins) place() {
	b.layout = layout{}
	for i := range b.cols {
		c := &b.cols[i]
		if c.stride = 0; c.n > 1 || c.n == 1 && c.missing {
			c.stride = 1 << bits.Len(uint(c.n))
			b.order = append(b.order, i)
		}
	}
	if len(b.order) == 0 && len(b.cols) > 0 { // the sums of the root are needed although no column can split
		b.cols[0].stride = 1 << bits.Len(uint(b.cols[0].n))
		b.order = append(b.order, 0)
	}
	slices.SortStableFunc(b.order, func(i, j int) int { return cmp.Compare(b.cols[j].stride, b.cols[i].stride) })
	for k, i := range b.order {
		c := &b.cols[i]
		g := len(b.groups) - 1
		if g < 0 || b.groups[g].stride > groupLike*c.stride || len(b.groups[g].cols) == groupCols || len(b.groups[g].cols)*b.groups[g].stride >= groupBins {
			b.groups = append(b.groups, group{stride: c.stride, at: b.total, first: k})
			g++
		}
		c.at, c.before, c.k = b.total, b.groups[g].first, len(b.groups[g].cols)
		b.groups[g].cols = append(b.groups[g].cols, i)
		b.total += b.groups[g].stride
	}
	for _, i := range b.order {
		c := &b.cols[i]
		for _, g := range b.groups {
			if g.first == c.before {
				c.width, c.room = len(g.cols), g.stride
			}
		}
	}
}

// of returns a column's bins out of those of n rows: that of row r is at r·width.
func (c *column) of(bins []uint8, n int) []uint8 { return bins[n*c.before+c.k:] }

// newBins chooses the bins.
func newBins(p *problem, s *sketch, m means) *bins {
	b := &bins{cols: make([]column, p.dense+len(p.codeSlots))}
	for j := range p.dense {
		c, v := &b.cols[j], &s.seen[j]
		if j == p.offset-1 {
			c.n = 1 // no split
			continue
		}
		c.missing = v.missing
		if !v.many {
			if vals := v.list(); len(vals) <= p.maxBin {
				for i := range max(len(vals)-1, 0) {
					c.bounds = append(c.bounds, between(vals[i], vals[i+1]))
				}
				if c.n = len(vals); c.n > 0 {
					c.n = len(c.bounds) + 1
				}
				continue
			}
		}
		vals, weights := s.sample.column(j, p.dense)
		c.bounds = cutPoints(vals, weights, p.maxBin)
		c.n = len(c.bounds) + 1
	}
	first := 0
	for j, slots := range p.codeSlots {
		c := &b.cols[p.dense+j]
		*c = column{category: true, missing: s.gaps[j] > 0, first: int32(first), code: j}
		if counts := s.counts[first : first+slots]; slots > p.maxBin {
			c.bin, c.n = m.bins(p, first, counts)
		} else {
			c.n, c.bin = slots, make([]uint8, slots)
			for k := range c.bin {
				c.bin[k] = uint8(k)
			}
		}
		first += slots
	}
	b.place()
	return b
}

// between returns a bound of a < b that is not below a and is below b.
func between(a, b float64) float64 {
	if m := float64(0.5*a) + float64(0.5*b); m >= a && m < b {
		return m
	}
	return a
}

// cutPoints divides ascending values into at most n bins of about equal weight;
// a value that weighs as much as a bin is alone in one, as in LightGBM (Ke et
// al. 2017).
func cutPoints(vals []float64, w []int64, n int) []float64 {
	var rest, cur int64
	for _, v := range w {
		rest += v
	}
	left := n // bins
	big := make([]bool, len(vals))
	heavy := rest / int64(n)
	for i, v := range w {
		if v > heavy {
			big[i] = true
			rest -= v
			left--
		}
	}
	mean := func() float64 { return float64(rest) / float64(max(left, 1)) }
	share := mean()
	var out []float64
	for i := 0; i+1 < len(vals) && len(out)+1 < n; i++ {
		if !big[i] {
			rest -= w[i]
		}
		cur += w[i]
		if big[i] || float64(cur) >= share || big[i+1] && float64(cur) >= max(1, 0.5*share) {
			out = append(out, between(vals[i], vals[i+1]))
			cur = 0
			if !big[i] {
				left--
				share = mean()
			}
		}
	}
	return out
}

// finder finds bins of a number column: the bounds, filled up with infinities to
// a power of two less one.
type finder struct {
	bounds []float64
	half   int
}

func (c *column) finder() finder {
	n := 1 << bits.Len(uint(len(c.bounds)))
	f := finder{bounds: make([]float64, n), half: n / 2}
	for i := copy(f.bounds, c.bounds); i < n; i++ {
		f.bounds[i] = math.Inf(1)
	}
	return f
}

// encode writes the fields that place does not compute.
func (b *bins) encode(e *canon.E) {
	e.U32(uint32(len(b.cols)))
	for i := range b.cols {
		c := &b.cols[i]
		e.Bool(c.category)
		e.Bool(c.missing)
		e.U32(uint32(c.n))
		e.F64s(c.bounds)
		e.Bytes(c.bin)
		e.U32(uint32(c.first))
		e.U32(uint32(c.code))
	}
}

func decodeBins(d *canon.D) *bins {
	b := &bins{}
	for range d.Count(22) {
		c := column{category: d.Bool(), missing: d.Bool(), n: int(d.U32()), bounds: d.F64s(), bin: slices.Clone(d.Bytes()), first: int32(d.U32()), code: int(d.U32())}
		if c.n > maxBins || !c.category && len(c.bounds) != max(c.n-1, 0) || c.first < 0 || c.code < 0 || c.code > 1<<24 {
			d.Fail()
			break
		}
		for _, k := range c.bin {
			if int(k) >= c.n {
				d.Fail()
			}
		}
		b.cols = append(b.cols, c)
	}
	if d.OK() {
		b.place()
	}
	return b
}
