package holdout

import (
	"bytes"
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
)

// MulDiv is a·b/c, rounded down; a is not above c.
func MulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}

// Holdout says which rows are held out of a training: a function of the rows,
// and of nothing else.
//
// Copies of a row are indistinguishable, so only the number of them held out matters.
// For frequent rows it is their share, rounded so that the total is right: row by row
// in the order of hashes, the cumulative share. Other rows are held out, with their
// copies, by their draw: those below a cut that is chosen for what is held out to be
// nearest to the share.
//
// With k folds each row is held out of one: frequent rows' copies go to the folds in
// turn, other rows by their draw, between two cuts.
type Holdout struct {
	Share     float64
	From, Cut int // bins of draws: those from From to below Cut
	Common    []Quota
}

// Quota is how many copies of a row are held out, by node; a single number is
// for the one node that has them all, whichever it is.
type Quota struct {
	Hash block.RowHash
	Held []int64
}

// Unsure returns the rows, ascending by hash, whose copies must be counted again to
// know which are frequent: none where every candidate has been counted completely on
// all nodes that can have missed copies.
func (c *Copies) Unsure() (rows []block.RowHash) {
	sure := true
	c.Each(func(_ block.RowHash, copies []Copy, n int64) {
		whole := 0
		for _, x := range copies {
			if x.Whole {
				whole++
			}
		}
		sure = sure && (whole >= c.Lossy || !c.common(n+c.Missed))
	})
	if sure {
		return nil
	}
	return c.Candidates()
}

// Candidates returns the rows, ascending by hash, that may be frequent by the counts
// so far.
func (c *Copies) Candidates() (rows []block.RowHash) {
	c.Each(func(h block.RowHash, copies []Copy, n int64) {
		if c.common(n + c.Missed) {
			rows = append(rows, h)
		}
	})
	return rows
}

// common reports whether so many copies make a row common.
func (c *Copies) common(n int64) bool { return n > 1 && n > c.Rows/commonIn }

// Each calls f with each row's copies by node and their sum.
func (c *Copies) Each(f func(h block.RowHash, copies []Copy, n int64)) {
	for from, to := 0, 0; from < len(c.List); from = to {
		var n int64
		h := c.List[from].Hash
		for ; to < len(c.List) && c.List[to].Hash == h; to++ {
			n += c.List[to].N
		}
		f(h, c.List[from:to], n)
	}
}

// Holdout chooses what to hold out. Nothing may be Unsure, or it must have been counted
// again. With perNode each node holds out its share of the copies that it has; else all
// copies of a row will have been moved to one node.
func (c *Copies) Holdout(share float64, perNode bool) *Holdout {
	h := &Holdout{Share: share}
	light, sum := append([]int64(nil), c.Bins...), 0.5
	c.Each(func(hash block.RowHash, copies []Copy, n int64) {
		if !c.common(n) {
			return
		}
		light[bin(hash)] -= n
		before := math.Floor(sum)
		sum += float64(float64(n) * share)
		left := min(int64(math.Floor(sum)-before), n)
		q := Quota{Hash: hash, Held: []int64{left}}
		if perNode {
			q.Held = byNode(copies)
			at := int64(0)
			for _, x := range copies {
				q.Held[x.Node] = MulDiv(at+x.N, left, n) - MulDiv(at, left, n)
				at += x.N
			}
		}
		h.Common = append(h.Common, q)
	})
	var all, below int64
	for _, n := range light {
		all += n
	}
	want := float64(float64(all) * share)
	best := want
	for i, n := range light {
		below += n
		if d := math.Abs(float64(below) - want); d < best {
			best, h.Cut = d, i+1
		}
	}
	return h
}

// byNode has room for a number of each node that has copies, and for more than one: a
// single one would be for whichever node has them.
func byNode(copies []Copy) []int64 { return make([]int64, max(2, copies[len(copies)-1].Node+1)) }

// Quota reports whether a row is common, and how many of its copies node holds out then.
func (h *Holdout) Quota(row block.RowHash, node int) (held int64, common bool) {
	at, common := slices.BinarySearchFunc(h.Common, row, func(q Quota, row block.RowHash) int { return bytes.Compare(q.Hash[:], row[:]) })
	if !common {
		return 0, false
	}
	return h.Common[at].on(node), true
}

func (q *Quota) on(node int) int64 {
	switch {
	case len(q.Held) == 1:
		return q.Held[0]
	case node < len(q.Held):
		return q.Held[node]
	}
	return 0
}

// Fold chooses what is held out in fold number fold of so many, from 0: Holdout
// says of which copies and rows.
func (c *Copies) Fold(fold, folds int, perNode bool) *Holdout {
	h := &Holdout{Share: 1 / float64(folds)}
	light, at := append([]int64(nil), c.Bins...), int64(0)
	c.Each(func(hash block.RowHash, copies []Copy, n int64) {
		if !c.common(n) {
			return
		}
		light[bin(hash)] -= n
		q := Quota{Hash: hash, Held: []int64{inTurn(at, n, fold, folds)}}
		if perNode {
			q.Held = byNode(copies)
			first := at
			for _, x := range copies {
				q.Held[x.Node] = inTurn(first, x.N, fold, folds)
				first += x.N
			}
		}
		at += n
		h.Common = append(h.Common, q)
	})
	var all int64
	for _, n := range light {
		all += n
	}
	cut := func(j int) int { // bins below which are nearest to j shares
		var below int64
		want := float64(float64(all) * float64(j) / float64(folds))
		at, best := 0, want
		for i, n := range light {
			below += n
			if d := math.Abs(float64(below) - want); d < best {
				best, at = d, i+1
			}
		}
		return at
	}
	h.From, h.Cut = cut(fold), cut(fold+1)
	if fold == folds-1 {
		h.Cut = drawBins
	}
	return h
}

// inTurn is how many of n copies, which come after at others, are of a fold, where
// one after the other goes to the next.
func inTurn(at, n int64, fold, folds int) int64 {
	below := func(end int64) int64 { return (end + int64(folds-1-fold)) / int64(folds) }
	return below(at+n) - below(at)
}

// Encode implements family.Message.
func (h *Holdout) Encode(e *canon.E) { canon.Put(e, h) }

// DecodeHoldout reads what Encode wrote.
func DecodeHoldout(d *canon.D) *Holdout {
	h := canon.Get[Holdout](d)
	if h.From < 0 || h.Cut < h.From || h.Cut > drawBins || !(h.Share >= 0 && h.Share < 1) {
		d.Fail()
	}
	return h
}
