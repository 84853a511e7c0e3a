package join

import (
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
)

// Pairs multiply the rows of both sides, so that the bytes of a page are not bounded by its inputs.
// Where the widest pair times the page's rows is little, that is enough; else the bytes of pairs
// are counted.

const (
	// pairBytes is what pairs that are gathered at once should take at most.
	pairBytes = op.BatchBytes
	// pairFree is what they may take without being charged: it is among the
	// batches in flight.
	pairFree = 1 << 20
	// pairShare is the part of the memory there is that they may take beyond that: whoever computes
	// and writes with them needs as much again, and cannot have a join give it back.
	pairShare = 16
	// wideRow is the width from which a join reserves memory for its pairs before it keeps rows.
	wideRow = 64 << 10
)

// pairSizes is what pairs take of some columns.
type pairSizes struct {
	lAt, rAt []int     // stored columns of each side
	left     []colSize // of the probe batch, by stored column
	sel      []int32   // its selection
	right    *hashTable
	most     int64 // the widest pair
}

// start begins with a probe batch, whose sizes are left.
func (s *pairSizes) start(left []colSize, sel []int32, t *hashTable) {
	s.left, s.sel, s.right, s.most = left, sel, t, 0
	for _, at := range s.lAt {
		s.most += left[at].widest
	}
	for _, at := range s.rAt {
		s.most += t.widest[at]
	}
}

// narrow reports whether n pairs are few bytes whichever they are.
func (s *pairSizes) narrow(n int) bool { return s.most*int64(n) <= pairBytes }

// at returns the bytes of the pair of a batch's row and a build row.
func (s *pairSizes) at(row int32, id uint32) int64 {
	n := int64(0)
	if s.sel != nil {
		row = s.sel[row]
	}
	for _, at := range s.lAt {
		n += s.left[at].at(int(row))
	}
	if id == kernel.NoRow {
		return n
	}
	ch, i := kernel.SplitID(id)
	for _, at := range s.rAt {
		n += s.right.sizes[ch][at].at(i)
	}
	return n
}

// lease reserves the bytes that pairs may take until the next lease: want, or less where there is
// less, but not less than least.
func (p *prober) lease(want, least int64) (int64, error) {
	p.release()
	free := max(pairFree, p.room)
	for want = min(want, pairBytes, p.acct.Pool().Limit()/pairShare); want > max(least, free); want /= 2 {
		if p.acct.Try(want) {
			p.held = want
			return want, nil
		}
	}
	if least <= free {
		return free, nil
	}
	if err := p.acct.Grow(least); err != nil {
		return 0, err
	}
	p.held = least
	return least, nil
}

func (p *prober) release() {
	p.acct.Shrink(p.held)
	p.held = 0
}

// measure finds the sizes of a probe batch's columns that pairs are made of.
func (p *prober) measure(b *batch.Batch) {
	for _, at := range p.cfg.lPaired {
		p.lSizes[at] = sizeOf(b.Cols[at], &p.lDicts[at])
	}
	p.outSizes.start(p.lSizes, b.Sel, p.t)
	p.resSizes.start(p.lSizes, b.Sel, p.t)
}

// measure records the sizes of chunk ch.
func (t *hashTable) measure(ch int) {
	s := make([]colSize, len(t.cfg.rStoredTypes))
	for _, at := range t.cfg.rPaired {
		s[at] = sizeOf(t.rows.Column(at).Chunk(ch), nil)
	}
	t.sizes[ch] = s
}

// measured is called when all chunks are measured.
func (t *hashTable) measured() {
	for _, s := range t.sizes {
		for _, at := range t.cfg.rPaired {
			t.widest[at] = max(t.widest[at], s[at].widest)
		}
	}
}

// pairRoom returns the memory that a thread needs to return pairs of rows of which so many take so
// many bytes.
func pairRoom(bytes, rows int64) int64 {
	if per := bytes / max(rows, 1); per >= wideRow {
		return min(4*per, pairBytes)
	}
	return 0
}
