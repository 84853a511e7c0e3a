package window

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// span is a run of rows.
type span struct{ from, to int64 }

// block is a chunk of rows that is in memory: its rows in order, and their peers. Rows
// and peer groups have the numbers that they have in the block's rows.
type block struct {
	b       *batch.Batch
	number  int   // of the chunk
	base    int64 // number of the first row
	n       int
	parts   []span  // the partitions' rows
	part    []int32 // the row's partition among them
	peer    []int64 // first row of each row's peer group; nil: peers are not asked for
	peerEnd []int64 // the row after its last
	group   []int32 // number of the peer group, from that of the first row on
	groups  int64   // which has this number

	calls  []blockCall
	heads  []int64       // rows that begin a peer group; made on demand
	values []types.Datum // the rows' ordering values, where RANGE has offsets; likewise
	held   int64         // bytes charged until it is dropped
}

// blockCall is what a call knows of a block's rows.
type blockCall struct {
	args   []arrow.Array // of the rows that FILTER passes
	before []int32       // how many of those come before each row, and the end; nil without FILTER
	tree   *frameTree
	known  bool
	later  func(ctx context.Context, from, to int, bounded bool) (arrow.Array, error) // values of rows, in their order (emitting)
}

// newBlock makes a block, which has peers if they are asked for.
func newBlock(b *batch.Batch, calls int, peers bool) *block {
	if !peers {
		return &block{b: b, n: b.N, part: make([]int32, b.N), calls: make([]blockCall, calls)}
	}
	rows, numbers := make([]int64, 2*b.N), make([]int32, 2*b.N)
	return &block{b: b, n: b.N, peer: rows[:b.N], peerEnd: rows[b.N:], part: numbers[:b.N], group: numbers[b.N:], calls: make([]blockCall, calls)}
}

// first returns the first row of row i's partition, last the one after its last.
func (p *block) first(i int) int64 { return p.parts[p.part[i]].from }
func (p *block) last(i int) int64  { return p.parts[p.part[i]].to }

// groupOf returns the number of row i's peer group.
func (p *block) groupOf(i int) int64 { return p.groups + int64(p.group[i]) }

// place fills in rows [from, to) of the block, which are of partition whole. The first of them is
// of peer group c.group, which begins at c.peer, the last of one that ends at c.peerEnd; changes are
// the rows that are no peers of the one before. It returns the number of the last one's group.
func (p *block) place(from, to int, whole span, c chunk, changes []bool) int64 {
	if from == 0 {
		p.groups = c.group
	}
	group, peer, part := int32(c.group-p.groups), c.peer, int32(len(p.parts))
	p.parts = append(p.parts, whole)
	if p.peer == nil {
		for i := from; i < to; i++ {
			p.part[i] = part
		}
		return c.group
	}
	for i := from; i < to; i++ {
		if i > from && changes[i] {
			group++
			peer = p.base + int64(i)
		}
		p.part[i], p.peer[i], p.group[i] = part, peer, group
	}
	end := c.peerEnd
	for i := to - 1; i >= from; i-- {
		p.peerEnd[i] = end
		if at := p.base + int64(i); p.peer[i] == at {
			end = at
		}
	}
	return p.groups + int64(group)
}

// groupsOf are the peer groups of row i's partition, of which all has so many. Rows before
// the block are of its partition only if that is all there is.
func (p *block) groupsOf(i int, all int64) span {
	out := span{0, all}
	if at := p.first(i) - p.base; at >= 0 {
		out.from = p.groupOf(int(at))
	}
	if end := p.last(i) - p.base; end <= int64(p.n) {
		out.to = p.groupOf(int(end-1)) + 1
	}
	return out
}
