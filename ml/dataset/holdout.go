package dataset

import (
	"bytes"
	"math"
	"slices"
	"sync/atomic"

	"github.com/tributarydb/tributary/ml/canon"
)

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
	Hash RowHash
	Held []int64
}

// Unsure returns the rows, ascending by hash, whose copies must be counted again to
// know which are frequent: none where every candidate has been counted completely on
// all nodes that can have missed copies.
func (c *Copies) Unsure() (rows []RowHash) {
	sure := true
	c.each(func(_ RowHash, copies []Copy, n int64) {
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
	return c.MayBeCommon()
}

// MayBeCommon returns the rows, ascending by hash, that may be frequent by the counts
// so far.
func (c *Copies) MayBeCommon() (rows []RowHash) {
	c.each(func(h RowHash, copies []Copy, n int64) {
		if c.common(n + c.Missed) {
			rows = append(rows, h)
		}
	})
	return rows
}

// common reports whether so many copies make a row common.
func (c *Copies) common(n int64) bool { return n > 1 && n > c.Rows/commonIn }

// each calls f with each row's copies by node and their sum.
func (c *Copies) each(f func(h RowHash, copies []Copy, n int64)) {
	runs(len(c.List), func(i, j int) bool { return c.List[i].Hash == c.List[j].Hash }, func(from, to int) {
		var n int64
		for _, x := range c.List[from:to] {
			n += x.N
		}
		f(c.List[from].Hash, c.List[from:to], n)
	})
}

// Holdout chooses what to hold out. Nothing may be Unsure, or it must have been counted
// again. With perNode each node holds out its share of the copies that it has; else all
// copies of a row will have been moved to one node.
func (c *Copies) Holdout(share float64, perNode bool) *Holdout {
	h := &Holdout{Share: share}
	light, sum := append([]int64(nil), c.Bins...), 0.5
	c.each(func(hash RowHash, copies []Copy, n int64) {
		if !c.common(n) {
			return
		}
		light[hash.bin()] -= n
		before := math.Floor(sum)
		sum += float64(float64(n) * share)
		left := min(int64(math.Floor(sum)-before), n)
		q := Quota{Hash: hash, Held: []int64{left}}
		if perNode {
			q.Held = byNode(copies)
			at := int64(0)
			for _, x := range copies {
				q.Held[x.Node] = mulDiv(at+x.N, left, n) - mulDiv(at, left, n)
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
func (h *Holdout) Quota(row RowHash, node int) (held int64, common bool) {
	at, common := slices.BinarySearchFunc(h.Common, row, func(q Quota, row RowHash) int { return bytes.Compare(q.Hash[:], row[:]) })
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
	c.each(func(hash RowHash, copies []Copy, n int64) {
		if !c.common(n) {
			return
		}
		light[hash.bin()] -= n
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

// Encode writes the canonical bytes.
func (h *Holdout) Encode(e *canon.E) {
	e.F64(h.Share)
	e.Int(h.From)
	e.Int(h.Cut)
	e.U32(uint32(len(h.Common)))
	for _, q := range h.Common {
		q.Hash.Encode(e)
		e.I64s(q.Held)
	}
}

// DecodeHoldout reads what Encode wrote.
func DecodeHoldout(d *canon.D) *Holdout {
	h := &Holdout{Share: d.F64(), From: d.Int(), Cut: d.Int()}
	for range d.Count(hashBytes + 12) {
		h.Common = append(h.Common, Quota{Hash: DecodeRowHash(d), Held: d.I64s()})
	}
	if h.From < 0 || h.Cut < h.From || h.Cut > drawBins || !(h.Share >= 0 && h.Share < 1) {
		d.Fail()
	}
	return h
}

// Drawer holds rows out on a node. Its leaves may be drawn by any goroutines.
type Drawer struct {
	share     float64
	from, cut int
	common    map[RowHash]*atomic.Int64 // copies still to hold out
}

// On returns what draws on a node.
func (h *Holdout) On(node int) *Drawer {
	d := &Drawer{share: h.Share, from: h.From, cut: h.Cut, common: make(map[RowHash]*atomic.Int64, len(h.Common))}
	for _, q := range h.Common {
		left := &atomic.Int64{}
		left.Store(q.on(node))
		d.common[q.Hash] = left
	}
	return d
}

// Draws reports whether some rows are held out.
func (d *Drawer) Draws() bool { return d.share > 0 }

// Drawn reports whether a row is held out. It is asked of each row once.
func (d *Drawer) Drawn(h RowHash) bool {
	if len(d.common) > 0 {
		if left := d.common[h]; left != nil {
			return left.Load() > 0 && left.Add(-1) >= 0
		}
	}
	return h.bin() >= d.from && h.bin() < d.cut
}

// Draw marks the rows of a leaf that are held out, before its view v, or another one,
// is split. The marks stay until another drawer draws.
func (l *Leaf) Draw(d *Drawer, v *View) error {
	v.share = d.share
	if l.drawer == d {
		return nil
	}
	l.drawer, l.share = d, d.share
	words := int64((l.Rows + 63) / 64)
	if l.held != nil {
		l.held, v.held = nil, nil
		l.store.shrink(8 * words)
	}
	if d.share <= 0 || l.store.cfg.Windows != nil {
		return nil
	}
	if err := l.store.grow(8 * words); err != nil {
		return err
	}
	l.held = make([]uint64, words)
	v.held = l.held
	spread := l.draws(d)
	for i := range v.Rows {
		if s := spread[RowHash(v.rec(i))]; s != nil {
			if s.drawn() {
				l.held[i/64] |= 1 << (i % 64)
			}
			continue
		}
		if d.Drawn(RowHash(v.rec(i))) {
			l.held[i/64] |= 1 << (i % 64)
		}
	}
	return nil
}

// Split parts the rows: those that Leaf.Draw marked make the second view. Both
// live as long as v. Where it marked none the first is v itself. Of a keyed
// store it parts windows: see splitWindows.
func (v *View) Split() (rest, drawn *View) {
	if v.keyed != nil {
		return v.splitWindows(v.share)
	}
	if v.held == nil {
		return v, &View{layout: v.layout, release: func() {}}
	}
	return v.SplitBy(func(i int) bool { return v.held[i/64]>>(i%64)&1 != 0 })
}

// SplitBy parts the rows: those that second takes make the second view. Both live
// as long as v.
func (v *View) SplitBy(second func(i int) bool) (rest, taken *View) {
	a, b := *v, *v
	a.order, b.order, a.recs, b.recs = nil, nil, nil, nil
	a.release, b.release = func() {}, func() {}
	for i, p := range v.order {
		if second(i) {
			b.order = append(b.order, p)
		} else {
			a.order = append(a.order, p)
		}
	}
	a.Rows, b.Rows = len(a.order), len(b.order)
	return &a, &b
}

// Hold marks the rows that are held out of a view that no leaf has.
func (v *View) Hold(d *Drawer) {
	v.share, v.held = d.share, nil
	if !d.Draws() {
		return
	}
	v.held = make([]uint64, (v.Rows+63)/64)
	for i := range v.Rows {
		if d.Drawn(RowHash(v.rec(i))) {
			v.held[i/64] |= 1 << (i % 64)
		}
	}
}

// Zone parts rows by their draws so that whichever holdout is chosen when all rows
// are known holds whole parts out: where its cuts may be, as far as is known before,
// each bin is a part.
type Zone struct {
	ends []int // of the parts but the last: the first bins that they have not
}

// zoneBins is how far a cut may be from the share: where rows are a million, all
// different, their draws' standard deviation is 1.6 bins.
const zoneBins = 16

// ZoneOf is the zone of cuts within these ranges of shares of the rows, which ascend.
func ZoneOf(ranges ...[2]float64) (z Zone) {
	from := 0
	for _, r := range ranges {
		from = max(from, int(r[0]*drawBins)-zoneBins)
		for to := min(int(r[1]*drawBins)+zoneBins, drawBins); from <= to; from++ {
			z.ends = append(z.ends, from)
		}
	}
	return z
}

// ZoneAround is the zone of cuts that are about these bins.
func ZoneAround(cuts []int) Zone {
	var ranges [][2]float64
	for _, c := range slices.Sorted(slices.Values(cuts)) {
		ranges = append(ranges, [2]float64{float64(c) / drawBins, float64(c) / drawBins})
	}
	return ZoneOf(ranges...)
}

// Draws reports whether statistics divided by the zone, and those of the copies in c,
// separate the rows that h holds out from the others.
func (z Zone) Draws(h *Holdout, c *Copies) bool {
	held, ok := z.Held(h)
	for _, x := range c.List {
		q, common := h.Quota(x.Hash, int(x.Node))
		switch mixed := x.N - x.Apart; {
		case !common:
		case held[z.Part(x.Hash)]:
			ok = ok && q >= mixed
		default:
			ok = ok && q <= x.Apart
		}
	}
	return ok
}

// Parts is the number of parts.
func (z Zone) Parts() int { return len(z.ends) + 1 }

// Part is the part of a row.
func (z Zone) Part(h RowHash) int {
	at, _ := slices.BinarySearch(z.ends, h.bin()+1)
	return at
}

// Held reports of each part whether h holds its rows out, those that are not common; false
// where the parts do not say that.
func (z Zone) Held(h *Holdout) (held []bool, ok bool) {
	held = make([]bool, z.Parts())
	from, known := 0, 0
	for i := range held {
		to := drawBins
		if i < len(z.ends) {
			to = z.ends[i]
		}
		held[i] = from >= h.From && to <= h.Cut
		for _, cut := range []int{h.From, h.Cut} {
			if cut == to || cut == 0 && i == 0 {
				known++
			}
		}
		from = to
	}
	return held, known >= 2
}

// Only returns row i alone, as long as v lives.
func (v *View) Only(i int) *View {
	c := *v
	c.order, c.recs, c.Rows, c.release = v.order[i:i+1], nil, 1, func() {}
	return &c
}

// Parted returns the rows of a view by part, nil for none.
func (v *View) Parted(z Zone) []*View {
	out := make([]*View, z.Parts())
	for i, at := range v.order {
		p := &out[z.Part(RowHash(v.rec(i)))]
		if *p == nil {
			c := *v
			c.order, c.recs, c.Rows, c.release = nil, nil, 0, func() {}
			*p = &c
		}
		(*p).order, (*p).Rows = append((*p).order, at), (*p).Rows+1
	}
	return out
}
