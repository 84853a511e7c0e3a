package window

import "github.com/tributarydb/tributary/exec/batch"

// block is a block of partitions: their rows in order, and their peers.
type block struct {
	b       *batch.Batch
	n       int
	first   []int32 // first row of the row's partition
	last    []int32 // the row after its last
	peer    []int32 // first row of the row's peer group
	peerEnd []int32 // the row after its last
	group   []int32 // number of the peer group in the block
}

// newBlock makes a block of partitions that begin at starts; peers reports
// whether a row is a peer of the one before in its partition.
func newBlock(b *batch.Batch, starts []int32, peers func(i int) bool) *block {
	all := make([]int32, 5*b.N)
	col := func(i int) []int32 { return all[i*b.N : (i+1)*b.N] }
	p := &block{b: b, n: b.N, first: col(0), last: col(1), peer: col(2), peerEnd: col(3), group: col(4)}
	group := int32(-1)
	for k, from := range starts {
		to := int32(b.N)
		if k+1 < len(starts) {
			to = starts[k+1]
		}
		for i := from; i < to; i++ {
			p.first[i], p.last[i] = from, to
			if i == from || !peers(int(i)) {
				group++
				p.peer[i] = i
			} else {
				p.peer[i] = p.peer[i-1]
			}
			p.group[i] = group
		}
		for i := to - 1; i >= from; i-- {
			if p.peerEnd[i] = to; i+1 < to {
				if p.peerEnd[i] = p.peerEnd[i+1]; p.peer[i+1] == i+1 {
					p.peerEnd[i] = i + 1
				}
			}
		}
	}
	return p
}
