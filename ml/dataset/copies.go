package dataset

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
)

// RowHash is the hash of a row's record: equal rows have equal ones.
type RowHash [hashBytes]byte

func (h *RowHash) bucket() int { return key{hi: be.Uint64(h[:])}.bucket() }

// bin is the first bits of a row's draw, one of drawBins.
func (h *RowHash) bin() int { return int(h[8])<<4 | int(h[9])>>4 }

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
	Hash RowHash
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
func (c *Copies) Encode(e *canon.E) {
	e.I64(c.Rows)
	e.I64s(c.Bins)
	e.I64(c.Missed)
	e.Int(c.Lossy)
	e.U32(uint32(len(c.List)))
	for _, x := range c.List {
		x.Hash.Encode(e)
		e.U32(uint32(x.Node))
		e.I64(x.N)
		e.I64(x.Apart)
		e.Bool(x.Whole)
	}
}

// DecodeCopies reads what Encode wrote.
func DecodeCopies(d *canon.D) *Copies {
	c := &Copies{Rows: d.I64(), Bins: d.I64s(), Missed: d.I64(), Lossy: d.Int()}
	if n := len(c.Bins); n != 0 && n != drawBins {
		d.Fail()
	}
	for range d.Count(hashBytes + 21) {
		x := Copy{Hash: DecodeRowHash(d), Node: int32(d.U32()), N: d.I64(), Apart: d.I64(), Whole: d.Bool()}
		if x.Node < 0 || x.Node >= maxNodes || x.N < 0 || x.Apart < 0 {
			d.Fail()
		}
		c.List = append(c.List, x)
	}
	return c
}

// Encode appends the hash.
func (h *RowHash) Encode(e *canon.E) { e.B = append(e.B, h[:]...) }

// DecodeRowHash reads what Encode wrote.
func DecodeRowHash(d *canon.D) (h RowHash) {
	copy(h[:], d.Take(hashBytes))
	return h
}

// counter counts the copies of a shard's rows.
type counter struct {
	bins   [drawBins]int64
	hashes [slots]RowHash
	counts [slots]int64 // 0 for a free slot
	used   int
	missed int64
}

const counterBytes = drawBins*8 + slots*(hashBytes+8)

// add counts n copies of a row.
func (c *counter) add(h RowHash, n int64) {
	// The low bits: the first ones distribute rows to buckets, those after to draws.
	i := int(be.Uint64(h[8:])) & (slots - 1)
	for ; c.counts[i] > 0; i = (i + 1) & (slots - 1) {
		if c.hashes[i] == h {
			c.counts[i] += n
			return
		}
	}
	c.hashes[i], c.counts[i] = h, n
	if c.used++; c.used == counted {
		c.lower()
	}
}

// count counts a row that came.
func (c *counter) count(h RowHash) {
	c.bins[h.bin()]++
	c.add(h, 1)
}

// lower takes the median count off all, and forgets those that have none left.
func (c *counter) lower() {
	list := c.list()
	all := make([]int64, len(list))
	for i := range list {
		all[i] = list[i].N
	}
	slices.Sort(all)
	by := all[len(all)/2]
	c.missed += by
	c.counts, c.used = [slots]int64{}, 0
	for _, x := range list {
		if x.N > by {
			c.add(x.Hash, x.N-by)
		}
	}
}

func (c *counter) list() []Copy {
	list := make([]Copy, 0, c.used)
	for i, n := range c.counts {
		if n > 0 {
			list = append(list, Copy{Hash: c.hashes[i], N: n})
		}
	}
	return list
}

// Copies counts the rows that were added to the store, of node node. They are
// counted where Config.Copies asked for it.
func (s *Store) Copies(node int) *Copies {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*counter
	for _, sh := range s.shards {
		if sh.copies != nil {
			all = append(all, sh.copies)
		}
	}
	return copiesOf(all, node)
}

func copiesOf(counters []*counter, node int) *Copies {
	all := &counter{}
	out := &Copies{Bins: make([]int64, drawBins)}
	for _, c := range counters {
		for i, n := range c.bins {
			out.Bins[i] += n
			out.Rows += n
		}
		all.missed += c.missed
		for _, x := range c.list() {
			all.add(x.Hash, x.N)
		}
	}
	if out.Missed = all.missed; out.Missed > 0 {
		out.Lossy = 1
	}
	for _, x := range all.list() {
		x.Node = int32(node)
		out.List = append(out.List, x)
	}
	out.Merge(&Copies{}) // in order
	return out
}

// Count counts a leaf's copies of these rows.
func (v *View) Count(rows []RowHash, node int) *Copies {
	return countOf(rows, node, v.Rows, func(i int) RowHash { return RowHash(v.rec(i)[:hashBytes]) })
}

// Count counts a block's copies of these rows, before the holdout is drawn.
func (b *Block) Count(rows []RowHash, node int) *Copies {
	return countOf(rows, node, b.Rows, func(i int) RowHash { return b.Hashes[i] })
}

func countOf(rows []RowHash, node, n int, hash func(i int) RowHash) *Copies {
	copies := make(map[RowHash]int64, len(rows))
	for _, h := range rows {
		copies[h] = 0
	}
	for i := range n {
		h := hash(i)
		if k, ok := copies[h]; ok {
			copies[h] = k + 1
		}
	}
	out := &Copies{}
	for _, h := range rows {
		if copies[h] > 0 {
			out.List = append(out.List, Copy{Hash: h, Node: int32(node), N: copies[h]})
		}
	}
	return out
}
