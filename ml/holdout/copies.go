package holdout

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
)

// Exceeding returns the rows of which more than one in so many may be copies.
func (c *Copies) Exceeding(in int64) (rows []block.RowHash) {
	c.Each(func(h block.RowHash, _ []Copy, n int64) {
		if n+c.Missed > c.Rows/in {
			rows = append(rows, h)
		}
	})
	return rows
}

// bin is the first bits of a row's draw, one of drawBins.
func bin(h block.RowHash) int { return int(h[8])<<4 | int(h[9])>>4 }

const (
	drawBins = 4096
	// A row is common if more than one row in so many is a copy of it.
	commonIn = 1024
	// counted is how many rows a node counts the copies of at once.
	counted = 2 * commonIn
	slots   = 2 * counted // a power of two
	// maxNodes bounds the numbers of nodes that are read.
	maxNodes = 1 << 16
)

// Copies says how often rows occur among those that were added: of a node, or,
// merged, of all.
//
// The common ones are found by the algorithm of Misra and Gries ("Finding
// repeated elements", 1982): a row is counted as long as there is room, and
// where there is none the counts of all are lowered until half of them are gone.
// A count is at most Missed too low then, and Missed is at most the rows'
// number over commonIn, so that no common row is lost.
type Copies struct {
	Rows   int64
	Bins   []int64 // rows by the first bits of their draw
	Missed int64
	Lossy  int    // nodes that missed some
	List   []Copy // ascending by hash and node
}

// Copy is a row's number of copies on a node.
type Copy struct {
	Hash block.RowHash
	Node int32
	N    int64
	// Apart is how many of them were counted apart from other rows whose statistics were
	// taken.
	Apart int64
	// Whole says that these are all copies that the node has, whatever it missed of others.
	Whole bool
}

// Clone is a copy.
func (c *Copies) Clone() *Copies {
	out := *c
	out.Bins, out.List = slices.Clone(c.Bins), slices.Clone(c.List)
	return &out
}

// Merge adds what other nodes have.
func (c *Copies) Merge(o *Copies) {
	c.Rows, c.Missed, c.Lossy = c.Rows+o.Rows, c.Missed+o.Missed, c.Lossy+o.Lossy
	if len(c.Bins) < len(o.Bins) {
		c.Bins, o.Bins = o.Bins, c.Bins
	}
	for i, n := range o.Bins {
		c.Bins[i] += n
	}
	list := append(c.List, o.List...)
	slices.SortFunc(list, func(a, b Copy) int {
		return cmp.Or(bytes.Compare(a.Hash[:], b.Hash[:]), cmp.Compare(a.Node, b.Node))
	})
	c.List = list[:0]
	for _, x := range list {
		if n := len(c.List); n > 0 && c.List[n-1].Hash == x.Hash && c.List[n-1].Node == x.Node {
			last := &c.List[n-1]
			last.N, last.Apart, last.Whole = last.N+x.N, last.Apart+x.Apart, last.Whole && x.Whole
		} else {
			c.List = append(c.List, x)
		}
	}
}

// Encode implements family.Message.
func (c *Copies) Encode(e *canon.E) { canon.Put(e, c) }

// DecodeCopies reads what Encode wrote.
func DecodeCopies(d *canon.D) *Copies {
	c := canon.Get[Copies](d)
	if n := len(c.Bins); n != 0 && n != drawBins {
		d.Fail()
	}
	for _, x := range c.List {
		if x.Node < 0 || x.Node >= maxNodes || x.N < 0 || x.Apart < 0 {
			d.Fail()
		}
	}
	return c
}
