package holdout

import (
	"encoding/binary"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
)

// Counter counts the copies of a shard's rows.
type Counter struct {
	bins   [drawBins]int64
	hashes [slots]block.RowHash
	counts [slots]int64 // 0 for a free slot
	used   int
	Missed int64 // copies that a row may have beside those counted
}

// CounterBytes is the size of a Counter.
const CounterBytes = drawBins*8 + slots*(block.HashBytes+8)

// Add counts n copies of a row.
func (c *Counter) Add(h block.RowHash, n int64) {
	// The low bits: the first ones distribute rows to buckets, those after to draws.
	i := int(binary.BigEndian.Uint64(h[8:])) & (slots - 1)
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

// Count counts a row that came.
func (c *Counter) Count(h block.RowHash) {
	c.bins[bin(h)]++
	c.Add(h, 1)
}

// lower takes the median count off all, and forgets those that have none left.
func (c *Counter) lower() {
	list := c.List()
	all := make([]int64, len(list))
	for i := range list {
		all[i] = list[i].N
	}
	slices.Sort(all)
	by := all[len(all)/2]
	c.Missed += by
	c.counts, c.used = [slots]int64{}, 0
	for _, x := range list {
		if x.N > by {
			c.Add(x.Hash, x.N-by)
		}
	}
}

// List returns what was counted, in no order.
func (c *Counter) List() []Copy {
	list := make([]Copy, 0, c.used)
	for i, n := range c.counts {
		if n > 0 {
			list = append(list, Copy{Hash: c.hashes[i], N: n})
		}
	}
	return list
}

// Sum is the copies of all rows that were counted, of node node.
func Sum(counters []*Counter, node int) *Copies {
	all := &Counter{}
	out := &Copies{Bins: make([]int64, drawBins)}
	for _, c := range counters {
		for i, n := range c.bins {
			out.Bins[i] += n
			out.Rows += n
		}
		all.Missed += c.Missed
		for _, x := range c.List() {
			all.Add(x.Hash, x.N)
		}
	}
	if out.Missed = all.Missed; out.Missed > 0 {
		out.Lossy = 1
	}
	for _, x := range all.List() {
		x.Node = int32(node)
		out.List = append(out.List, x)
	}
	out.Merge(&Copies{}) // in order
	return out
}

// OfBlock counts a block's copies of these rows, before the holdout is drawn.
func OfBlock(b *block.Block, rows []block.RowHash, node int) *Copies {
	return CountOf(rows, node, b.Rows, func(i int) block.RowHash { return b.Hashes[i] })
}

// CountOf counts the copies of these rows among n, of node node.
func CountOf(rows []block.RowHash, node, n int, hash func(i int) block.RowHash) *Copies {
	copies := make(map[block.RowHash]int64, len(rows))
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
