package window

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// block is a chunk of rows that is in memory: its rows in order, and their peers. Rows
// and peer groups have the numbers that they have in the block's rows.
type block struct {
	b       *batch.Batch
	number  int   // of the chunk
	base    int64 // number of the first row
	n       int
	first   []int64 // first row of the row's partition
	last    []int64 // the row after its last
	peer    []int64 // first row of the row's peer group
	peerEnd []int64 // the row after its last
	group   []int64 // number of the peer group

	calls  []blockCall
	heads  []int64       // rows that begin a peer group; made when asked for
	values []types.Datum // the rows' ordering values, where RANGE has offsets; likewise
	held   int64         // bytes charged until it is dropped
}

// blockCall is what a call knows of a block's rows.
type blockCall struct {
	args   []arrow.Array // of the rows that FILTER lets through
	before []int32       // how many of those come before each row, and the end; nil without FILTER
	tree   *frameTree
	known  bool
}

func newBlock(b *batch.Batch, calls int) *block {
	all := make([]int64, 5*b.N)
	col := func(i int) []int64 { return all[i*b.N : (i+1)*b.N] }
	return &block{b: b, n: b.N, first: col(0), last: col(1), peer: col(2), peerEnd: col(3), group: col(4), calls: make([]blockCall, calls)}
}

// place fills in rows [from, to) of the block, which are of partition whole. The first
// of them is of peer group c.group, which begins at c.peer, the last of one that ends at
// c.peerEnd; peers tells whether a row is a peer of the one before. It returns the number
// of the last one's group.
func (p *block) place(from, to int, whole span, c chunk, peers func(i int) bool) int64 {
	group, peer := c.group, c.peer
	for i := from; i < to; i++ {
		if i > from && !peers(i) {
			group++
			peer = p.base + int64(i)
		}
		p.first[i], p.last[i], p.peer[i], p.group[i] = whole.from, whole.to, peer, group
	}
	end := c.peerEnd
	for i := to - 1; i >= from; i-- {
		p.peerEnd[i] = end
		if at := p.base + int64(i); p.peer[i] == at {
			end = at
		}
	}
	return group
}

// groups are the peer groups of row i's partition, of which all has so many. Rows before the
// block are of its partition only if that is all there is.
func (p *block) groups(i int, all int64) span {
	out := span{0, all}
	if p.first[i] >= p.base {
		out.from = p.group[p.first[i]-p.base]
	}
	if end := p.last[i] - p.base; end <= int64(p.n) {
		out.to = p.group[end-1] + 1
	}
	return out
}
